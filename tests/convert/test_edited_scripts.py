"""A script that another one changes in place before it submits it."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_JOB = """#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=8
#SBATCH --gres=gpu:8
#SBATCH -t 1:00
export SEED=1
srun --mpi=pmix ./x
"""


def _converted(*lines: str) -> Conversion:
    text = "\n".join(("#!/bin/bash", *lines, "")).replace("IN", "sed -i")
    return convert(classified({"sub.sh": text, "job.sh": _JOB}), Options({}))


def _asked(found: Conversion) -> set[str]:
    return {each.key for each in found.findings if each.kind == "question" and each.key}


@pytest.mark.parametrize(
    ("edit", "asked"),
    [
        ('IN "s/-t .*/-t $1/" job.sh', {"time"}),
        ('IN -e "s|gpu:[0-9]*|gpu:$1|; s/^#SBATCH -N 2/#SBATCH -N $1/" ./job.sh', {"nodes", "gpus_per_node"}),
        ('IN.bak -E "3s/[0-9]+/$1/" job.sh', {"gpus_per_node"}),
        ('sed --in-place --expression="/SBATCH -t/c #SBATCH -t $1" job.sh', {"time"}),
        ('perl -pi -e "s/GPU:8/gpu:$1/i" job.sh', {"gpus_per_node"}),
        ('IN "s/$OLD/$NEW/" job.sh', {"nodes", "gpus_per_node", "time"}),
        ("IN -f more.sed job.sh", {"nodes", "gpus_per_node", "time"}),
        ('for T in 1 2; do IN "s/-t .*/-t $T/" job.sh; sbatch job.sh; done', {"time"}),
    ],
)
def test_what_a_changed_line_asks_for_is_not_told(edit: str, asked: set[str]) -> None:
    found = _converted(edit, "sbatch job.sh")
    assert asked <= _asked(found) <= asked | {"ranks_per_node"}
    job = loaded(found.job)
    assert all(job[each] == ASK for each in asked)


@pytest.mark.parametrize(
    "edit",
    [
        'IN "s/-t 5/-t $1/" job.sh',
        'IN "4s/gpu/$1/" job.sh',
        'IN "/^SBATCH/d" job.sh',
        'IN "s/-t .*/-t $1/" other.sh',
        'sed "s/-t .*/-t $1/" job.sh',
    ],
)
def test_what_changes_no_line_of_it_asks_nothing(edit: str) -> None:
    found = _converted(edit, "sbatch job.sh")
    assert _asked(found) == set()
    assert all("is read as it was given" not in each.why for each in found.findings)


def test_of_other_lines_is_said_that_the_given_script_is_read() -> None:
    found = _converted('IN "s/SEED=.*/SEED=$1/" job.sh', "sbatch job.sh")
    said = [each for each in found.findings if "is read as it was given" in each.why]
    assert [(each.kind, [place.line for place in each.places]) for each in said] == [("question", [2, 5])]
