"""Reports of jobs with groups: each rank is held against the plan of its own group."""

from typing import Any

import msgspec
import pytest
from test_verify import TWO, Fields, as_planned, line, planned

from hpclaunch.rank.verify import Verdict, of_log
from hpclaunch.values.launchplan import LaunchPlan

SIZES = {"train": (2, 3), "evaluate": (1, 8)}  # nodes, ranks on each
NODE_TYPES = {"train": "dgx-a100", "evaluate": "dgx-h100"}
HOSTS = {"dgx-a100": ("dgx001", "dgx002", "dgx003"), "dgx-h100": ("hgx1",)}
KINDS = ["alike", "ranks", "nodes"]


def of(world: str, kind: str) -> LaunchPlan:
    """Groups that differ in nothing, in their ranks alone, or in node types too."""
    groups: dict[str, dict[str, Any]] = {
        name: {"nodes": nodes, "ranks_per_node": 8 if kind == "alike" else ranks}
        for name, (nodes, ranks) in SIZES.items()
    }
    if kind == "nodes":
        groups = {
            name: {**group, "gpu_type": NODE_TYPES[name].removeprefix("dgx-")}
            for name, group in groups.items()
        }
    site = {"node_types": TWO if kind == "nodes" else TWO[:1]}
    return planned(site, mpi="none", world=world, groups=groups)


def reports(plan: LaunchPlan) -> dict[str, list[Fields]]:
    """What the ranks of each group report where all came true."""
    assert plan.common.groups is not None
    found, first = {}, 0
    used = dict.fromkeys(HOSTS, 0)
    for index, group in enumerate(plan.common.groups.members):
        alone = plan.parts[index] if plan.parts else plan
        common = msgspec.structs.replace(alone.common, nodes=group.nodes)
        alone = msgspec.structs.replace(alone, common=common)
        kind = common.shape.node_type
        mine = as_planned(alone, HOSTS[kind][used[kind] :])
        used[kind] += group.nodes
        if plan.common.groups.world == "one":
            mine = [each | {"rank": str(first + int(each["rank"]))} for each in mine]
        found[group.name] = mine
        first += len(mine)
    return found


def look(plan: LaunchPlan, told: dict[str, list[Fields]], *others: bytes) -> Verdict:
    assert plan.common.groups is not None
    apart = plan.common.groups.world == "separate"
    marks = {name: f"{name}: ".encode() if apart else b"" for name in told}
    lines = [marks[name] + line(each) for name, group in told.items() for each in group]
    return of_log(plan, [*others, *lines], "COMPLETED")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world", ["one", "separate"])
def test_each_rank_is_held_against_its_group(world: str, kind: str) -> None:
    plan = of(world, kind)
    told = reports(plan)
    total = sum(map(len, told.values()))
    got = look(plan, told)
    assert (got.as_planned, got.ranks, got.reported, got.notes) == (True, total, total, ())
    changed = told["evaluate"][1]
    changed |= {"cpus": "0-255", "numa": "0-7", "siblings": "0,128", "local": "2"}
    del told["train"][4]
    differences = look(plan, told).differences
    number = int(changed["rank"])
    assert number == (1 if world == "separate" else len(reports(plan)["train"]) + 1)
    assert {(each.group, each.rank, each.what) for each in differences} >= {
        ("train", 4, "report"),
        ("evaluate", number, "cores"),
        ("evaluate", number, "local rank"),
    }
    assert {(each.group, each.rank) for each in differences} == {("train", 4), ("evaluate", number)}


@pytest.mark.parametrize("world", ["one", "separate"])
def test_what_no_rank_of_a_group_can_be_is_no_report(world: str) -> None:
    plan = of(world, "ranks")
    told = reports(plan)
    told["train"][5]["local"] = "3"  # as ranks of the other group may have
    got = look(plan, told)
    assert [(each.group, each.rank, each.what) for each in got.differences] == [("train", 5, "report")]
    assert "no node has a local rank 3" in got.notes[0]


def test_a_rank_cannot_report_for_another_group() -> None:
    plan = of("separate", "alike")
    told = reports(plan)
    lost = told["train"].pop()
    got = look(plan, told, b"evaluate: train: " + line(lost), line(lost))
    assert [(each.group, each.rank, each.what) for each in got.differences][:1] == [("train", 15, "report")]
