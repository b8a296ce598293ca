"""Lines that look as if sbatch read them, and that it takes for comments."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_SCRIPT = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1\n{line}\nsrun ./app\n"


def _said(line: str) -> list[tuple[str, int]]:
    found = convert(classified({"run.sub": _SCRIPT.format(line=line)}), Options({}))
    return [(each.what, each.places[0].line) for each in found.findings if "for a comment" in each.why]


@pytest.mark.parametrize("mark", ["BATCH", "SBTACH", "SBACH", "SSBATCH", "sbatch", "SBATCHS"])
def test_a_misspelt_mark_is_a_defect(mark: str) -> None:
    assert _said(f"#{mark} --time=1:00:00") == [(f"#{mark} --time=1:00:00", 3)]


@pytest.mark.parametrize(
    "line",
    [
        "#SBATCH --time=1:00:00",
        "##SBATCH --time=1:00:00",  # as people switch one off
        "# SBATCH --time=1:00:00",
        "#PBS -l walltime=1:00:00",
        "#BATCH of inputs",
        "#PATCH - see below",
        "hostname\n#BATCH -N 2",  # sbatch would not read it here as it should be, either
    ],
)
def test_other_comments_are_none(line: str) -> None:
    assert _said(line) == []
