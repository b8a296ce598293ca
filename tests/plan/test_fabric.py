"""Scalable units and SHARP in the plan, for sites of several kinds and versions."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.plan.planner import Planner
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget

MACHINES = {"dgx-a100": catalogue.load("dgx-a100").value}


def planned(
    job: dict[str, Any], fabric: dict[str, Any], version: str = "25.11", nodes: int = 560
) -> LaunchPlan:
    site = {
        "name": "s",
        "scheduler": "slurm",
        "node_types": [{"type": "dgx-a100", "hosts": f"dgx[1-{nodes}]"}],
        "slurm": {"version": version},
        "fabric": fabric,
    }
    base = {"name": "j", "command": ["x"], "directory": "/home/me"}
    return Planner(msgspec.convert(site, Site), MACHINES).plan(msgspec.convert({**base, **job}, Job))


def options(plan: LaunchPlan, *names: str) -> dict[str, list[str]]:
    """command -> the options with these names."""
    assert isinstance(plan.target, SlurmTarget)
    commands = {"sbatch": plan.target.sbatch, "srun": plan.target.srun}
    return {
        command: [each.text for each in given if each.text.partition("=")[0] in names]
        for command, given in commands.items()
    }


def near(nodes: int, **fabric: Any) -> list[str]:
    plan = planned({"nodes": nodes, "locality": "unit"}, fabric)
    found = options(plan, "--switches", "--segment")
    assert found["srun"] == []
    return found["sbatch"]


@pytest.mark.parametrize(
    ("nodes", "fabric", "option"),
    [
        (1, {"topology": "tree"}, []),
        (20, {"topology": "tree"}, ["--switches=1"]),
        (21, {"topology": "tree"}, ["--switches=2"]),
        (140, {"topology": "tree"}, ["--switches=7"]),
        (32, {"topology": "tree", "unit": 32}, ["--switches=1"]),
        (1, {"topology": "block"}, []),
        (18, {"topology": "block", "unit": 18}, ["--segment=18"]),
        (20, {"topology": "block", "unit": 18}, ["--segment=10"]),
        (36, {"topology": "block", "unit": 18}, ["--segment=18"]),
    ],
)
def test_a_job_near_together(nodes: int, fabric: dict[str, Any], option: list[str]) -> None:
    assert near(nodes, **fabric) == option


@given(nodes=st.integers(2, 560), unit=st.integers(1, 72))
def test_segments_are_what_slurm_takes(nodes: int, unit: int) -> None:
    """A segment divides the nodes, fits in a unit, and is the largest that does."""
    try:
        (option,) = near(nodes, topology="block", unit=unit)
    except InputError as error:
        assert not [size for size in range(2, unit + 1) if nodes % size == 0]
        better = [int(word) for word in str(error).split("take ")[1].split(" nodes")[0].split(" or ")]
        for other in better:
            (option,) = near(other, topology="block", unit=unit) if other > 1 else ("--segment=1",)
            assert int(option.partition("=")[2]) > 1 or other == 1
        return
    size = int(option.partition("=")[2])
    assert nodes % size == 0
    assert size <= unit
    assert not [more for more in range(size + 1, unit + 1) if nodes % more == 0]


def test_a_segment_is_no_larger_than_the_smallest_block_of_an_older_slurm() -> None:
    job = {"nodes": 64, "locality": "unit"}
    fabric = {"topology": "block", "unit": 32}
    # 127 nodes in units of 32: the last has 31.
    for version, segment in (("24.11", "--segment=16"), ("25.05", "--segment=32")):
        plan = planned(job, fabric, version, nodes=127)
        assert options(plan, "--segment")["sbatch"] == [segment]


def test_a_unit_of_one_node_is_no_segment_in_an_older_slurm() -> None:
    fabric = {"topology": "block", "unit": 20}
    with pytest.raises(InputError, match="smallest unit of site s has one node"):
        planned({"nodes": 4, "locality": "unit"}, fabric, "24.11", nodes=41)
    plan = planned({"nodes": 4, "locality": "unit"}, fabric, "25.05", nodes=41)
    assert options(plan, "--segment")["sbatch"] == ["--segment=4"]


def test_a_site_without_topology_is_named() -> None:
    plan = planned({"nodes": 2, "locality": "unit"}, {})
    assert options(plan, "--switches", "--segment") == {"sbatch": [], "srun": []}
    assert [
        warning for warning in plan.warnings if "locality: unit" in warning and "fabric.topology" in warning
    ]
    assert planned({"nodes": 1, "locality": "unit"}, {}).warnings == ()


def test_segments_need_a_slurm_that_has_them() -> None:
    with pytest.raises(InputError, match=r"24\.05, and this site has 23\.11") as caught:
        planned({"nodes": 2, "locality": "unit"}, {"topology": "block"}, "23.11")
    assert caught.value.problems[0].path == ("locality",)


def test_sharp() -> None:
    plan = planned(
        {"fabric": {"sharp": True}, "env": {"NCCL_ALGO": "Ring"}},
        {"sharp": {"env": {"NCCL_ALGO": "CollNet", "SHARP_X": "1"}}},
    )
    assert isinstance(plan.target, SlurmTarget)
    assert options(plan, "--network") == {"sbatch": ["--network=sharp"], "srun": ["--network=sharp"]}
    assert {(each.name, each.value) for each in plan.target.host_env} == {("SLURM_NETWORK", "sharp")}
    env = {each.name: each.value for each in plan.common.environment}
    assert (env["NCCL_COLLNET_ENABLE"], env["SHARP_X"], env["NCCL_ALGO"]) == ("1", "1", "Ring")
    assert [warning for warning in plan.warnings if "env.NCCL_ALGO" in warning]


def test_sharp_without_an_option_of_slurm() -> None:
    plan = planned({"fabric": {"sharp": True}}, {"sharp": {"network": None}})
    assert isinstance(plan.target, SlurmTarget)
    assert options(plan, "--network") == {"sbatch": [], "srun": []}
    assert plan.target.host_env == ()
    assert "NCCL_COLLNET_ENABLE" in {each.name for each in plan.common.environment}


def test_sharp_where_there_is_none() -> None:
    with pytest.raises(InputError, match=r"fabric\.sharp") as caught:
        planned({"fabric": {"sharp": True}}, {})
    assert caught.value.problems[0].path == ("fabric", "sharp")


def test_a_raw_option_of_the_same_name_is_refused() -> None:
    job = {"nodes": 2, "locality": "unit", "sites": {"s": {"sbatch": ["--switches=2@60"]}}}
    with pytest.raises(InputError, match="--switches"):
        planned(job, {"topology": "tree"})
