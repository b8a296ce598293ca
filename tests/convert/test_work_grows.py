"""Twice the text is at most twice the work, and a little: counted in lines of Python that are executed, not
in seconds, so that it is the same on every machine."""

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8\n"
_RUN = "srun --mpi=none --ntasks-per-node=8 --container-image=a.io/b:1 ./t\n"
_DOCKER = "#!/bin/bash\ndocker run --gpus all {}a.io/b:1 mpirun -np 8 ./t\n"
_POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n"
_POD += "  - name: c\n    image: a.io/b:1\n    command: [./t]\n{}"
_OWN = f"{os.sep}hpclaunch{os.sep}"
_MOST = 2.25  # what is sorted grows by a little more than twice
_LINES = 120
_MANY = {"questions": 400}  # with fewer the search for each among all others is not seen


def _lines(line: str) -> Callable[[int], str]:
    """A launcher with that line so many times, # being its number, before the run."""
    return lambda count: _HEAD + "".join(line.replace("#", str(n)) + "\n" for n in range(count)) + _RUN


TEXTS: dict[str, Callable[[int], str]] = {
    "exports": _lines("export V#=x#"),
    "defaults": _lines("export V#=${W#:-x}"),
    "variables of others": _lines("export V#=$W#"),
    "exports without a value, and arguments": lambda n: _lines("export V#")(n).replace("./t", "./t $@"),
    "exports behind a source": lambda n: _lines("export V#")(n).replace("export V0\n", "source x.sh\n"),
    "questions": _lines("[ $a = 1 ]&&export V#=1"),
    "questions with two answers": _lines('if [ "$X#" = a ]; then export V#="$Y#"; else V#=b; fi'),
    "a chain": lambda count: _lines("export V#=$V#x")(count).replace("x\n", "\n"),
    "steps": _lines("srun --ntasks-per-node=1 mkdir -p /raid/#"),
    "runs": _lines("srun --mpi=none --ntasks-per-node=8 --container-image=a.io/b:1 ./t#"),
    "functions": _lines("f#() { echo #; }; f#"),
    "commands of the host": _lines("cp a# b#"),
    "conditions": _lines("if [ -f a# ]; then echo #; else exit #; fi"),
    "files and submissions": _lines("cat > a#.txt <<E\nx\nE\nsbatch r#.sh"),
    "written and submitted": _lines("cat > r#.sh <<E\n#!/bin/bash\nsrun ./t #\nE\nsbatch r#.sh"),
    "tees": _lines("echo # | tee -a log#"),
    "secrets": _lines("export A#_TOKEN=Hunter2secret#"),
    "directives": _lines("#SBATCH --comment=x"),
    "sources": _lines("source x#.sh"),
    "sources and exports": _lines("source x#.sh\nexport V#=1"),
    "exports and steps": lambda n: (
        _HEAD + "".join(f"export V{i}=1\n" for i in range(n)) + "srun -n 1 -N 1 ./s\n" * n + _RUN
    ),
    "options of srun": lambda n: _HEAD + _RUN.replace("--mpi", f"{'-v ' * n}--mpi"),
    "comments": _lines("# words and words"),
    "mounts": lambda n: (
        _HEAD + _RUN.replace("./t", f"--container-mounts={','.join(f'/a{i}:/b{i}' for i in range(n))} ./t")
    ),
    "words": lambda n: _HEAD + _RUN.replace("./t", "./t " + " ".join(f"--a{i} $A{i}" for i in range(n))),
    "docker's variables": lambda n: _DOCKER.format("".join(f"-e A{i}=b{i} " for i in range(n))),
    "docker's mounts": lambda n: _DOCKER.format("".join(f"-v /a{i}:/b{i} " for i in range(n))),
    "mpirun's variables": lambda n: (
        _HEAD + "mpirun -np 16 " + "".join(f"-x A{i}=b " for i in range(n)) + "./t\n"
    ),
    "a pod's variables": lambda n: _POD.format(
        "    env:\n" + "".join(f"    - {{name: A{i}, value: b}}\n" for i in range(n))
    ),
    "unknown keys": lambda n: _POD.format("".join(f"    a{i}: {i}\n" for i in range(n))),
}


def _work(text: str) -> int:
    """How many lines of hpclaunch's own code are executed, each round of a loop anew."""
    count = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return line

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return line(frame, event, argument) if _OWN in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        convert(classified({"given": text}), Options({}))
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", TEXTS)
def test_twice_the_text_is_no_more_than_twice_the_work(name: str) -> None:
    make = TEXTS[name]
    convert(classified({"given": make(2)}), Options({}))  # what is loaded or made once
    count = _MANY.get(name, _LINES)
    once, twice = _work(make(count)), _work(make(2 * count))
    assert once > count
    assert twice <= _MOST * once, (once, twice, twice / once)


@pytest.mark.parametrize(
    ("line", "what"), [("cp a# b#", "commands"), ("export V#=$W#", "variables"), ("export V#", "variables")]
)
def test_what_no_launcher_has_so_many_of_is_refused_with_that_reason(line: str, what: str) -> None:
    found = convert(classified({"run.sub": _lines(line)(10_001)}), Options({}))
    assert what in found.refused
    assert not found.job
    assert convert(classified({"run.sub": _lines(line)(100)}), Options({})).job


def test_commands_of_the_shell_s_own_may_be_more_but_not_any_number() -> None:
    assert convert(classified({"run.sub": _lines("echo #")(10_001)}), Options({})).job
    assert "commands" in convert(classified({"run.sub": _lines("echo #")(30_001)}), Options({})).refused
