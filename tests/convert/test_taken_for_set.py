"""What a script makes of a variable where it is set, and nobody says whether it is."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -t 5 -N 1 --ntasks-per-node=2 --gpus-per-node=2\n"


@pytest.mark.parametrize(
    ("lines", "given", "told"),
    [
        ('srun --mpi=none ./x "$RUN" ${RUN:+--resume}', {}, True),
        ('ARGS="${RUN+--resume}"\nsrun --mpi=none ./x $RUN $ARGS', {}, False),  # it is read as unset there
        ('ARGS="${RUN+--resume}"\nsrun --mpi=none ./x $RUN $ARGS ${RUN:+-r}', {}, True),
        ('srun --mpi=none ./x "$RUN" ${RUN:+--resume}', {"RUN": ""}, False),
        ("RUN=1\nsrun --mpi=none ./x $RUN ${RUN:+--resume}", {}, False),
        ("# ${RUN:+--resume}\nsrun --mpi=none ./x $RUN", {}, False),
        ("srun --mpi=none ./x $LIB_PATH ${LIB_PATH:+:$LIB_PATH}", {}, False),
    ],
)
def test_what_stands_for_a_variable_that_may_be_unset_is_said(
    lines: str, given: dict[str, str], told: bool
) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options(given))
    said = [each for each in found.findings if each.became == "set, and not empty"]
    assert bool(said) == told


@pytest.mark.parametrize("head", ["#$ -v RUN", "#PBS -v A=1,RUN"])
def test_one_that_is_handed_on_and_taken_for_unset_is_not_said_to_be_set(head: str) -> None:
    text = f"#!/bin/bash\n{head}\nX=${{RUN:+$RUN/}}x\nY=${{RUN:+$RUN/}}y\nmpirun -np 2 $X $Y\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert [each.became for each in found.findings if each.what == "RUN"] == ["not set"]
    assert any(each.became == "inherit.0: RUN" for each in found.findings)


_SHOWN = (
    'echo "the glaze is $GLAZE"',
    "printf '%s\\n' \"$GLAZE\" >&2",
    'echo "the glaze is $GLAZE"\ncat <<EOT\n  --glaze $GLAZE\nEOT',
)


@pytest.mark.parametrize("shown", _SHOWN)
@pytest.mark.parametrize(
    "test",
    ['[ -z "$GLAZE" ]', "! [ $GLAZE ]", "[[ ! -n $GLAZE ]]"],
)
def test_what_a_script_only_shows_is_not_taken_for_set(shown: str, test: str) -> None:
    then = "then export KILN=low; else export KILN=high; fi"
    lines = f"{shown}\nif {test}; {then}"
    found = convert(classified({"fire.sh": f"#!/bin/bash\n{lines}\nmpirun -np 2 ./fire\n"}), Options({}))
    assert "KILN: low" in found.job
    assert [each.became for each in found.findings if each.what == "GLAZE"] == ["not set"]


@pytest.mark.parametrize(
    "used",
    [
        'echo "$GLAZE" > glaze.txt',
        'echo "$GLAZE" | ./mix',
        'MIX=$(echo "$GLAZE")\n./mix "$MIX"',
        './mix "$GLAZE"',
    ],
)
def test_what_a_script_makes_something_of_is_taken_for_set(used: str) -> None:
    lines = f'{used}\nif [ -z "$GLAZE" ]; then export KILN=low; else export KILN=high; fi'
    found = convert(classified({"fire.sh": f"#!/bin/bash\n{lines}\nmpirun -np 2 ./fire\n"}), Options({}))
    assert "KILN: high" in found.job


@pytest.mark.parametrize("test", ['[ -z "$GLAZE" ]', "[[ ! -n $GLAZE ]]"])
def test_a_test_by_what_another_line_needs_is_said_to_take_it_for_set(test: str) -> None:
    lines = f"./mix $GLAZE\nif {test}; then export KILN=low; else export KILN=high; fi"
    found = convert(classified({"fire.sh": f"#!/bin/bash\n{lines}\nmpirun -np 2 ./fire\n"}), Options({}))
    assert "KILN: high" in found.job
    (said,) = [each for each in found.findings if each.what == "GLAZE"]
    assert (said.became, said.places[0].line) == ("set, and not empty", 3)


@pytest.mark.parametrize("words", ["./fire ${GLAZE:+--glaze}", 'bash -c "./fire ${GLAZE:+--glaze}"'])
def test_what_only_another_variable_got_is_not_taken_for_set(words: str) -> None:
    text = f'{_HEAD}OLD="$GLAZE"\nsrun --mpi=none {words}\n'
    found = convert(classified({"fire.sub": text}), Options({}))
    assert "--glaze" not in found.job
    assert [each.became for each in found.findings if each.what == "GLAZE"] == ["not set"]


@pytest.mark.parametrize("name", ["SLURM_PARTITION", "SLURM_TIMELIMIT", "TEAM"])
def test_a_variable_by_which_srun_takes_an_option_is_said_to_be_taken_for_unset(name: str) -> None:
    text = f'#!/bin/bash\n#SBATCH -N 1 -t 5\nA=(-n1)\n[ -n "${{{name}}}" ] && A+=(-p ${name})\n'
    text += 'srun "${A[@]}" --mpi=none ./t\n'
    found = convert(classified({"run.sub": text}), Options({}))
    (told,) = [each for each in found.findings if each.what == name]
    assert (told.kind, told.became, told.why) == ("assumed", "not set", "nobody gave it")
