"""Numbers that (( )) and `let` give variables in a loop: what a round is given anew is the same in each."""

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

SUMS = ("let n=(CORES+31)/32", 'let "n = ($CORES + 31) / 32"', "(( n = (CORES + 31) / 32 ))")


def _converted(line: str, around: str = "for lr in 0.1 0.2; do", **given: str) -> Conversion:
    text = f"#!/bin/bash\n#SBATCH -t 60 --gpus-per-node=4\n{around}\n{line}\n"
    text += "srun --mpi=none -N $n -n $n ./t --lr $lr\ndone\n"
    return convert(classified({"go.sh": text}), Options(given))


@pytest.mark.parametrize("line", [*SUMS, "n=$(( (CORES + 31) / 32 ))"])
def test_a_number_that_each_round_is_given_anew_is_known(line: str) -> None:
    job = script_cases.loaded(_converted(f"CORES=40\n{line}").job)
    assert (job["nodes"], job["ranks_per_node"]) == ("2", "1")


@pytest.mark.parametrize("line", ["let n=n*2", "(( n *= 2 ))", "(( n = k, k++ ))", "let n=k++"])
def test_a_number_that_a_round_makes_of_the_one_before_is_asked_for(line: str) -> None:
    job = script_cases.loaded(_converted(line, "n=1\nk=1\nfor lr in 0.1 0.2; do").job)
    assert job["nodes"] == script_cases.ASK


@pytest.mark.parametrize("line", SUMS)
def test_the_line_of_a_number_that_is_not_known_is_not_said_to_have_no_effect(line: str) -> None:
    found = _converted(line)
    (nodes,) = (each for each in found.findings if each.key == "nodes")
    assert "CORES" in nodes.why
    assert "nothing gives n" not in nodes.why
    of_line = [each for each in found.findings if any(place.line == 4 for place in each.places)]
    assert not any(each.kind == "without effect" for each in of_line)
