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


@pytest.mark.parametrize(
    ("lines", "given"),
    [
        ("FLOUR=$MILL\nexport WIDTH=${FLOUR:-rye}", ""),
        ("FLOUR=${MILL}\n: ${FLOUR:=rye}\nexport WIDTH=$FLOUR", ""),
        ("FLOUR=$MILL\nif [ -z $FLOUR ]; then FLOUR=rye; fi\nexport WIDTH=$FLOUR", ""),
        ('FLOUR="$MILL"\n[[ -n "$FLOUR" ]] || FLOUR=rye\nexport WIDTH=$FLOUR', ""),
        ("MILL=$MILL\nexport WIDTH=${MILL:-rye}", ""),
        ("FLOUR=$MILL\nexport WIDTH=${FLOUR:-rye}", "oats"),
    ],
)
def test_a_default_of_a_variable_that_has_another_one_s_value_counts(lines: str, given: str) -> None:
    text = f"{_HEAD}{lines}\nsrun --mpi=none ./t\n"
    found = convert(classified({"run.sub": text}), Options({"MILL": given} if given else {}))
    assert f"WIDTH: {given or 'rye'}" in found.job
    assert ("MILL" in [each.what for each in found.findings if each.kind == "assumed"]) is (not given)
    assert "inherit" not in found.job or "MILL=$MILL" in lines


def test_what_the_script_does_not_go_on_without_is_no_default_of_its_copy() -> None:
    text = f"{_HEAD}: ${{MILL:?which one}}\nFLOUR=$MILL\nexport WIDTH=${{FLOUR:-rye}}\nsrun --mpi=none ./t\n"
    assert "rye" not in convert(classified({"run.sub": text}), Options({})).job


def test_a_default_counts_where_who_submits_gives_what_nobody_gave() -> None:
    files = {
        "submit.sh": '#!/bin/bash\nsbatch -N 1 job.sbatch "$MILL"\n',
        "job.sbatch": f"{_HEAD}srun --mpi=none ./t ${{1:-rye}}\n",
    }
    found = convert(classified(files), Options({}))
    assert 'command: ["./t", rye]' in found.job
    assert "MILL" in [each.what for each in found.findings if each.kind == "assumed"]


def test_what_somebody_fills_in_is_no_value_that_nobody_gave() -> None:
    text = f'{_HEAD}FLOUR="[[MILL_OF_SITE]]"\nif [[ -n "$FLOUR" ]]; then export WIDTH=$FLOUR; fi\nsrun ./t\n'
    assert "MILL_OF_SITE" in convert(classified({"run.sub": text}), Options({})).job
