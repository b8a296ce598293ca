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
    "on nodes that are not the good ones": (
        '  hl_step+=(--nodelist="$hl_good")\n',
        "",
        "not told which nodes were found good",
    ),
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


FIRST_TWO, OTHERS = '"$(join "${hl_names[@]:0:2}")"\n', '"$(join "${hl_names[@]:2:3}")"\n'
# The name of a golden script, and what is exchanged with what.
EXCHANGES = [
    ("preflight-with-groups", FIRST_TWO, OTHERS),
    ("preflight-with-groups", "{hl_names[@]:0:2}", "{hl_names[@]:3:2}"),
    ("preflight-with-unlike-groups", FIRST_TWO, OTHERS),
    ("preflight-with-unlike-groups", "component 0\n", "component 1\n"),
    ("preflight-in-allocations", "preflight_0 || return", "preflight_1 || return"),
    ("preflight-in-allocations", "hl_good=$SLURM_JOB_NODELIST_HET_GROUP_0", "hl_good=$SLURM_JOB_NODELIST"),
    ("preflight-in-allocations", '    --nodelist="${hl_places[$1]}" \\\n', ""),
]


@pytest.mark.parametrize(("name", "one", "other"), EXCHANGES)
def test_groups_on_the_good_nodes_of_others_are_not_passed_over(name: str, one: str, other: str) -> None:
    text = golden(name)
    assert one in text
    assert read(text).unread == ()
    parts = (part.replace(other, one) if other else part for part in text.split(one))
    assert read(other.join(parts)).unread


def test_what_it_copies_to_the_nodes_is_read_beside_it() -> None:
    checked, plain = read(golden("preflight-with-steps")), read(golden("steps-and-trials"))
    assert plain.stage_in
    assert checked.stage_in == plain.stage_in
