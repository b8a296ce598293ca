"""A loop over an array that nothing gives a value has no round, and what is in it is not run."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 1 -n 1 -t 5 --gpus-per-node=1\n"
_LOOP = 'for w in "${widths[@]}"; do\n  srun ./fit --width "$w"\ndone\n'


def _said(lines: str, options: Options | None = None, **files: str) -> list[int]:
    texts = {"run.sub": f"{_HEAD}{lines}", **{f"{name}.sh": text for name, text in files.items()}}
    found = convert(classified(texts), options or Options({}))
    defects = (each for each in found.findings if each.kind == "defect")
    return [each.places[0].line for each in defects if each.what == 'a loop over "${widths[@]}"']


@pytest.mark.parametrize("before", ["", "rates=(1 2)\n", "echo ${#widths[@]}\n"])
def test_a_loop_over_an_array_that_no_line_sets_is_a_defect(before: str) -> None:
    assert _said(f"{before}{_LOOP}") == [3 + before.count("\n")]


@pytest.mark.parametrize(
    "before",
    [
        "widths=(1 2)\n",
        "mapfile -t widths < list\n",
        "for i in 1 2; do widths+=($i); done\n",
        "IFS=, read -ra widths <<< $1\n",
        "source settings.sh\n",  # which is not given
        "eval $MORE\n",
    ],
)
def test_one_that_may_be_set_is_none(before: str) -> None:
    assert _said(f"{before}{_LOOP}") == []


def test_one_that_another_input_or_the_operator_sets_is_none() -> None:
    assert _said(f". ./more.sh\n{_LOOP}", more="widths=(1 2)\n") == []
    assert _said(_LOOP, Options({"widths": "3"})) == []
