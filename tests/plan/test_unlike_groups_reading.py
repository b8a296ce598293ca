"""Scripts of groups on unlike nodes are read back as their plans."""

import pytest
from unlike_jobs import ALIKE, CHECKED, planned, read

from hpclaunch.readback import script as reader
from hpclaunch.readback.compare import are_same, compare
from hpclaunch.readback.place import Side
from hpclaunch.render import script
from hpclaunch.values.errors import InputError


@pytest.mark.parametrize("world", ["one", "separate"])
@pytest.mark.parametrize("sets", [(), ALIKE], ids=["hetjob", "one allocation"])
def test_a_script_is_read_back_as_its_plan(world: str, sets: tuple[str, ...]) -> None:
    plan, launch = planned(f"world={world}", *sets), read(f"world={world}", *sets)
    assert (launch.unread, launch.unbridged, launch.wrapper) == ((), (), "own")
    assert (launch.world, launch.nodes) == (world, 7)
    assert [(each.name, each.ranks) for each in launch.groups] == [("train", 24), ("evaluate", 8)]
    train, evaluate = launch.groups
    assert (train.argv, evaluate.argv) == (
        ("./run", "it's $HOME", ":"),
        ("/bin/sh", "-c", "./evaluate && true"),
    )
    environment = {each.name: each.value for each in launch.environment}
    for group, rate in ((train, "0.2"), (evaluate, "0.1")):
        assert (environment | {each.name: each.value for each in group.environment})["LR"] == rate
    for part, seen in zip(plan.parts, launch.parts, strict=True):
        common = part.common
        assert (seen.nodes, seen.ranks_per_node, seen.gpus_per_node) == (
            common.nodes,
            common.ranks_per_node,
            8,
        )
        (table,) = seen.tables
        assert [(each.cpus, each.mems) for each in table.seats] == [
            (each.cpus, each.mems) for each in common.shape.seats
        ]


CHANGES = ["groups.evaluate.ranks_per_node=4", "groups.train.nodes=2", "bind.cpus=spread", "env.LR=0.3"]


@pytest.mark.parametrize("world", ["one", "separate"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("sets", [(), ALIKE], ids=["hetjob", "one allocation"])
def test_a_change_is_a_difference(world: str, change: str, sets: tuple[str, ...]) -> None:
    launch = read(f"world={world}", *sets)
    assert are_same(compare(Side(launch), Side(read(f"world={world}", *sets))))
    assert not are_same(compare(Side(launch), Side(read(f"world={world}", *sets, change))))


@pytest.mark.parametrize(
    ("sets", "old", "new"),
    [
        ((), "--het-group=1", "--het-group=0"),
        (ALIKE, "--relative=3", "--relative=4"),
        (ALIKE, "#SBATCH --nodes=7", "#SBATCH --nodes=8"),
        ((), "--nodes=3\n    --ntasks=24", "--nodes=3\n    --ntasks=16"),
        (("world=separate",), "group 1 evaluate", "group 0 evaluate"),
    ],
)
def test_what_does_not_fit_together_is_not_passed_over(sets: tuple[str, ...], old: str, new: str) -> None:
    text = script.render(planned(*sets))
    assert old in text
    assert reader.read(text.replace(old, new)).unread


def test_another_job_of_several_components_is_not_read() -> None:
    text = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH hetjob\n#SBATCH --nodes=2\nsrun hostname : hostname\n"
    with pytest.raises(InputError, match="several components"):
        reader.read(text)


@pytest.mark.parametrize("world", ["one", "separate"])
@pytest.mark.parametrize("sets", [(), ALIKE], ids=["hetjob", "one allocation"])
def test_a_script_that_checks_nodes_first_is_read_back(world: str, sets: tuple[str, ...]) -> None:
    launch = read(f"world={world}", *CHECKED, *sets)
    assert (launch.unread, launch.wrapper, launch.nodes) == ((), "own", 5)
    told = [each.what for each in launch.unbridged if each.what.startswith("preflight: ")]
    sizes = [(6, 5)] if sets else [(4, 3), (3, 2)]
    assert [text.partition(" that")[0] for text in told] == [
        f"preflight: of {asked} nodes the ranks get {wanted}" for asked, wanted in sizes
    ]
    plain = read(f"world={world}", *CHECKED[:1], *sets)
    assert (launch.parts, launch.groups) == (plain.parts, plain.groups)
    text = script.render(planned(f"world={world}", *CHECKED, *sets))
    wrong = (
        [('"$hl_claim" 5 ', '"$hl_claim" 4 ')]
        if sets
        else [("--het-group=1\n    --gres", "--het-group=0\n    --gres")]
    )
    for old, new in wrong:
        assert old in text
        assert reader.read(text.replace(old, new, 1)).unread
