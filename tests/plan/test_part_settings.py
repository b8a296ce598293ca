"""A part of a node: what the plan leaves to the rank wrapper, and all that the wrapper needs for it."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import machines

from hpclaunch.plan.planner import Planner
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue, model
from hpclaunch.values.cpulist import format_list, parse
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget


def planned(
    job: dict[str, Any],
    machine: NodeType | None = None,
    slurm: dict[str, Any] | None = None,
    reserved: str = "",
) -> LaunchPlan:
    machine = machine or catalogue.load("dgx-a100").value
    site = {
        "name": "s",
        "scheduler": "slurm",
        "node_types": [{"type": "it", "hosts": "dgx[1-4]", "reserved_cpus": reserved}],
        "slurm": {"version": "22.05", **(slurm or {})},
    }
    base = {"name": "j", "command": ["x"], "directory": "/home/me"}
    planner = Planner(msgspec.convert(site, Site), {"it": machine})
    return planner.plan(msgspec.convert({**base, **job}, Job))


def target(plan: LaunchPlan) -> SlurmTarget:
    assert isinstance(plan.target, SlurmTarget)
    return plan.target


def settings_of(plan: LaunchPlan) -> dict[str, str]:
    return dict(option.text.split("=", 1) for option in target(plan).wrapper)


def options(plan: LaunchPlan, name: str) -> list[str]:
    texts = [option.text for option in (*target(plan).sbatch, *target(plan).srun)]
    return [text.partition("=")[2] for text in texts if text.partition("=")[0] == name]


def cores_of(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """(POOL.NUMA, CPUs) of each core in `cores=`, read apart from what wrote it."""
    found = []
    for entry in text.split():
        place, _, lists = entry.partition(":")
        threads = [sorted(parse(part)) for part in lists.split("/")]
        found += [(place, core) for core in zip(*threads, strict=True)]
    return found


def test_ranks_have_positions_and_the_wrapper_binds() -> None:
    plan = planned({"gpus_per_node": 3, "ranks_per_node": 7})
    assert [seat.gpus for seat in plan.common.shape.seats] == [(0,), (0,), (1,), (1,), (2,), (2,), ()]
    assert {(seat.cpus, seat.mems, seat.hcas) for seat in plan.common.shape.seats} == {((), (), ())}
    assert options(plan, "--cpu-bind") == options(plan, "--mem-bind") == ["none"]
    assert options(plan, "--cpus-per-task") == ["12", "12"]  # 3/8 of 256 CPUs for 7, in whole cores
    assert (target(plan).cpu_masks, target(plan).mem_masks, plan.warnings) == ((), (), ())
    found = settings_of(plan)
    assert found["seats"] == "0;0;1;1;2;2;"
    assert found["part"] == "cpus,membind"
    assert "near" not in found
    gpus = [entry.split("|") for entry in found["gpus"].split()]
    assert gpus[2] == ["0000:47:00.0", "1,0,2,3,4,5,6,7", "2,3,0,1,4,5,6,7"]
    assert gpus[7] == ["0000:bd:00.0", "5,4,6,7,0,1,2,3", "7,6,4,5,0,1,2,3"]


@pytest.mark.parametrize(
    ("bind", "part", "there", "missing"),
    [
        ({"memory": "prefer"}, "cpus,preferred", {"cores", "gpus", "seats"}, {"near"}),
        ({"cpus": "none"}, "membind", {"cores", "gpus", "seats"}, set()),
        ({"cpus": "none", "memory": "none"}, None, {"gpus", "seats", "hcas"}, {"cores"}),
        ({"cpus": "none", "memory": "none", "hcas": "none"}, None, set(), {"cores", "gpus", "seats", "hcas"}),
        ({"hcas": "all"}, "cpus,membind", {"near", "hcas"}, set()),
        ({"hcas": "none"}, "cpus,membind", {"cores", "gpus", "seats"}, {"hcas", "near", "memlock"}),
        ({"hcas": "strict"}, "cpus,membind", {"strict"}, set()),
    ],
)
def test_what_is_not_bound_is_left_out(
    bind: dict[str, str], part: str | None, there: set[str], missing: set[str]
) -> None:
    found = settings_of(planned({"gpus_per_node": 2, "bind": bind}))
    assert found.get("part") == part
    assert there <= set(found)
    assert not missing & set(found)


def test_all_hcas_for_each_rank() -> None:
    found = settings_of(planned({"gpus_per_node": 2, "bind": {"hcas": "all"}}))
    assert found["near"] == "8:0,1,2,3,4,5,6,7;8:0,1,2,3,4,5,6,7"
    assert {entry.rpartition("|")[2] for entry in found["gpus"].split()} == {""}


def test_over_the_socket() -> None:
    found = settings_of(planned({"gpus_per_node": 2, "bind": {"cpus": "spread"}}))
    assert [place for place, _ in cores_of(found["cores"])][::16] == [f"{n // 4}.{n}" for n in range(8)]
    assert [entry.split("|")[1] for entry in found["gpus"].split()] == ["0,1"] * 4 + ["1,0"] * 4


def test_ranks_without_gpus_divide_what_they_get() -> None:
    plan = planned({"gpus_per_node": 0, "ranks_per_node": 3})
    found = settings_of(plan)
    assert (found["seats"], found["part"]) == (";;", "cpus,membind")
    assert "gpus" not in found
    assert options(plan, "--mem") == []
    assert options(plan, "--cpus-per-task") == ["1", "1"]


def test_a_node_that_is_shared_is_a_part_also_with_all_gpus() -> None:
    plan = planned({}, slurm={"exclusive": False})
    assert not plan.common.whole_node
    assert settings_of(plan)["seats"] == "0;1;2;3;4;5;6;7"
    assert options(plan, "--exclusive") == []


def test_memory_is_the_gpus_part() -> None:
    """Two jobs on half of the GPUs fit beside one another in what slurmd reports of 1 TiB (about 2 %
    less)."""
    (half,) = options(planned({"gpus_per_node": 4}), "--mem")
    assert 2 * int(half.removesuffix("M")) <= 1024 * 1000
    (one,) = options(planned({"gpus_per_node": 1}), "--mem")
    assert int(half.removesuffix("M")) - 4 * int(one.removesuffix("M")) in range(4)
    machine = msgspec.structs.replace(catalogue.load("dgx-a100").value, memory_gib=None)
    assert options(planned({"gpus_per_node": 4}, machine), "--mem") == []
    own = planned({"gpus_per_node": 4, "sites": {"s": {"sbatch": ["--mem-per-gpu=9G"]}}})
    assert (options(own, "--mem"), options(own, "--mem-per-gpu")) == ([], ["9G"])
    assert options(planned({"gpus_per_node": 4}, slurm={"exclusive": True}), "--mem") == ["0"]


def test_lists_are_refused() -> None:
    with pytest.raises(InputError, match="a list needs whole nodes"):
        planned({"gpus_per_node": 2, "bind": {"cpus": ["0", "1"]}})


@settings(deadline=None)
@given(
    machine=machines(gpus=(2, 8)),
    reserved=st.frozensets(st.integers(0, 20), max_size=4),
    smt=st.booleans(),
    spread=st.booleans(),
)
def test_the_table_has_every_core_and_its_siblings(
    machine: NodeType, reserved: frozenset[int], smt: bool, spread: bool
) -> None:
    job = {"gpus_per_node": 1, "bind": {"smt": smt, "cpus": "spread" if spread else "local"}}
    expected = sorted(
        (f"{node.socket if spread else node.node}.{node.node}", tuple(left if smt else left[:1]))
        for node in machine.numa
        for core in model.cores(machine, node.node)
        if (left := [cpu for cpu in core if cpu not in reserved])
    )
    if not expected:
        with pytest.raises(InputError, match="every CPU of the node is reserved"):
            planned(job, machine, reserved=format_list(reserved))
        return
    found = settings_of(planned(job, machine, reserved=format_list(reserved)))
    assert sorted(cores_of(found["cores"])) == expected
    # Every GPU has every pool and every HCA, and no NUMA node is nearer than that of its first pool.
    hcas = len(model.named_hcas(machine, None))
    for spec, entry in zip(machine.gpus, found["gpus"].split(), strict=True):
        pci, pools, order = entry.split("|")
        assert pci == spec.pci
        assert sorted(pools.split(",")) == sorted({place.partition(".")[0] for place, _ in expected})
        assert sorted(order.split(",") if order else []) == sorted(map(str, range(hcas)))
        away = {
            place: model.distance(machine, spec.numa, int(place.partition(".")[2])) for place, _ in expected
        }
        first = pools.split(",")[0]
        assert min(away.values()) == min(
            far for place, far in away.items() if place.partition(".")[0] == first
        )
