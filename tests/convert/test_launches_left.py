"""Launches that are no part of the job are told as what starts ranks, of whatever size and however many."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion


def _converted(lines: list[str]) -> Conversion:
    return convert(classified({"run.sh": "\n".join(["#!/bin/bash", *lines, ""])}), Options({}))


def _why(found: Conversion, line: int) -> list[str]:
    its = [each for each in found.findings if each.kind == "left"]
    return [each.why for each in its if any(p.line <= line <= max(p.last, p.line) for p in each.places)]


@pytest.mark.parametrize("one", ["mpiexec -n 1 ./flow s", "mpirun -np 1 python3 flow.py s"])
def test_a_launch_of_one_rank_is_told_to_start_ranks(one: str) -> None:
    found = _converted([one, "mpirun -np 2 ./flow m", "mpirun -np 4 ./flow l"])
    for line in (2, 3):
        (why,) = _why(found, line)
        assert why.startswith("it starts ranks of its own")


def test_the_earliest_of_many_launches_are_told_to_start_ranks() -> None:
    found = _converted([f"mpirun -np {n} ./flow of_{n}" for n in range(2, 72)])
    assert [each.what for each in found.findings if "which is the job's run" in each.why] == [
        "70 commands start ranks"
    ]
    whole = [(line, why) for line in range(2, 71) for why in _why(found, line) or [""]]
    assert all(why.startswith("it starts ranks of its own") for _, why in whole), whole


def test_what_only_helps_by_mpirun_is_not_said_to_be_a_run() -> None:
    found = _converted(["mpirun -np 1 hostname", "mpirun -np 4 ./flow l"])
    assert not any("starts ranks of its own" in each.why for each in found.findings)
