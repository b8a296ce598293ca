"""Variables that hold a line with a launcher, for a program that runs it."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Finding


def _of(lines: str) -> list[Finding]:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 8 --gres=gpu:0 -t 60\n{lines}\n"
    return list(convert(classified({"run.sub": text}), Options({})).findings)


def _said(lines: str) -> list[Finding]:
    return [each for each in _of(lines) if "and no key of the job counts them" in each.why]


@pytest.mark.parametrize(
    "lines",
    [
        'export WARM_COMMAND="mpirun -np 8 /opt/warm"\npython fit.py',
        'export WARM_COMMAND="srun -n 8 /opt/warm"\npython fit.py',
        'LINE="mpirun -np 8 /opt/warm"\nshifter --image=i:1 --env=WARM_COMMAND="$LINE" python fit.py',
        'LINE="mpirun -np 8 /opt/warm"\napptainer exec --env WARM_COMMAND="$LINE" i.sif python fit.py',
    ],
)
def test_the_ranks_of_a_line_that_a_program_reads_are_said_to_be_told_nowhere(lines: str) -> None:
    [said] = _said(lines)
    assert said.what.startswith("WARM_COMMAND=")
    assert said.todo


@pytest.mark.parametrize(
    "lines",
    [
        'export LAUNCHER="mpirun -np 8"\n$LAUNCHER ./fit',
        "export MPIRUN=mpirun\n./fit",
        'export WARM_COMMAND="warm --mpirun -np 8"\n./fit',
    ],
)
def test_of_what_starts_none_beside_the_run_that_is_not_said(lines: str) -> None:
    assert not _said(lines)


def test_a_variable_that_an_option_gives_the_container_is_not_taken_for_words_of_the_line_alone() -> None:
    lines = 'ARGS="--lr 1"\nshifter --image=i:1 --env=ARGS="$ARGS" python fit.py'
    assert not [each for each in _of(lines) if each.became == "words of the command"]
