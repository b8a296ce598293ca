"""How a question shows the words of a command that is asked for."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('srun timeit -f "real %e user" ./fit <conf>', 'timeit -f "real %e user" ./fit '),
        ("srun timeit -f 'a \"b\" c' ./fit <conf>", "timeit -f 'a \"b\" c' ./fit "),
        ("srun ./fit --name '' <conf>", './fit --name "" '),
        ("srun ./fit --lr 0.1 <conf>", "./fit --lr 0.1 "),
    ],
)
def test_words_with_blanks_stand_in_quotes(line: str, shown: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 2 --gres=gpu:2 -t 9\n{line}\n"
    found = convert(classified({"run.sub": text}), Options({})).findings
    (asked,) = (each.why for each in found if (each.kind, each.key) == ("question", "command"))
    assert asked.startswith(f"what each rank executes: {shown}")
