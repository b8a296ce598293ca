"""Tests that the shell takes for none, as a blank is missing in them: bash itself says whether they hold."""

import subprocess

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 60\nGRAIN=1\n"


@pytest.mark.parametrize(
    "test",
    [
        '["$GRAIN" -eq 1]',
        '["$GRAIN" -eq 1 ]',
        '[ "$GRAIN" -eq 1]',
        '[ "$GRAIN" -eq 1 ]',
        "[[ $GRAIN == [1] ]]",
        '[ "[1]" = "[$GRAIN]" ]',
        "[ 1 = 1 ]",
    ],
)
def test_one_that_never_holds_is_a_defect(test: str) -> None:
    line = f"if {test}; then echo holds; fi"
    ran = subprocess.run(["bash", "-c", f"GRAIN=1\n{line}"], capture_output=True, text=True, timeout=60)
    found = convert(classified({"run.sub": f"{_HEAD}{line}\nsrun --mpi=none ./till\n"}), Options({}))
    said = [each for each in found.findings if each.kind == "defect" and "a blank is missing" in each.why]
    assert [each.places[0].line for each in said] == ([] if "holds" in ran.stdout else [4])
