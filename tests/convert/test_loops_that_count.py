"""Loops of `while` and `until` around the run: the trials or points of the job give the ranks the words that
bash, run for real, gives them in each round."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Place

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_RUN = "srun --mpi=none ./t --n $i"


def _rounds(text: str) -> list[dict[str, str]]:
    """The variables that each start of the job's command has."""
    job = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)
    command = job["command"]
    assert command != script_cases.ASK
    shell = command if isinstance(command, str) else " ".join(command)
    if "sweep" in job:
        (key, values), *_ = job["sweep"]["grid"].items()
        return [{"TEXT": shell, key.removeprefix("env."): value} for value in values]
    count = int(job["trials"]["count"]) if "trials" in job else 1
    return [{"TEXT": shell, "HPCLAUNCH_TRIAL": str(number + 1)} for number in range(count)]


@pytest.mark.parametrize(
    "lines",
    [
        f"i=0; while [ $i -lt 3 ]; do\n((i++))\n{_RUN}\ndone",
        f"i=0; while (( i < 4 )); do\ni=$((i+2))\n{_RUN}\ndone",
        f"i=0; until [ $i -ge 3 ]; do\n{_RUN}\nlet i+=1\ndone",
        f"i=5; while [ $i -gt 1 ]; do\n((i--))\ntrue\n{_RUN}\ndone",
        f"i=7; while true; do\n{_RUN}\nbreak\ndone",
        f"i=0; while ((i++ < 3)); do\n{_RUN}\ndone",
        f"i=0; while ((++i < 3)); do\n{_RUN}\ndone",
        f"i=4; while ((i--)); do\n{_RUN}\ndone",
        f"i=4; N=1; until ((--i <= $N)); do\n{_RUN}\ntrue\ndone",
        f"i=7; while :; do\n{_RUN}\nbreak\ndone",
    ],
)
def test_each_round_has_the_number_that_it_had(lines: str, tmp_path: Path) -> None:
    Path(tmp_path, "srun").write_text('#!/bin/bash\necho "${@:2}" >> shown\n')
    Path(tmp_path, "srun").chmod(stat.S_IRWXU)
    Path(tmp_path, "t").write_text('#!/bin/bash\necho "$0" "$@"\n')
    Path(tmp_path, "t").chmod(stat.S_IRWXU)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-c", _HEAD + lines], cwd=tmp_path, env=environment, check=False, timeout=60)
    shown = [
        subprocess.run(
            ["/bin/sh", "-c", given.pop("TEXT")],
            cwd=tmp_path,
            env={**environment, **given},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for given in _rounds(_HEAD + lines + "\n")
    ]
    assert "".join(shown) == Path(tmp_path, "shown").read_text()


@pytest.mark.parametrize(
    "lines",
    [
        f"i=0; while [ $i -lt 3 ]; do\n((i++))\n{_RUN}\n((i++))\ndone",
        f"i=0; while [ $i -lt 3 ]; do\n[ -f x ] && ((i++))\n{_RUN}\ndone",
    ],
)
def test_rounds_that_nothing_tells_are_asked_for(lines: str) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    assert script_cases.loaded(found.job)["trials"]["count"] == script_cases.ASK


@pytest.mark.parametrize("count", ["turn=$(( $turn + 1 ))", "(( turn++ ))", "let turn+=1"])
def test_the_line_that_counts_at_the_head_of_a_round_is_not_said_to_be_passed_by(count: str) -> None:
    lines = f"turn=0\nwhile [ $turn -lt 3 ]; do\n{count}\nsrun --mpi=none ./t --n $turn\ndone\n"
    found = convert(classified({"run.sub": _HEAD + lines}), Options({})).findings
    assert {each.kind for each in found if Place("run.sub", 5) in each.places} == {"carried"}


@pytest.mark.parametrize(
    "lines",
    [
        "for turn in $(seq 1 3); do\nexport turn\nsrun --mpi=none ./t\ndone",
        "export turn\nfor ((turn=1; turn<=3; turn++)); do\nsrun --mpi=none ./t\ndone",
        "export turn=0; while [ $turn -lt 3 ]; do\n((turn++))\nsrun --mpi=none ./t\ndone",
    ],
)
def test_a_counter_that_is_exported_is_the_number_of_the_trial(lines: str) -> None:
    job = script_cases.loaded(convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({})).job)
    assert job["command"] == 'export turn="$HPCLAUNCH_TRIAL"; exec ./t'
    assert "inherit" not in job
