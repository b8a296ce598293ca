"""Jobs planned for Kubernetes sites that the tests make up."""

from functools import cache
from typing import Any

import msgspec
import pytest

from hpclaunch.plan.planner import Planner
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError, Path
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.pods import KubernetesTarget, Pod

BASE = {"name": "j", "command": ["x"], "directory": "/home/me", "image": "registry.example.com/team/app:1"}
A100 = {"type": "dgx-a100", "hosts": "dgx[1-4]"}
RDMA = {f"mlx5_{number}": f"shared_ib{number}" for number in range(10)}

# The HCAs of a DGX A100 that are for computing, by the names that the machine has them.
A100_HCAS = ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9")


@cache
def machine(name: str) -> NodeType:
    return catalogue.load(name).value


def planned(
    job: dict[str, Any] | None = None, kubernetes: dict[str, Any] | None = None, **site: Any
) -> LaunchPlan:
    """The plan of a job on two DGX A100 of four, at a site with the newest operator and all HCAs mapped."""
    full = {
        "name": "s",
        "scheduler": "kubernetes",
        "node_types": [A100],
        "kubernetes": {"mpi_operator": "0.8.0", "rdma": RDMA, **(kubernetes or {})},
        **site,
    }
    here = msgspec.convert(full, Site)
    machines = {group.type: machine(group.type) for group in here.node_types}
    return Planner(here, machines).plan(msgspec.convert({**BASE, "nodes": 2, **(job or {})}, Job))


def target(plan: LaunchPlan) -> KubernetesTarget:
    assert isinstance(plan.target, KubernetesTarget)
    return plan.target


def worker(job: dict[str, Any] | None = None, kubernetes: dict[str, Any] | None = None, **site: Any) -> Pod:
    return target(planned(job, kubernetes, **site)).worker


def limits(pod: Pod) -> dict[str, str]:
    assert len(pod.limits) == len(dict(pod.limits))
    return dict(pod.limits)


def warned(plan: LaunchPlan, part: str) -> bool:
    """Whether exactly one warning has these words."""
    return sum(part in warning for warning in plan.warnings) == 1


def refused(
    job: dict[str, Any] | None = None, kubernetes: dict[str, Any] | None = None, **site: Any
) -> dict[tuple[str, Path], str]:
    """Why the job cannot be: (document, path) -> message."""
    with pytest.raises(InputError) as caught:
        planned(job, kubernetes, **site)
    found = {(problem.document, problem.path): problem.message for problem in caught.value.problems}
    assert len(found) == len(caught.value.problems)
    return found
