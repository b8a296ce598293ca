"""A rank is found by its processes while it becomes its command and its children come and go."""

import os
import subprocess
from pathlib import Path

import pytest
from waiting import until

from hpclaunch.rank import beside, read, wrapper_text

STEP = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}


def inside(rank: int, *words: str) -> subprocess.CompletedProcess[str]:
    """What a step beside the ranks' prints where it runs the words within that rank of two."""
    argv = ["/bin/bash", "-p", "-c", beside.text("inside"), "hpclaunch-inside", str(rank), "2"]
    env = {**STEP, "PATH": os.environ["PATH"], "SLURM_PROCID": "0", "SLURM_STEP_ID": "5"}
    argv += [f"={word}" for word in words]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)


def test_a_rank_that_begins_is_waited_for_and_one_that_forks_is_found(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    command = f"until [ -e {gate} ]; do sleep 0.002; done"
    wrapper = 'sleep 1; export OWN=all; exec /bin/sh -c "$1"'
    argv = ["/bin/sh", "-c", wrapper, "hpclaunch-rank", command]
    env = {**STEP, "PATH": os.environ["PATH"], "SLURM_STEP_ID": "0"}
    with subprocess.Popen(argv, env=env, cwd=tmp_path) as rank:
        try:
            for _ in range(10):
                done = inside(1, "/bin/sh", "-c", 'echo "$OWN" "$PWD"')
                assert (done.stdout, done.stderr) == (f"all {tmp_path}\n", "")
            other = inside(0, "true")
        finally:
            gate.touch()
        assert rank.wait() == 0
    assert (other.returncode, other.stdout) == (121, "")
    assert other.stderr == "hpclaunch: : rank 0 does not run here: perhaps it has not begun, or has ended\n"


@pytest.mark.parametrize(
    ("by", "inside_text", "names"),
    [
        ("slurm", ["/bin/bash", "-p", "-c", beside.text("inside"), "x", "1", "2"], STEP),
        (
            "hydra",
            ["/bin/sh", "-c", read("pod/inside", "run"), "x", "PMI_RANK=1", "PMI_SIZE=2"],
            {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1", "PMI_FD": "9"},
        ),
    ],
)
def test_a_tool_that_the_wrapper_runs_is_not_taken_for_the_rank(
    by: str, inside_text: list[str], names: dict[str, str], tmp_path: Path
) -> None:
    """A `cat` that waits until somebody has looked for the rank in vain, and sleeps before he looks again."""
    begun, looked, gate = (tmp_path / name for name in ("begun", "looked", "gate"))
    waits = f'touch {begun}; until [ -e {looked} ]; do :; done; exec /bin/cat "$@"'
    for name, text in (("cat", waits), ("sleep", f'touch {looked}; exec /bin/sleep "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    settings = [f"from={by}", "verify=1"]
    argv = ["/bin/sh", "-c", wrapper_text(settings), "hpclaunch-rank", *settings, "--", "OWN=all", "--"]
    argv += ["=/bin/sh", "=-c", f"=until [ -e {gate} ]; do /bin/sleep 0.05; done"]
    step = {"SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_ID": "0"}
    with subprocess.Popen(argv, env={**step, **names, **path}, stderr=subprocess.DEVNULL) as rank:
        try:
            until(begun.exists)
            other = {**path, "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "5"}
            words = ["=/bin/sh", "=-c", '=echo "$OWN${hl_of_wrapper-}"']
            argv = [*inside_text, *words]
            done = subprocess.run(argv, env=other, capture_output=True, text=True, timeout=90)
            assert (done.stdout, done.stderr) == ("all\n", "")
        finally:
            looked.touch()
            gate.touch()
        assert rank.wait() == 0
