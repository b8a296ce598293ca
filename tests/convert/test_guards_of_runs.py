"""Lines that end a script before its run where a file or a program is not as it should be."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_RUN = "\nsrun --mpi=none ./t\n"


def _guards(lines: str) -> list[str]:
    found = convert(classified({"run.sub": _HEAD + lines + _RUN}), Options({}))
    return [each.what for each in found.findings if each.kind == "left" and "guards" in each.what]


@pytest.mark.parametrize(
    "guard",
    [
        "[ -f missing.dat ] || exit 1",
        "if [ ! -f missing.dat ]; then echo no; exit 2; fi",
        "test -d missing || { echo no; exit 5; }",
        "command -v missing-tool > log || exit 1",
        '[ "$(ls | wc -l)" -eq 4 ] || exit 1',
        "grep -q ok missing 2> log || exit 1",
        "if [[ ! -e missing ]]; then exit 3; fi",
    ],
)
def test_a_script_that_did_not_come_to_its_run_for_a_file_says_so(guard: str, tmp_path: Path) -> None:
    reached = f"{guard}\necho reached\n"
    shown = subprocess.run(
        ["bash", "-c", reached], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "reached" not in shown.stdout
    assert shown.returncode != 0
    (what,) = _guards(guard)
    assert any(word in what for word in ("missing", "ls | wc"))


@pytest.mark.parametrize(
    "line",
    [
        "mkdir -p x || exit 1",
        "N=3; [ $N -lt $M ] && exit 1",
        '[ -z "$FOO" ] && exit 1',
        "mkdir y; if [ $? -ne 0 ]; then exit 3; fi",
        "ls",
    ],
)
def test_a_step_that_fails_and_a_variable_that_is_missing_are_no_guards(line: str) -> None:
    assert _guards(line) == []


@pytest.mark.parametrize(
    ("guard", "test"),
    [
        ("MADE=$(ls missing* | wc -l)\nif [ $MADE -lt 1 ]; then exit 1; fi", "[ $MADE -lt 1 ]"),
        ("LINE=`sed -n 4p missing`; [[ -n $LINE ]] || exit 1", "[[ -n $LINE ]]"),
    ],
)
def test_a_test_of_what_a_command_wrote_is_a_guard_by_way_of_a_variable_too(guard: str, test: str) -> None:
    (what,) = _guards(guard)
    assert test in what


@pytest.mark.parametrize("strict", ["", "set -e\n"])
@pytest.mark.parametrize(
    ("guard", "may_fail"),
    [
        ("if python done.py; then echo done; exit 0; fi", True),
        ("if python done.py; then\n  rm -rf work\n  exit 3\nfi", True),
        ("if ! python done.py; then exit 3; fi", False),
        ("if python done.py; then echo ok; else exit 3; fi", False),
    ],
)
def test_a_command_that_ends_the_script_where_it_succeeds_may_fail_as_a_step(
    guard: str, strict: str, *, may_fail: bool
) -> None:
    job = loaded(convert(classified({"run.sub": f"{_HEAD}{strict}{guard}{_RUN}"}), Options({})).job)
    (step,) = (each for each in job["setup"] if "done.py" in str(each["run"]))
    assert (step.get("optional") is not None) is may_fail


def _of_run(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return loaded(found.job), found


def test_a_tilde_behind_a_colon_of_an_assignment_is_the_home_folder() -> None:
    given = "E=a:~/x F=~/y:~/z G='q:~/x' H=c:~:d"
    job, _ = _of_run(f"{_HEAD}export {given}\nI=x:~/i srun --mpi=none ./t\n")
    line = " ".join(f'{name}="${name}"' for name in "EFGH")
    said = subprocess.run(
        ["bash", "-c", f"{given}; echo {line}"],
        env={"HOME": "/H"},
        capture_output=True,
        text=True,
        check=True,
    )
    command = job["command"]
    script = command if isinstance(command, str) else command[-1]
    script = script.replace("exec ./t", f"echo {line} I=$I")
    env = {"HOME": "/H", "PATH": "/usr/bin:/bin", **job.get("env", {})}
    ran = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert ran.stdout == said.stdout.rstrip("\n") + " I=x:/H/i\n"


def test_an_end_on_a_condition_is_not_said_to_have_no_effect() -> None:
    lines = "make || exit 2\nfor m in a b; do\n[ -f $m ] && continue\nmesh $m\ndone"
    found = convert(classified({"run.sub": f"{_HEAD}{lines}{_RUN}exit 0\n"}), Options({})).findings
    ends = [each for each in found if "ends the script or a round" in each.why]
    assert [(each.kind, each.what) for each in ends] == [
        ("carried", "conditions: exit 2"),
        ("carried", "conditions: continue"),
    ]
    without = " ".join(each.what for each in found if each.kind == "without effect")
    assert "exit 2" not in without
    assert "continue" not in without


def test_a_function_that_ends_the_script_is_told_once_for_each_condition_and_without_its_folder() -> None:
    lines = "late() { [ $SECONDS -gt 99 ]; }\nstop() { exit 0; }\ngo() { late && stop; }\ngo\ngo\ngo\n"
    made = "if grep -q new state; then mkdir out; fi"
    found = convert(classified({"/home/me/run.sub": _HEAD + lines + made + _RUN}), Options({}))
    left = [each.why for each in found.findings if each.kind == "left" and "run.sub:" in each.why]
    assert left == [
        "the script ended here on a condition (run.sub:5: late), and the job runs all the same",
        "whether it runs depends on something that is not told (run.sub:9: if grep -q new state)",
    ]
