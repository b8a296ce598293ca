"""One job on nodes of several types: a table for each, or the reason why not."""

import re
from typing import Any

import msgspec
import published
import pytest
from msgspec import structs

from hpclaunch.plan.planner import Planner
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget

MACHINES = {name: catalogue.load(name).value for name in ("dgx-a100", "dgx-h100", "dgx-2", "dell-xe8545")}
A100 = {"type": "dgx-a100", "hosts": "dgx[001-140]"}
H100 = {"type": "dgx-h100", "hosts": "hgx[1-4]"}


def planned(
    job: dict[str, Any],
    *groups: dict[str, Any],
    machines: dict[str, NodeType] | None = None,
    slurm: dict[str, Any] | None = None,
    **site: Any,
) -> LaunchPlan:
    whole = {
        "name": "s",
        "scheduler": "slurm",
        "container": "pyxis",
        "node_types": groups or (A100, H100),
        "slurm": {"version": "23.02", "pyxis": "0.20.0", **(slurm or {})},
        **site,
    }
    base = {"name": "j", "command": ["x"], "directory": "/home/me", "image": "a/b"}
    planner = Planner(msgspec.convert(whole, Site), machines or MACHINES)
    return planner.plan(msgspec.convert({**base, **job}, Job))


def target(plan: LaunchPlan) -> SlurmTarget:
    assert isinstance(plan.target, SlurmTarget)
    return plan.target


def tables(plan: LaunchPlan) -> dict[str, dict[str, str]]:
    """The settings of each table by its hosts; "" has those before."""
    found: dict[str, dict[str, str]] = {"": {}}
    for option in target(plan).wrapper:
        name, _, value = option.text.partition("=")
        if name == "hosts":
            found[value] = {}
        else:
            found[list(found)[-1]][name] = value
    return found


def test_each_type_has_its_table_and_the_wrapper_binds() -> None:
    plan = planned({"nodes": 142})  # more than one type has alone
    assert [(shape.node_type, shape.hosts) for shape in plan.common.shapes] == [
        ("dgx-a100", "dgx[001-140]"),
        ("dgx-h100", "hgx[1-4]"),
    ]
    found = tables(plan)
    assert list(found) == ["", "dgx[001-140]", "hgx[1-4]"]
    assert found["dgx[001-140]"]["cpus"] == ";".join(published.A100_CPUS)
    assert found["dgx[001-140]"]["membind"] == "3;3;1;1;7;7;5;5"
    assert found["hgx[1-4]"]["membind"] == "0;0;0;0;1;1;1;1"
    assert found["hgx[1-4]"]["hcas"].startswith("mlx5_0/0000:18:00.0/1/InfiniBand mlx5_3/0000:40:00.0/")
    assert (target(plan).cpu_masks, target(plan).mem_masks) == ((), ())
    step = [option.text for option in target(plan).srun]
    assert {"--cpu-bind=none", "--mem-bind=none"} <= set(step)
    assert plan.warnings == ()


def test_a_type_that_is_named_is_alone_and_has_masks() -> None:
    plan = planned({"sites": {"s": {"node_type": "dgx-h100"}}})
    assert [shape.node_type for shape in plan.common.shapes] == ["dgx-h100"]
    assert len(target(plan).cpu_masks) == 8
    assert list(tables(plan)) == [""]
    (warning,) = plan.warnings
    assert re.search(r"planned for dgx-h100; .* \(dgx-a100\)", warning)


def test_groups_that_differ_in_their_hosts_alone_are_one() -> None:
    plan = planned({"nodes": 150}, A100, {"type": "dgx-a100", "hosts": "new[1-20]"})
    (shape,) = plan.common.shapes
    assert shape.hosts == "dgx[001-140],new[1-20]"
    assert len(target(plan).cpu_masks) == 8
    assert plan.warnings == ()
    apart = planned({}, A100, {"type": "dgx-a100", "hosts": "new[1-20]", "variant": "10-device"})
    assert [shape.hcas[4].name for shape in apart.common.shapes] == ["mlx5_6", "mlx5_4"]


@pytest.mark.parametrize(
    ("groups", "planned_for", "words"),
    [
        ((A100, {"type": "dgx-h100", "count": 4}), ["dgx-a100"], ["dgx-h100", "give dgx-h100 its `hosts`"]),
        (({"type": "dgx-a100", "count": 4}, H100), ["dgx-a100"], ["dgx-h100", "give dgx-a100 its `hosts`"]),
        # Other numbers of GPUs: what the options ask for is all of one node, and a part of another.
        (({"type": "dgx-2", "hosts": "a[1-2]"}, A100), ["dgx-2"], ["dgx-a100"]),
    ],
)
def test_what_cannot_be_told_apart_is_not_mixed_and_said(
    groups: tuple[dict[str, Any], ...], planned_for: list[str], words: list[str]
) -> None:
    plan = planned({"gpus_per_node": 8}, *groups)
    assert [shape.node_type for shape in plan.common.shapes] == planned_for
    (warning,) = plan.warnings
    assert all(word in warning for word in words)
    if "count" not in {key for group in groups for key in group}:
        assert "`hosts`" not in warning


def test_nodes_that_the_job_cannot_get_are_not_warned_of() -> None:
    small = {"type": "dell-xe8545", "hosts": "small[1-9]"}  # with four GPUs
    assert planned({"gpus_per_node": 8}, A100, small).warnings == ()
    assert planned({}, A100, small).warnings == ()  # all GPUs of a DGX A100 are asked for
    (warning,) = planned({"gpus_per_node": 4}, A100, small).warnings
    assert "dell-xe8545" in warning


def test_what_fits_nowhere_is_refused() -> None:
    with pytest.raises(InputError, match="145 nodes, and site s has 144"):
        planned({"nodes": 145})
    with pytest.raises(InputError, match="9 GPUs per node, and a dgx-h100 has 8"):
        planned({"gpus_per_node": 9})
    with pytest.raises(InputError, match="no nodes of type dgx-b200"):
        planned({"sites": {"s": {"node_type": "dgx-b200"}}})
    with pytest.raises(InputError, match=r"bind.cpus has 2 entries"):
        planned({"bind": {"cpus": ["0", "1"]}})


def test_what_is_asked_of_slurm_holds_for_the_smallest() -> None:
    part = planned({"gpus_per_node": 4})
    batch = [option.text for option in target(part).sbatch]
    assert "--cpus-per-task=28" in batch  # half of the 224 CPUs of a DGX H100
    (memory,) = [text for text in batch if text.startswith("--mem=")]
    gib = int(memory.removeprefix("--mem=").removesuffix("M")) / 1024
    assert 0.85 * 512 < gib < 512  # half of a DGX A100, less what the system keeps
    spread = planned({"bind": {"cpus": "spread"}}, slurm={"version": "23.11"})
    assert "--cpus-per-gpu=28" in [option.text for option in target(spread).srun]
    assert [text for text in spread.warnings if "far from the GPUs" in text]
    with pytest.raises(InputError, match="225 ranks on a node of 224 CPUs"):
        planned({"ranks_per_node": 225})


def test_types_that_differ_in_their_environment_are_refused_by_name() -> None:
    machines = {**MACHINES, "dgx-h100": structs.replace(MACHINES["dgx-h100"], env={"NCCL_X": "1"})}
    with pytest.raises(InputError, match=r"dgx-a100 and dgx-h100 differ in NCCL_X \(unset and 1\)"):
        planned({}, machines=machines)
    for places in (
        {"job": {"env": {"NCCL_X": "2"}}, "site": {}},
        {"job": {}, "site": {"env": {"NCCL_X": "2"}}},
    ):
        plan = planned(places["job"], machines=machines, **places["site"])
        assert [variable.value for variable in plan.common.environment if variable.name == "NCCL_X"] == ["2"]


def test_hcas_of_a_container_have_one_number_on_all_nodes() -> None:
    def visible(*groups: dict[str, Any], hcas: str = "compute") -> str:
        plan = planned({"container": {"hcas": hcas}}, *groups)
        (value,) = (each.value for each in target(plan).host_env if each.name == "MELLANOX_VISIBLE_DEVICES")
        return value

    assert visible(A100) == "0,1,2,3,6,7,8,9"  # 4 and 5 are the storage card between them
    assert visible({**A100, "variant": "10-device"}) == "0,1,2,3,4,5,6,7"
    assert visible(H100) == "0,3,4,5,6,9,10,11"
    assert visible(A100, H100, hcas="all") == "all"
    with pytest.raises(InputError, match=r"dgx-a100: 0,1,2,3,6,7,8,9; dgx-h100: 0,3,4,5,6,9,10,11"):
        visible(A100, H100)
    with pytest.raises(InputError, match="no compute HCA of a dell-xe8545 is known"):
        visible({"type": "dell-xe8545", "hosts": "a[1-2]"})
    own = planned({"container": {"hcas": "all"}, "env": {"MELLANOX_VISIBLE_DEVICES": "3"}}, A100)
    assert [each.value for each in own.common.environment if each.name == "MELLANOX_VISIBLE_DEVICES"] == ["3"]
    assert [text for text in own.warnings if "MELLANOX_VISIBLE_DEVICES" in text]


def test_ranks_of_each_table_are_those_of_the_type_alone() -> None:
    both = {shape.node_type: shape.seats for shape in planned({"ranks_per_node": 33}).common.shapes}
    for name, group in (("dgx-a100", A100), ("dgx-h100", H100)):
        assert both[name] == planned({"ranks_per_node": 33}, group).common.shape.seats
    cpus = tables(planned({"ranks_per_node": 33}))["hgx[1-4]"]["cpus"].split(";")
    assert cpus == [format_list(seat.cpus) for seat in both["dgx-h100"]]


def test_hcas_that_have_no_names_are_not_passed_over_in_silence() -> None:
    nameless = structs.replace(MACHINES["dgx-a100"], variants={})
    plan = planned({}, A100, machines={"dgx-a100": nameless})
    assert [seat.hcas for seat in plan.common.shapes[0].seats] == [()] * 8
    (warning,) = plan.warnings
    assert "no rank gets an HCA of a dgx-a100" in warning
    assert planned({"bind": {"hcas": "none"}}, A100, machines={"dgx-a100": nameless}).warnings == ()
    assert planned({}, A100).warnings == ()
