"""What is said of a run that is asked for: of the loop around it, and of what stands behind it."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 --ntasks-per-node=4 -t 9\n"
_EITHER = "if [ -f ./there ]; then P=python; else P=./other; fi\n"


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": _HEAD + lines}), Options({}))


@pytest.mark.parametrize(
    ("run", "is_said"),
    [
        ("srun --mpi=none $P t.py --lr $lr", True),
        ('words="t.py --lr $lr"\nsrun --mpi=none $P $words', True),
        ("srun --mpi=none $P t.py", False),
    ],
)
def test_values_of_a_loop_are_told_where_another_reason_asks_for_the_command(run: str, is_said: bool) -> None:
    found = _converted(f"{_EITHER}for lr in 0.1 0.2 0.4; do\n{run}\nsrun --mpi=none -n 2 ./note $lr\ndone\n")
    (asked,) = (each for each in found.findings if each.key == "command" and each.kind == "question")
    said = [each for each in found.findings if "gives the command another lr" in each.why]
    assert bool(said or "lr" in asked.why) is is_said


@pytest.mark.parametrize("is_behind", [True, False])
def test_a_file_that_is_sourced_behind_the_run_sets_nothing_for_it(is_behind: bool) -> None:
    lines = ["srun --mpi=none --container-image=lab/t:1 ./t", "source /lab/tools/log.sh"]
    found = _converted("\n".join(lines if is_behind else lines[::-1]) + "\n")
    told = {each.name: each.told for each in found.launch}["environment"]
    assert ("log.sh" in told) is not is_behind


@pytest.mark.parametrize(
    ("run", "loops", "is_asked"),
    [
        ("srun --mpi=none $P t.py --lr $lr", "for lr in 0.1 0.2; do", True),
        ("srun --mpi=none ./t --lr $lr --file '<conf>'", "for n in 1 2; do for lr in 0.1 0.2; do", True),
        ("srun --mpi=none $P t.py > out.$lr", "for lr in 0.1 0.2; do", False),
        ("srun --mpi=none $P t.py", "for lr in 0.1 0.2; do", False),
    ],
)
def test_no_trials_that_run_the_same_stand_for_rounds_with_other_values(
    run: str, loops: str, is_asked: bool
) -> None:
    ends = "\ndone" * loops.count("for")
    found = _converted(f"{_EITHER}{loops}\n{run}\nsrun --mpi=none -n 2 ./note $lr{ends}\n")
    asked = [each for each in found.findings if (each.kind, each.key) == ("question", "trials.count")]
    put = [each for each in found.findings if (each.kind, each.key) == ("carried", "trials.count")]
    assert (bool(asked), bool(put)) == (is_asked, not is_asked)


def test_the_variables_of_all_loops_around_an_asked_run_are_named() -> None:
    loops = "N='1 2'\nL='0.1 0.2'\nfor n in $N; do\nfor lr in $L; do"
    found = _converted(
        f"{loops}\nsrun --mpi=none ./t -n $n --lr $lr\nsrun -n 2 ./note $lr\ndone\ndone\n"
    ).findings
    (asked,) = (each.why for each in found if (each.kind, each.key) == ("question", "command"))
    assert "${n} and ${lr} are others in each round of the loops over" in asked
