"""A variable that nobody gave, with another default on each of several lines."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Finding

_HEAD = "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=1 --gpus-per-node=1 -t 60\n"


def _assumed(lines: str, name: str) -> Finding:
    text = f"{_HEAD}{lines}\nsrun ./t $WIDTH\n"
    findings = convert(classified({"run.sub": text}), Options({})).findings
    return next(each for each in findings if (each.kind, each.what) == ("assumed", name))


def test_all_of_them_are_told_with_their_lines() -> None:
    lines = (
        ': "${KILN:?which one?}"\nif [ "$KILN" = small ]; then\n  export WIDTH=${WIDTH:-4}\nelse\n'
        "  export WIDTH=${WIDTH:-8}\nfi"
    )
    said = _assumed(lines, "WIDTH")
    assert said.became == "its defaults, each where it stands: 4, 8"
    assert [each.line for each in said.places] == [5, 7]


@pytest.mark.parametrize("lines", ["A=${WIDTH:-4}", "A=${WIDTH:-4}\nB=${WIDTH:-4}"])
def test_one_of_all_lines_is_told_alone(lines: str) -> None:
    said = _assumed(lines, "WIDTH")
    assert said.became == "its default: 4"
    assert [each.line for each in said.places] == [3]
