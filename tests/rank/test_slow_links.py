"""Which nodes are found slow towards others, under the shells that nodes have. A stand-in for srun says how
fast an all_reduce over nodes is, by which of them are slow."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running import SHELLS

from hpclaunch.rank import beside

FLOOR = 150
# Measures 200 GB/s, and 90 where a node of $SLOW is with another. Each call is noted.
SRUN = """\
#!/bin/sh
for word; do case $word in --nodelist=*) nodes=${word#*=} ;; esac; done
echo "$nodes" >>"$CALLS"
gbs=200
for node in $SLOW; do case ,$nodes, in *,$node,*) gbs=90 ;; esac; done
[ "$nodes" != "$FAILS" ] || { echo "srun: error: it fails" >&2; exit 5; }
lacks=
for node in $LACKS; do
  case ,$nodes, in *,$node,*) echo "hpclaunch-check $node skip there is no all_reduce_perf"; lacks=1 ;; esac
  [ -z "$lacks" ] || exit 127
done
[ -z "$ABSENT" ] || { echo "hpclaunch-check dgx1 skip there is no all_reduce_perf"; exit 127; }
case $ALL in '' | *,"$nodes",*) ;; *) case $nodes in *,*,*) gbs=60 ;; esac ;; esac
echo "# Avg bus bandwidth    : $gbs.25"
[ -z "$TWICE" ] || echo "# Avg bus bandwidth    : $gbs.25"
"""


class Said(NamedTuple):
    """What `links` printed and said, of which nodes it measured something, in that order, and all that it
    wrote to the job's log."""

    status: int
    chosen: list[str]
    lines: list[str]
    measured: list[str]
    log: list[str]


class Place:
    """A folder with the stand-in, and the record of a job."""

    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "srun").write_text(SRUN)
        (folder / "srun").chmod(0o755)

    def find(self, shell: list[str], nodes: list[str], wanted: int, **env: str) -> Said:
        for name in ("preflight", "calls"):
            (self.folder / name).write_text("")
        told = {"SLOW": "", "FAILS": "", "ABSENT": "", "LACKS": "", "TWICE": "", "ALL": "", **env}
        done = subprocess.run(
            [
                *(*shell, "-c", beside.text("links"), "hpclaunch-links", str(self.folder / "claim")),
                *(str(wanted), "60", str(FLOOR), ",".join(nodes), "--mpi=pmix", "measure"),
            ],
            env={
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "CALLS": str(self.folder / "calls"),
                **told,
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
        lines = (self.folder / "preflight").read_text().splitlines()
        own = [line for line in done.stderr.splitlines() if line.startswith("hpclaunch: ")]
        assert own == [f"hpclaunch: preflight: {line}" for line in lines]
        measured = (self.folder / "calls").read_text().splitlines()
        chosen = done.stdout.strip().split(",") if done.stdout else []
        return Said(done.returncode, chosen, lines, measured, done.stderr.splitlines())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("links"))


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    return SHELLS[request.param]


def names(count: int) -> list[str]:
    return [f"dgx-{number}" for number in range(1, count + 1)]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_ranks_get_the_first_nodes_that_are_not_slow(place: Place, data: st.DataObject) -> None:
    nodes = names(data.draw(st.integers(2, 6)))
    slow = data.draw(st.sets(st.sampled_from(nodes)))
    wanted = data.draw(st.integers(2, len(nodes)))
    shell = SHELLS[data.draw(st.sampled_from(sorted(SHELLS)))]
    said = place.find(shell, nodes, wanted, SLOW=" ".join(slow))
    fast = [node for node in nodes if node not in slow]
    if len(fast) >= wanted:
        assert (said.status, said.chosen) == (0, fast[:wanted]), said
        assert said.lines[-1] == f"the ranks are on {','.join(fast[:wanted])}"
    else:
        found = len(fast) if len(fast) > 1 else 0  # a fast one alone has nobody to show it with
        assert (said.status, said.chosen) == (122, []), said
        assert said.lines[-1] == f"only {found} of {len(nodes)} nodes are good, and the ranks need {wanted}"
    blamed = {line.split()[0] for line in said.lines if " is left out: " in line}
    assert blamed == (slow if len(fast) > 1 else set(nodes) if slow else set())


def test_of_many_nodes_a_slow_one_is_found_in_four_rounds(place: Place, shell: list[str]) -> None:
    nodes = names(32)
    said = place.find(shell, nodes, 30, SLOW="dgx-7")
    fast = [node for node in nodes if node != "dgx-7"]
    pairs = {f"{one},{other}" for one, other in zip(nodes[::2], nodes[1::2], strict=True)}
    assert said.chosen == fast[:30]
    assert said.measured[0] == ",".join(nodes)
    assert set(said.measured[1:17]) == pairs
    assert {each.split(",")[1] for each in said.measured[17:19]} == {"dgx-7", "dgx-8"}
    assert said.measured[19:] == [",".join(fast[:30])]
    assert said.lines == [
        "an all_reduce over all 32 nodes: it reached 90 GB/s of 150",
        "an all_reduce of dgx-7 and dgx-8: it reached 90 GB/s of 150",
        "dgx-7 is left out: an all_reduce with dgx-1: it reached 90 GB/s of 150",
        f"the ranks are on {','.join(fast[:30])}",
    ]


def test_a_node_without_the_program_that_others_have_is_bad(place: Place, shell: list[str]) -> None:
    said = place.find(shell, names(5), 2, LACKS="dgx-1 dgx-3", SLOW="dgx-4")
    assert (said.status, said.chosen) == (0, ["dgx-2", "dgx-5"])
    absent = "is left out: there is no all_reduce_perf"
    assert said.lines[:2] == [f"dgx-1 {absent}", f"dgx-3 {absent}"]
    few = place.find(shell, names(3), 2, LACKS="dgx-1 dgx-3")
    assert (few.status, few.lines[2:]) == (122, ["only 1 of 3 nodes are good, and the ranks need 2"])
    none = place.find(shell, names(3), 2, LACKS=" ".join(names(3)))
    assert (none.status, none.chosen) == (0, names(2))
    assert none.lines[0] == "not checked: all_reduce between nodes: there is no all_reduce_perf"


def test_where_nothing_is_slow_one_measurement_is_all(place: Place, shell: list[str]) -> None:
    said = place.find(shell, names(5), 4)
    assert (said.status, said.chosen, said.measured) == (0, names(4), [",".join(names(5))])


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"ABSENT": "1"}, "there is no all_reduce_perf"),
        (
            {"TWICE": "1"},
            "each node measured by itself: its program has no MPI, or not that of this Slurm",
        ),
    ],
)
def test_what_cannot_be_measured_is_said_and_costs_no_node(
    place: Place, shell: list[str], env: dict[str, str], why: str
) -> None:
    said = place.find(shell, names(3), 2, **env)
    assert (said.status, said.chosen) == (0, names(2))
    assert said.lines[0] == f"not checked: all_reduce between nodes: {why}"


def test_what_fails_is_slow_and_what_it_said_is_not_lost(place: Place, shell: list[str]) -> None:
    said = place.find(shell, names(4), 2, SLOW="dgx-3", FAILS=",".join(names(4)))
    assert said.chosen == ["dgx-1", "dgx-2"]
    assert said.lines[0] == "an all_reduce over all 4 nodes: it failed with status 5"
    assert "preflight: srun: error: it fails" in said.log


def test_a_network_that_is_slow_only_for_all_at_once_is_no_node_s_fault(
    place: Place, shell: list[str]
) -> None:
    said = place.find(shell, names(4), 4, ALL=",nobody,")
    assert (said.status, said.chosen) == (122, [])
    assert said.lines[1:] == [
        "the network is slow between the nodes: all 4 of the ranks together: it reached 60 GB/s of 150"
    ]
