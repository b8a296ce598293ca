"""Which scripts remove the file of their secrets, and when: others may still read it."""

import os
import subprocess
from pathlib import Path

import pytest

from hpclaunch.cli.planning import plan_all
from hpclaunch.render import script

JOB = "name: a\ncommand: [run]\nnodes: 1\nsecrets: [TOKEN]\n"
# srun gives each status; scontrol says that nobody else has ended the job.
TOOLS = {
    "srun": 'touch "${{0%/*}}/ran"; exit {status}',
    "scontrol": "echo ' JobState=RUNNING '",
    "scancel": "exit 0",
}


def stays(folder: Path, more: str, status: int, **env: str) -> bool:
    """Whether the file is there after the job's script has run, with stand-ins for Slurm's commands."""
    job, kept, points = folder / "job.yaml", folder / "kept", folder / "points"
    job.write_text(JOB + more)
    plan = plan_all(str(job), "superpod-a100", ())[0].plan
    kept.write_bytes(b"TOKEN=x\0")
    if plan.common.sweep:
        points.write_bytes(plan.common.sweep.words)
    for name, text in TOOLS.items():
        (folder / name).write_text(f"#!/bin/sh\n{text.format(status=status)}\n")
        (folder / name).chmod(0o755)
    own = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "HOME": "/",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "a",
        **env,
    }
    argv = ["bash", "-p", "-c", script.render(plan), "script", str(folder / "claim"), str(kept)]
    done = subprocess.run(argv, env=own, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    return kept.exists()


@pytest.mark.parametrize("status", [0, 7])
def test_a_job_that_starts_once_has_read_it(tmp_path: Path, status: int) -> None:
    assert not stays(tmp_path, "", status)


@pytest.mark.parametrize("status", [0, 7])
def test_a_job_that_ends_by_itself_does_not_start_again(tmp_path: Path, status: int) -> None:
    assert not stays(tmp_path, "requeue: true\n", status)


@pytest.mark.parametrize("status", [0, 7])
@pytest.mark.parametrize("more", ["", "requeue: true\n"])
def test_the_other_points_of_a_sweep_read_it_too(tmp_path: Path, status: int, more: str) -> None:
    sweep = "sweep: {grid: {env.A: [b, c]}}\n"
    assert stays(tmp_path, sweep + more, status, SLURM_ARRAY_TASK_ID="0", SLURM_ARRAY_JOB_ID="7")


@pytest.mark.parametrize(
    ("status", "link", "there"), [(75, "0", True), (75, "2", False), (0, "0", False), (7, "0", False)]
)
def test_the_next_link_of_a_chain_reads_it(tmp_path: Path, status: int, link: str, there: bool) -> None:
    assert stays(tmp_path, "chain: 3\n", status, SLURM_ARRAY_TASK_ID=link, SLURM_ARRAY_JOB_ID="7") == there


def test_a_link_after_the_last_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "chain").write_text("failed 0 7\n")
    env = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_JOB_ID": "7"}
    assert stays(tmp_path, "chain: 3\n", 0, **env)
    assert not (tmp_path / "ran").exists()
