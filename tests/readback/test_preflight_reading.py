"""What is read of a script that checks nodes before its ranks start, and breaks of it on purpose."""

import pytest
from golden_scripts import golden

from hpclaunch.readback.script import read

SCRIPT = golden("preflight")
PLAIN = golden("whole-node-8-ranks")
CHECKED = (
    "preflight: of 8 nodes the ranks get 6 that are good "
    "(gpus, hcas, memlock, floor, all_reduce between nodes 0)"
)


def test_the_launch_is_that_of_the_nodes_that_ranks_get() -> None:
    seen, plain = read(SCRIPT), read(PLAIN)
    assert (seen.nodes, seen.unread, seen.before) == (6, (), plain.before)
    assert (seen.tables, seen.argv, seen.environment) == (plain.tables, plain.argv, plain.environment)
    assert [each.what for each in seen.unbridged if each not in plain.unbridged] == ["--no-kill", CHECKED]


BREAKS = {
    "more nodes for the ranks than are good": (
        '"$hl_claim" 6 120 all',
        '"$hl_claim" 5 120 all',
        "how many nodes must be good is not told",
    ),
    "ranks on all nodes": ("  --nodes=6\n", "  --nodes=8\n", None),
    "nobody judges": ("only $hl_have of $hl_count", "$hl_have of $hl_count", "not hpclaunch's own text"),
    "another check": ("has $hl_errors uncorrected", "has $hl_errors", "not hpclaunch's own text"),
    "checked now and then": (
        "preflight && launch",
        "[[ -e /x ]] && preflight && launch",
        "only under a condition",
    ),
    "another measurement between nodes": (
        "set -- all_reduce_perf_mpi",
        "set -- true",
        "not hpclaunch's own text",
    ),
    "by another wrapper": (
        '/bin/sh -c "$hl_wrapper" hpclaunch-rank "${hl_linked[@]}"',
        '/bin/sh -c "exec $hl_wrapper" hpclaunch-rank "${hl_linked[@]}"',
        "is not measured as ranks are run",
    ),
    "a lower floor between nodes": ("6 120 0", "6 120 -1", None),
    "fewer spares": ("#SBATCH --nodes=8", "#SBATCH --nodes=7", None),
    "GPUs are not counted": ("  gpus=8 # as many GPUs, and none with ECC errors\n", "", None),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_shows(name: str) -> None:
    old, new, said = BREAKS[name]
    assert old in SCRIPT
    seen = read(SCRIPT.replace(old, new))
    assert (seen.unread, seen.unbridged) != (read(SCRIPT).unread, read(SCRIPT).unbridged)
    if said is not None:
        assert any(said in each for each in seen.unread), seen.unread


def test_what_it_copies_to_the_nodes_is_read_beside_it() -> None:
    checked, plain = read(golden("preflight-with-steps")), read(golden("steps-and-trials"))
    assert plain.stage_in
    assert checked.stage_in == plain.stage_in
