"""Scripts of jobs with groups, read back; and that a change in one of them is seen."""

import pytest

from hpclaunch.plan.planner import Planner
from hpclaunch.readback import script as reader
from hpclaunch.readback.compare import are_same, compare
from hpclaunch.readback.kubernetes import reader as manifests
from hpclaunch.readback.place import Place, Side
from hpclaunch.render import script
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError
from hpclaunch.values.launch import Launch
from hpclaunch.values.launchplan import LaunchPlan

JOB = """\
name: unlike
image: a/b:1
mpi: pmix
env: {LR: "0.1", SHARED: "it's $HOME"}
groups:
  train: {nodes: 34, command: [./train, "a b", "", "=x", "--", ":"], env: {LR: "0.2"}}
  evaluate: {nodes: 17, command: ./evaluate && true, env: {B: "\\"\\n"}}
  watch: {nodes: 1, command: [./watch]}
"""


def planned(*sets: str, at: str = "superpod-a100") -> LaunchPlan:
    site = read_site(at).value
    machines = {group.type: catalogue.load(group.type).value for group in site.node_types}
    return Planner(site, machines).plan(parse_job(JOB, "f", "/home/ada", sets).value)


def read(*sets: str) -> Launch:
    return reader.read(script.render(planned(*sets)))


def in_pods(*sets: str) -> Launch:
    return manifests.read(script.render(planned(*sets, at="k8s-superpod-a100")))


def same(one: Launch, other: Launch) -> bool:
    return are_same(compare(Side(one, Place()), Side(other, Place())))


@pytest.mark.parametrize("world", ["one", "separate"])
def test_the_launch_has_each_group_and_nothing_is_not_understood(world: str) -> None:
    launch = read(f"world={world}")
    assert (launch.world, launch.nodes, launch.ranks_per_node, launch.argv) == (world, 52, 8, ())
    assert [(each.name, each.ranks) for each in launch.groups] == [
        ("train", 272),
        ("evaluate", 136),
        ("watch", 8),
    ]
    train, evaluate, watch = launch.groups
    assert train.argv == ("./train", "a b", "", "=x", "--", ":")
    assert [(each.name, each.value) for each in train.environment] == [("LR", "0.2")]
    assert evaluate.argv == ("/bin/sh", "-c", "./evaluate && true")
    assert [(each.name, each.value) for each in evaluate.environment] == [("B", '"\n')]
    assert (watch.argv, watch.environment) == (("./watch",), ())
    assert (launch.unread, launch.unbridged, launch.wrapper) == ((), (), "own")
    assert {each.name: each.value for each in launch.environment}["SHARED"] == "it's $HOME"


@pytest.mark.parametrize("world", ["one", "separate"])
@pytest.mark.parametrize(
    "change",
    ["groups.watch.command=[./other]", "groups.train.env.LR=0.3", "groups.watch.nodes=2", "env.LR=0.3"],
)
def test_a_change_is_a_difference(world: str, change: str) -> None:
    launch = read(f"world={world}")
    assert same(launch, read(f"world={world}"))
    assert not same(launch, read(f"world={world}", change))


def test_a_manifest_has_the_same_groups() -> None:
    launch = in_pods()
    assert (launch.groups, launch.world, launch.argv) == (read().groups, "one", ())
    assert (launch.nodes, launch.ranks_per_node) == (52, 8)
    assert (launch.unread, launch.unbridged, launch.wrapper) == ((), (), "own")
    assert same(launch, in_pods())


@pytest.mark.parametrize(
    "change", ["groups.watch.command=[./other]", "groups.train.env.LR=0.3", "groups.watch.nodes=2"]
)
def test_a_change_in_a_manifest_is_a_difference(change: str) -> None:
    assert not same(in_pods(), in_pods(change))


def test_one_world_is_not_separate_ones() -> None:
    assert not same(read(), read("world=separate"))


def test_a_step_that_is_not_on_the_next_nodes_is_not_passed_over() -> None:
    text = script.render(planned("world=separate"))
    assert reader.read(text.replace("--relative=34", "--relative=33")).unread
    assert reader.read(text.replace("group 1 evaluate", "group 0 evaluate")).unread


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (["groups.watch.nodes=100"], "151 nodes, and site superpod-a100 has 140"),
        (["groups.watch.nodes=141"], "group watch: 141 nodes"),
        (
            ["groups.watch.env.OMPI_MCA_x=1"],
            "groups.watch.env.OMPI_MCA_x: hooks and launchers outside the ranks",
        ),
        (["trials=2"], "trials: not with `groups`"),
    ],
)
def test_what_one_allocation_cannot_be_is_refused(sets: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        planned(*sets)
    assert message in str(caught.value)
