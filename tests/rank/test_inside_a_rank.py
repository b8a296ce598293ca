"""A rank is found by its processes while it becomes its command and its children come and go."""

import os
import subprocess
from pathlib import Path

from hpclaunch.rank import beside

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
