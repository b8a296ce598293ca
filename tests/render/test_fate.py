"""Why a job ends, as its script tells by what Slurm shows of it. The lines are those of Slurm 22.05."""

import re
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "golden" / "scripts"
SHOWN = (
    "JobId=7 JobName=a JobState={state} Reason={reason} Dependency=(null) Requeue=1 "
    "Restarts={restarts} BatchFlag=1 ExitCode=0:0 PreemptEligibleTime=2026-11-22T04:33:11 "
    "PreemptTime={preempted} SuspendTime=None"
)


def fate(folder: Path, script: str, status: int, shown: str, before: str = ":", **env: str) -> str:
    golden = (SCRIPTS / script).read_text()
    found = re.search(r"^fate\(\) \{.*?^\}\n", golden, re.MULTILINE | re.DOTALL)
    assert found
    heard = re.search(r"^exec \{hl_lost\}.*\n", golden, re.MULTILINE)
    (folder / "scontrol").write_text(
        f"#!/bin/sh\n[ \"$*\" = '--oneliner show job 7' ] || exit 9\necho '{shown}'\n"
    )
    (folder / "scontrol").chmod(0o755)
    text = f'set -u\n{heard[0] if heard else ""}{before}\n{found[0]}fate {status}\necho "$hl_fate"'
    own = {"PATH": f"{folder}:/usr/bin:/bin", "SLURM_JOB_ID": "7", **env}
    return subprocess.run(
        ["bash", "-pc", text], env=own, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize(
    ("status", "state", "reason", "restarts", "preempted", "expected"),
    [
        (0, "RUNNING", "None", 0, "None", "COMPLETED"),
        (7, "RUNNING", "None", 0, "None", "FAILED"),
        (143, "COMPLETING", "TimeLimit", 0, "None", "TIMEOUT"),
        (143, "COMPLETING", "NodeDown", 0, "None", "NODE_FAIL"),
        (143, "COMPLETING", "None", 0, "None", "CANCELLED"),
        (143, "COMPLETING", "None", 0, "2026-11-22T04:33:11", "PREEMPTED"),
        (143, "RUNNING", "None", 0, "2026-11-22T04:33:11", "PREEMPTED"),
        (143, "COMPLETING", "BeginTime", 1, "None", "REQUEUED"),
        (143, "PENDING", "BeginTime", 1, "2026-11-22T04:33:11", "REQUEUED"),
    ],
)
def test_what_slurm_shows_tells_why(
    tmp_path: Path, status: int, state: str, reason: str, restarts: int, preempted: str, expected: str
) -> None:
    shown = SHOWN.format(state=state, reason=reason, restarts=restarts, preempted=preempted)
    assert fate(tmp_path, "long-run.sh", status, shown) == expected


def test_a_further_start_counts_from_its_own_number(tmp_path: Path) -> None:
    shown = SHOWN.format(state="RUNNING", reason="None", restarts=2, preempted="None")
    assert fate(tmp_path, "long-run.sh", 7, shown, SLURM_RESTART_COUNT="2") == "FAILED"
    assert fate(tmp_path, "long-run.sh", 7, shown, SLURM_RESTART_COUNT="1") == "REQUEUED"


def test_a_controller_that_does_not_answer_leaves_it_open(tmp_path: Path) -> None:
    assert fate(tmp_path, "chain.sh", 7, "") == "UNKNOWN"
    assert fate(tmp_path, "chain.sh", 0, "") == "COMPLETED"


@pytest.mark.parametrize(("lost", "expected"), [("echo lost >&$hl_lost", "NODE_FAIL"), (":", "FAILED")])
def test_a_rank_that_ends_as_a_lost_node_would_is_no_lost_node(
    tmp_path: Path, lost: str, expected: str
) -> None:
    shown = SHOWN.format(state="RUNNING", reason="None", restarts=0, preempted="None")
    assert fate(tmp_path, "chain-with-spares.sh", 119, shown, before=lost) == expected


def test_an_allocation_that_runs_yet_does_not_hide_why_the_first_one_ends(tmp_path: Path) -> None:
    first = SHOWN.format(state="COMPLETING", reason="TimeLimit", restarts=0, preempted="None")
    other = SHOWN.format(state="RUNNING", reason="None", restarts=0, preempted="None")
    script = "unlike-groups-of-a-long-run.sh"
    assert fate(tmp_path, script, 143, f"{first}\n{other}") == "TIMEOUT"
    assert fate(tmp_path, script, 7, f"{other}\n{other}") == "FAILED"
