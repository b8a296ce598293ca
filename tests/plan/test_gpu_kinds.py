"""Kinds of GPUs at a site with whole ones and MIG slices."""

from typing import Any

import msgspec
import pytest

from hpclaunch.plan.planner import Planner
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget

MACHINES = {name: catalogue.load(name).value for name in ("dgx-a100", "dgx-h100")}
WHOLE = {"type": "dgx-a100", "hosts": "dgx[1-4]"}
CUT = {"type": "dgx-a100", "hosts": "mig[1-2]", "mig": {"1g.5gb": 42, "3g.20gb": 4}}
HOPPER = {"type": "dgx-h100", "hosts": "hop[1-4]"}


def planned(job: dict[str, Any], *groups: dict[str, Any], version: str = "22.05") -> LaunchPlan:
    site = {
        "name": "s",
        "scheduler": "slurm",
        "node_types": groups or (WHOLE, CUT),
        "slurm": {"version": version},
    }
    base = {"name": "j", "command": ["x"], "directory": "/home/me"}
    return Planner(msgspec.convert(site, Site), MACHINES).plan(msgspec.convert({**base, **job}, Job))


def options(plan: LaunchPlan, name: str) -> list[str]:
    """The values of an option, on sbatch and then on srun."""
    assert isinstance(plan.target, SlurmTarget)
    texts = [option.text for option in (*plan.target.sbatch, *plan.target.srun)]
    return [text.partition("=")[2] for text in texts if text.partition("=")[0] == name]


@pytest.mark.parametrize(
    ("job", "groups", "gres", "node_type"),
    [
        ({}, (WHOLE,), "gpu:8", "dgx-a100"),
        ({"gpu_type": "a100"}, (WHOLE,), "gpu:a100:8", "dgx-a100"),
        ({"gpu_type": "h100"}, (WHOLE, HOPPER), "gpu:h100:8", "dgx-h100"),
        ({"gpu_type": "h100", "gpus_per_node": 2}, (WHOLE, HOPPER), "gpu:h100:2", "dgx-h100"),
        # A bare gpu:8 could be eight slices.
        ({}, (CUT, WHOLE), "gpu:a100:8", "dgx-a100"),
        ({"gpu_type": "1g.5gb", "gpus_per_node": 16}, (WHOLE, CUT), "gpu:1g.5gb:16", "dgx-a100"),
    ],
)
def test_the_type_is_named_where_it_must_be(
    job: dict[str, Any], groups: tuple[dict[str, Any], ...], gres: str, node_type: str
) -> None:
    plan = planned(job, *groups)
    assert options(plan, "--gres") == [gres, gres]
    assert plan.common.shape.node_type == node_type


def test_slices() -> None:
    plan = planned({"gpu_type": "1g.5gb", "gpus_per_node": 4})
    assert plan.common.ranks_per_node == 4
    assert not plan.common.whole_node
    assert options(plan, "--gpu-bind") == ["per_task:1"]
    # 4 of 42 slices, so as much of 256 CPUs, for 4 ranks.
    assert options(plan, "--cpus-per-task") == ["6", "6"]
    assert [warning for warning in plan.warnings if "1g.5gb" in warning and "not bound" in warning]
    env = {each.name for each in plan.common.environment}
    assert not {name for name in env if name.startswith(("NCCL_IB", "UCX"))}


def test_several_ranks_on_a_slice() -> None:
    plan = planned({"gpu_type": "3g.20gb", "gpus_per_node": 2, "ranks_per_node": 6})
    assert options(plan, "--gpu-bind") == ["single:3"]


@pytest.mark.parametrize(
    ("job", "path", "said"),
    [
        ({"gpu_type": "h100"}, "gpu_type", "it has: 1g.5gb, 3g.20gb, a100"),
        ({"gpu_type": "2g.10gb", "gpus_per_node": 1}, "gpu_type", "it has: 1g.5gb, 3g.20gb, a100"),
        ({"gpu_type": "1g.5gb"}, "gpu_type", "gpus_per_node"),
        ({"gpu_type": "a100", "gpus_per_node": 0}, "gpu_type", "needs GPUs"),
        (
            {"gpu_type": "3g.20gb", "gpus_per_node": 5},
            "gpus_per_node",
            "3g.20gb per node, and a dgx-a100 has 4",
        ),
        ({"gpu_type": "a100", "gpus_per_node": 9}, "gpus_per_node", "a100 per node, and a dgx-a100 has 8"),
        ({"gpu_type": "3g.20gb", "gpus_per_node": 2, "ranks_per_node": 3}, "ranks_per_node", "multiple"),
        (
            {"gpu_type": "1g.5gb", "gpus_per_node": 1, "bind": {"cpus": ["0-7"]}, "ranks_per_node": 1},
            "bind",
            "list",
        ),
    ],
)
def test_what_the_site_has_not(job: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        planned(job)
    (problem,) = caught.value.problems
    assert problem.path[0] == path
    assert said in problem.message


def test_a_site_of_slices_alone() -> None:
    with pytest.raises(InputError, match=r"MIG slices alone: set gpu_type to one of 1g\.5gb, 3g\.20gb"):
        planned({}, CUT)
    assert planned({"gpus_per_node": 0}, CUT).common.gpus_per_node == 0


def test_slices_need_a_slurm_that_has_them() -> None:
    with pytest.raises(InputError, match=r"21\.08, and this site has 20\.11"):
        planned({"gpu_type": "1g.5gb", "gpus_per_node": 1}, version="20.11")


def test_a_machine_without_a_scheduler_chooses_no_type() -> None:
    site = msgspec.convert({"name": "here", "scheduler": "local", "node_types": [{"type": "dgx-a100"}]}, Site)
    job = msgspec.convert({"name": "j", "command": ["x"], "directory": "/", "gpu_type": "a100"}, Job)
    with pytest.raises(InputError, match="no scheduler to choose GPUs"):
        Planner(site, MACHINES).plan(job)
