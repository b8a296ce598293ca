"""Whether a link of a chain is the last, also where Slurm does not say why it ended."""

import os
import subprocess
from pathlib import Path

import pytest

from hpclaunch.cli.planning import plan_all
from hpclaunch.render import script

JOB = "name: a\ncommand: [run]\nnodes: 1\nsecrets: [TOKEN]\nchain: 3\nsignal: {name: USR1, before: 2m}\n"
ITSELF, LIMIT = "echo ' JobState=RUNNING '", "echo ' JobState=COMPLETING Reason=TimeLimit '"
SILENT = "exit 1"


def end(folder: Path, status: int, scontrol: str) -> str:
    """What the script of the first link leaves as the chain's end, "" where another link is to follow. srun
    and Slurm's other commands are stand-ins."""
    job, kept = folder / "job.yaml", folder / "kept"
    job.write_text(JOB)
    kept.write_bytes(b"TOKEN=x\0")
    tools = {
        "srun": f"exit {status}",
        "scontrol": scontrol,
        "scancel": 'echo "$@" >>"${0%/*}/cancelled"',
        "sleep": 'echo >>"${0%/*}/slept"',
    }
    for name, text in tools.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    env = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "HOME": "/",
        "SLURM_JOB_ID": "7",
        "SLURM_ARRAY_JOB_ID": "7",
        "SLURM_ARRAY_TASK_ID": "0",
        "SLURM_JOB_NODELIST": "a",
    }
    text = script.render(plan_all(str(job), "superpod-a100", ())[0].plan)
    argv = ["bash", "-p", "-c", text, "script", str(folder / "claim"), str(kept)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    ended = (folder / "chain").read_text().strip() if (folder / "chain").exists() else ""
    assert bool(ended) == (folder / "cancelled").exists() == (not kept.exists())  # all three or none
    return ended


@pytest.mark.parametrize(
    ("status", "scontrol", "expected"),
    [
        (75, ITSELF, ""),
        (75, SILENT, ""),
        (138, SILENT, ""),  # by the job's own signal
        (143, SILENT, ""),  # as at a time limit
        (143, ITSELF, "failed 0 143"),
        (0, SILENT, "done 0 0"),
        (7, SILENT, "failed 0 7"),
        (7, LIMIT, ""),
    ],
)
def test_a_link_that_asks_for_the_next_is_followed_whatever_slurm_says(
    tmp_path: Path, status: int, scontrol: str, expected: str
) -> None:
    assert end(tmp_path, status, scontrol) == expected


@pytest.mark.parametrize(("shown", "expected"), [(ITSELF, "failed 0 7"), (LIMIT, "")])
def test_a_controller_that_is_silent_for_a_while_is_asked_again(
    tmp_path: Path, shown: str, expected: str
) -> None:
    asked = '[ "$(wc -l <"${0%/*}/slept" 2>/dev/null || echo 0)" -ge 2 ] || exit 1; '
    assert end(tmp_path, 7, asked + shown) == expected
    assert (tmp_path / "slept").read_text() == "\n\n"
