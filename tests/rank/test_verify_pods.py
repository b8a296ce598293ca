"""hpclaunch verify of a job in pods: lines with mpirun's tags, and causes that Kubernetes has."""

from typing import Any

import msgspec
import pytest
from test_verify import as_planned, line, look

from hpclaunch.plan.planner import Planner
from hpclaunch.rank.expected import read_plan
from hpclaunch.rank.observed import read
from hpclaunch.rank.verify import compare
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.launchplan import LaunchPlan

PODS = ("job-worker-0", "job-worker-1")
RDMA = {f"mlx5_{number}": f"shared_ib{number}" for number in range(10)}
# As Open MPI 4.1.4 and 5.0.11, MPICH 4.0.2 and Intel MPI 2021.18 write them.
TAGS = ("[1,{}]<stderr>:", "[1,{}]<stderr>: ", "[{}] ")


def planned(**job: Any) -> LaunchPlan:
    site = {
        "name": "s",
        "scheduler": "kubernetes",
        "node_types": [{"type": "dgx-a100", "hosts": "dgx[1-4]"}],
        "kubernetes": {"mpi_operator": "0.8.0", "rdma": RDMA},
    }
    base = {"name": "j", "command": ["x"], "directory": "/", "verify": True, "image": "a/b:1", "nodes": 2}
    planner = Planner(msgspec.convert(site, Site), {"dgx-a100": catalogue.load("dgx-a100").value})
    plan = planner.plan(msgspec.convert(base | job, Job))
    assert read_plan(msgspec.json.encode(plan)) == plan
    return plan


@pytest.mark.parametrize("tag", ["", *TAGS])
def test_a_job_whose_lines_are_tagged(tag: str) -> None:
    plan = planned()
    reports = as_planned(plan, PODS)
    lines = [tag.format(fields["rank"]).encode() + line(fields) for fields in reports]
    got = compare(plan, look(plan, lines), "COMPLETED")
    assert (got.reported, got.differences, got.notes) == (16, (), ())


@pytest.mark.parametrize("tag", ["", *TAGS])
def test_what_the_wrapper_says_is_read_behind_a_tag(tag: str) -> None:
    begin = tag.format(8).encode()
    observed = read(
        [
            begin + b"hpclaunch: job-worker-1: memory is not bound: there is no numactl\n",
            begin + b"hpclaunch: rank 8: cannot work in /none\n",
            begin + b"x hpclaunch: rank 9: said by a rank itself\n",
        ],
        16,
        8,
    )
    assert observed.warnings == {"job-worker-1": ("memory is not bound: there is no numactl",)}
    assert observed.failures == {8: "cannot work in /none"}


@pytest.mark.parametrize(
    ("fields", "what", "cause"),
    [
        ({"memlock": "64"}, "memlock limit", "container runtime"),
        ({"cpus": "48-50"}, "cores", "CPU manager"),
        ({"memory": "default"}, "memory policy", "no numactl"),
    ],
)
def test_causes_are_those_of_pods(fields: dict[str, str], what: str, cause: str) -> None:
    plan = planned()
    reports = as_planned(plan, PODS)
    reports[0] |= fields
    found = compare(plan, look(plan, list(map(line, reports))), "COMPLETED").differences
    (one,) = [each for each in found if each.what == what]
    assert (one.rank, one.node) == (0, "job-worker-0")
    assert cause in one.cause
    assert "slurm" not in one.cause.lower()
