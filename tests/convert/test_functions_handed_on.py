"""Functions that a script exports (export -f) for another shell to call: what they start is found, and ranks
that call one have it in their command."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
import script_cases
from test_walk_bash import run, walk

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_WORK = 'work() { srun inside "$1" ${A-}; }\nexport -f work\n'


@pytest.mark.parametrize(
    "script",
    [
        f"{_WORK}bash -c 'work 5'",
        f"{_WORK}bash -c 'work \"$@\"' _ q w",
        f"{_WORK}export A=x; timeout 10 bash -c 'A=y; work 5'; srun ${{A-}}",
        f"{_WORK}outer() {{ work $1; }}; export -f outer; bash -c 'for i in 1; do :; done; outer 3'",
        "work() { srun inside; }\nbash -c 'work 5'; srun on",
        f"{_WORK}unset -f work; work() {{ srun other; }}\nexport -f work; bash -c work",
    ],
)
def test_another_shell_runs_what_the_function_does(script: str) -> None:
    assert walk(script, {}) == run(script, {})


_HEAD = "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=1 --gpus-per-node=1 -t 60\n"
_STEPS = (
    "work() {\n  ./t --id \"$1\"\n}\nexport -f work\nsrun --mpi=none bash -c 'work 5'",
    'a() { ./t "$@"; }\nb() { a --in "x y"; }\nc() { ./t no; }\nexport -f a b c\nsrun --mpi=none bash -c b',
    "work() { cat <<E\nin $1\nE\n}\nexport -f work\nsrun --mpi=none bash -c 'work 5; ./t end'",
)


@pytest.mark.parametrize("lines", _STEPS)
def test_ranks_that_call_one_have_it(lines: str, tmp_path: Path) -> None:
    (tmp_path / "srun").write_text('#!/bin/bash\nexec "${@:2}"\n')
    (tmp_path / "t").write_text('#!/bin/bash\nprintf "<%s>" "$@"\n')
    for name in ("srun", "t"):
        (tmp_path / name).chmod(stat.S_IRWXU)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def shown(argv: list[str]) -> str:
        done = subprocess.run(
            argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    command = script_cases.loaded(found.job)["command"]
    argv = ["/bin/sh", "-c", command] if isinstance(command, str) else command
    assert shown(argv) == shown(["bash", "-c", _HEAD + lines])
    # All lines of a function that is called are told with the command.
    (carried,) = [each for each in found.findings if each.key == "command"]
    assert {line for each in carried.places for line in range(each.line, max(each.line, each.last) + 1)} >= {
        3
    }


@pytest.mark.parametrize(
    "lines",
    [
        "work() { ./t; }\nsrun --mpi=none bash -c work",
        "work() { ./t; }\nexport -f work\nsrun --mpi=none --export=NONE bash -c work",
    ],
)
def test_a_function_that_does_not_reach_the_ranks_is_asked_about(lines: str) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    assert script_cases.loaded(found.job)["command"] == script_cases.ASK
