"""Scripts for Flux are refused by their name, with what their lines and `flux run` tell."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


def _told(text: str) -> dict[str, str]:
    found = convert(classified({"run.sh": f"#!/bin/bash\n{text}\n"}), Options({}))
    assert "Flux" in found.refused
    return {each.name: each.told for each in found.launch if each.state == "told"}


def test_lines_for_flux_are_read_also_behind_commands() -> None:
    head = "#flux: --nodes=2\n#flux: -n 8\n#flux: -g 1\n#flux: --time-limit=1.5h\n#flux: -q pbatch\n"
    told = _told(f"set -e\n{head}python t.py")
    assert told["nodes"] == "2"
    assert told["GPUs"] == "4 on each node"
    assert told["time limit"] == "90 minutes"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("flux run -N2 -n8 -g1 -t 5m ./t", ("2", "4 on each node", "4 on each node", "5 minutes")),
        ("flux run -N 2 --tasks-per-node=4 --gpus-per-node=4 ./t", ("2", "4 on each node", "4 on each node")),
        ("env -u X FI=1 flux run -N 2 -n 2 ./t", ("2", "1 on each node")),
        ("flux mini run -N 1 -n 4 --env=FI=1 ./t", ("1", "4 on each node")),
    ],
)
def test_what_flux_run_asks_for_is_told(line: str, expected: tuple[str, ...]) -> None:
    told = _told(line)
    names = ("nodes", "ranks", "GPUs", "time limit")
    assert tuple(told[name] for name in names if name in told) == expected
    assert told.get("environment") == ("FI" if "FI=1" in line else None)


def test_ranks_on_unknown_nodes_are_not_told() -> None:
    found = convert(classified({"run.sh": "#!/bin/bash\nflux run -n 8 -g 1 ./t\n"}), Options({}))
    assert {each.told for each in found.launch if each.name in ("ranks", "GPUs")} == {"not determined"}
    assert any("-n 8" in each.what for each in found.findings if each.kind == "left")


def test_slots_and_their_gpus_are_counted_whatever_line_comes_first() -> None:
    told = _told("#flux: -g 2\n#flux: -n 8\n#flux: -N 4\nflux run -N 4 -n 8 ./t")
    assert (told["nodes"], told["ranks"], told["GPUs"]) == ("4", "2 on each node", "4 on each node")


@pytest.mark.parametrize(
    ("line", "said"), [("-N $1 -n $2 -g 1", "-g 1"), ("-n 8 -g 1", "-g 1"), ("-g 0", ""), ("-g 2", "")]
)
def test_gpus_of_ranks_that_are_not_told_are_said(line: str, said: str) -> None:
    text = f"#!/bin/bash\nflux run {line} ./t\n"
    found = convert(classified({"run.sh": text}), Options({})).findings
    assert [each.what for each in found if "how many GPUs" in each.why] == ([said] if said else [])
