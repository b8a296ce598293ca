"""Scripts of which the values tell that they end before their run, and tests that bash itself fails."""

from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 -t 60\n"


def _of(text: str) -> Conversion:
    return convert(classified({"run.sub": text}), Options({}))


def _job(lines: str) -> dict[str, Any]:
    return script_cases.loaded(_of(f"{_HEAD}{lines}\n").job)


@pytest.mark.parametrize("starts", ["srun --mpi=none ./t", "mpirun ./t", "torchrun t.py"])
def test_where_the_script_ends_before_its_run_is_told(starts: str) -> None:
    found = _of(f"{_HEAD}if (( 8 % 3 )); then\n  exit 1\nfi\n{starts}\n")
    (asked,) = (each for each in found.findings if each.key == "command")
    assert "run.sub:4" in asked.why
    assert "--env" in asked.todo


@pytest.mark.parametrize(
    ("made", "line"),
    [
        ("ALL=(torchrun --nproc_per_node 2 fit.py)", '"${ALL[@]}"'),
        ("ALL=(mpirun -np 2 ./fit)", '"${ALL[@]}" > >(tee fit.log) 2>&1 &'),
        ('ALL="docker run lab/fit:2 ./fit"', "exec $ALL"),
    ],
)
def test_a_launcher_put_together_before_the_end_is_told_to_be_behind_it(made: str, line: str) -> None:
    guard = 'SURE="${SURE:-no}"\nif [[ "$SURE" != yes ]]; then\n  exit 0\nfi'
    found = _of(f"#!/bin/bash\n{made}\n{guard}\n{line}\n")
    assert found.refused == "with the values that its variables have the script ends at `exit 0` (run.sub:5)"
    for other in ("FOUND=(ls fit)\n", ""):
        refused = _of(f'#!/bin/bash\n{made}\n{other}{guard}\n"${{FOUND[@]}}"\n').refused
        assert "the script ends" not in refused


def test_a_script_that_ends_before_it_submits_another_is_refused_with_that_line() -> None:
    text = "#!/bin/bash\nif (( 8 % 3 )); then exit 1; fi\nsbatch <<E\n#!/bin/bash\nsrun ./t\nE\n"
    assert "run.sub:2" in _of(text).refused


@pytest.mark.parametrize(
    "lines",
    [
        'KNEAD=(torchrun --nproc_per_node 2 knead.py)\nEND\n"${KNEAD[@]}" > log 2>&1 &\nwait',
        "KNEAD='/opt/mpi/bin/mpirun -np 2 ./knead'\nEND\n$KNEAD",
    ],
)
def test_a_launcher_in_a_variable_behind_the_end_is_not_said_to_be_none(lines: str) -> None:
    end = 'BAKE="${BAKE:-0}"\nif [ "$BAKE" != 1 ]; then exit 0; fi'
    text = f"#!/bin/bash\n{lines}\n".replace("END", end)
    found = _of(text)
    assert found.refused.endswith("the script ends at `exit 0` (run.sub:4)")
    of_run = [each.why for each in found.findings if 5 in [place.line for place in each.places]]
    assert of_run == ["the script does not come to it with the values that its variables have"]
    other = text.replace("torchrun", "./mix").replace("mpirun", "mix")
    assert "nothing in it starts ranks" in _of(other).refused


@pytest.mark.parametrize(
    ("lines", "by"),
    [
        ('BOWL="${2:-}"\nif [[ -z "$BOWL" ]]; then\n  echo "Usage: $0 [spoons]"\n  exit 1\nfi', "--args"),
        ('[ -n "${1:-}" ] || exit 1', "--args"),
        ('BOWL="${2:-}"\nif (( 8 % 3 )); then exit 1; fi', "--env"),
    ],
)
@pytest.mark.parametrize("head", ["", _HEAD])
def test_a_script_that_ends_for_want_of_its_arguments_asks_for_them(lines: str, by: str, head: str) -> None:
    todo = [each.todo for each in _of(f"{head}{lines}\nmpirun -np 4 ./t\n").findings if "--" in each.todo]
    assert [each for each in todo if f"again with {by}" in each]
    assert not [each for each in todo if "the test" in each and by not in each]


@pytest.mark.parametrize("operator", ["||", "&&"])
def test_a_test_that_an_operator_of_the_shell_cuts_off_fails_as_in_bash(operator: str) -> None:
    lines = f'if [ -z "$W" {operator} -z "$Y" ]; then\n  exit 1\nfi\nsrun --mpi=none ./t'
    assert _job(lines)["command"] == ["./t"]


def test_a_name_that_another_script_puts_in_is_asked_for() -> None:
    text = "#!/bin/bash\nsbatch <<EOF\n#!/bin/bash\n#SBATCH -N 2 -J ${RUN_NAME}\nsrun --mpi=none ./t\nEOF\n"
    assert "name" in {each.key for each in _of(text).findings if each.kind == "question"}


def test_a_secret_of_the_ranks_text_is_not_to_be_inherited() -> None:
    lines = "srun --mpi=none --container-image=a/b:1 bash -c './t $WANDB_API_KEY $OTHER'"
    advice = {each.todo.partition("it to ")[2] for each in _of(f"{_HEAD}{lines}\n").findings}
    assert {"`secrets`: [WANDB_API_KEY]", "`inherit`: [OTHER]"} <= advice


def test_the_exit_at_the_end_of_a_written_script_is_before_nothing() -> None:
    inner = "#!/bin/sh\n#SBATCH -N 2 -n 4 -t 60\nrm -f done\nlook-at x\ncount y\nexit\n"
    found = _of(f"#!/bin/bash\ncat > j.sh <<E\n{inner}E\nsbatch j.sh\n")
    (asked,) = (each for each in found.findings if each.key == "command")
    assert asked.why == "what each rank executes: no line is known to start any"


def test_where_srun_only_looks_at_the_nodes_that_is_said() -> None:
    found = _of(f"{_HEAD}module list\nsrun hostname -s\n")
    (asked,) = (each for each in found.findings if each.key == "command")
    assert "srun hostname -s" in asked.why
    assert asked.places[0].line == 4


_FOR_ITS_ARGUMENT = 'if [ -z "${1:-}" ]; then\n  echo "which field?"\n  exit 2\nfi\n'
_REAPED = (
    "srun --mpi=pmi2 --cpu-bind=cores --container-image=farm/reap:3 --container-mounts=/barn:/barn:ro ./reap"
)


@pytest.mark.parametrize(
    ("lines", "unknown"),
    [
        (f"export SCYTHE=long\n{_REAPED}", {"image", "mounts", "environment", "mpi", "binding"}),
        ("srun apptainer exec --bind /barn:/barn reap.sif ./reap", {"image", "mounts"}),
        ("if [ -d barn ]; then\n  export SCYTHE=long\nfi\nsrun ./reap", {"environment"}),
        ("srun ./reap # --container-image is for the barn alone", set()),
    ],
)
def test_what_stands_behind_the_end_of_a_script_is_not_said_to_be_none(lines: str, unknown: set[str]) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:2 -t 45\n"
    launch = _of(f"{head}{_FOR_ITS_ARGUMENT}{lines}\n").launch
    doubted = [each for each in launch if each.state == "not determined"]
    assert {each.name for each in doubted} == unknown
    assert all("behind its `exit`" in each.told and each.places[-1].line > 5 for each in doubted)


def test_what_stands_behind_an_end_after_the_run_is_not_the_launchs() -> None:
    launch = _of(f"{_HEAD}srun --mpi=none ./sow\nexit 0\nexport SCYTHE=long\n{_REAPED}\n").launch
    assert {each.state for each in launch} <= {"told", "default"}


def test_what_is_exported_on_both_sides_of_the_end_is_told_and_in_doubt() -> None:
    lines = f"export SICKLE=short\n{_FOR_ITS_ARGUMENT}export SCYTHE=long\nsrun ./reap\n"
    (found,) = (each for each in _of(f"{_HEAD}{lines}").launch if each.name == "environment")
    assert found.told == "SICKLE; not determined: what lines behind its `exit` say"
    assert [place.line for place in found.places] == [3, 8]


@pytest.mark.parametrize(
    ("body", "goes_on"),
    [
        ("if mkdir lock; then return 0; fi; exit 1", True),
        ("[ -f ready ] && return; echo no; exit 1", True),
        ("for i in 1 2 3; do ping -c 1 n$i && return; done; exit 1", True),
        ("echo no; exit 1", False),
        ("if mkdir lock; then echo yes; fi; exit 1", False),
    ],
)
def test_a_function_that_may_come_back_before_its_exit_does_not_end_the_script(
    body: str, goes_on: bool
) -> None:
    text = f"#!/bin/bash\nlocked() {{ {body}; }}\nlocked\ntorchrun --nproc_per_node 4 train.py\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert bool(found.job) == goes_on


@pytest.mark.parametrize("run", ["python train.py $CORPUS", "bash steps/all.sh", "./fit --corpus $CORPUS"])
def test_a_run_without_a_launcher_behind_the_end_of_the_script_is_told_of_it(run: str) -> None:
    guard = 'CORPUS="${1:-none}"\nif [ "$CORPUS" = none ]; then\n  exit 1\nfi\n'
    (asked,) = (each for each in _of(f"{_HEAD}{guard}{run}\n").findings if each.key == "command")
    assert "the script ends at `exit 1`" in asked.why
    assert "--args" in asked.todo
