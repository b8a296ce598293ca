"""Why jobs ended, from the state that Slurm gives and the messages of srun and slurmstepd."""

import os
import pwd
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from hpclaunch.schedulers.causes import explained
from hpclaunch.values.job import ENDED, JobStatus, State
from hpclaunch.values.rankgroups import RankGroup, RankGroups

# As Slurm 22.05 wrote them in the sandbox; the last two of src/plugins/task/cgroup/task_cgroup_memory.c.
SEVEN = "srun: error: dgx2: task 3: Exited with exit code 7\n"
TERMINATED = "srun: error: dgx1: tasks 0-2: Terminated\n"
BOTH_ONE = "srun: error: dgx1: tasks 1,4-5: Exited with exit code 1\n"
SEGV = "srun: error: dgx1: task 4: Segmentation fault (core dumped)\n"
KILLED = "srun: error: dgx1: task 2: Killed\n"
USR1 = "srun: error: dgx1: task 6: User defined signal 1\n"
OUT = "srun: error: dgx1: task 5: Out Of Memory\n"
LOST = "srun: error: Node failure on dgx3\n"
REQUEUED = (
    "slurmstepd-dgx1: error: *** JOB 1 ON dgx1 CANCELLED AT 2026-11-22T04:33:28 DUE TO JOB REQUEUE ***\n"
)
OOM_2205 = (
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=12.0. Some of your processes may have been "
    "killed by the cgroup out-of-memory handler.\n"
)
OOM_2411 = (
    "slurmstepd-dgx1: error: Detected 2 oom_kill events in StepId=12.0. Some of the step tasks have been OOM "
    "Killed.\n"
)
OWN_121 = "srun: error: dgx1: task 0: Exited with exit code 121\n"
GROUP_121 = "hpclaunch: group learn was the first to fail, with status 121: the job ends\n"
WRAPPER = "hpclaunch: rank 0: cannot work in /no/such\nsrun: error: dgx1: task 0: Exited with exit code 121\n"


def why(folder: Path, status: JobStatus, text: str, cancelled: bool = False) -> JobStatus:
    log = folder / "output.log"
    log.write_text(text)
    return explained(status, log, cancelled)


def failed(code: int | None = None, signal: int | None = None) -> JobStatus:
    return JobStatus("FAILED", "its script ended with an error", code, signal)


CASES = [
    (failed(7), SEVEN + TERMINATED, "user_error", 3, "rank 3 on dgx2 was the first to fail"),
    (failed(7), TERMINATED + SEVEN, "user_error", 3, "rank 3"),
    (failed(1), BOTH_ONE + SEVEN, "user_error", 1, "rank 1 on dgx1"),
    (failed(9), SEVEN, "user_error", None, "its script ended with an error"),
    (failed(122), "hpclaunch: preflight: only 2 of 3 nodes are good\n", "node_failure", None, "only 2 of 3"),
    (
        failed(122),
        "preflight: " + SEVEN + "hpclaunch: preflight: the network is slow between the nodes\n",
        "node_failure",
        None,
        "the network is slow between the nodes",
    ),
    (failed(119), LOST + KILLED + TERMINATED, "node_failure", None, "the ranks lost their node dgx3"),
    (failed(signal=9), LOST + KILLED, "node_failure", None, "the ranks lost their node dgx3"),
    (failed(119), KILLED, "user_error", None, "its script ended with an error"),
    (failed(121), "hpclaunch: preflight: not checked: x\n" + WRAPPER, "launch_failure", 0, "cannot work in"),
    (failed(139), SEGV, "user_error", 4, "(Segmentation fault)"),
    (failed(138), USR1, "user_error", 6, "(User defined signal 1)"),
    (
        failed(137),
        KILLED,
        "user_error",
        2,
        "whether somebody or the kernel killed it, for memory, is not said",
    ),
    (failed(137), KILLED + OOM_2205, "out_of_memory", 2, "(Killed); the kernel ended it"),
    (failed(137), OOM_2411 + KILLED, "out_of_memory", 2, "the kernel ended it"),
    (failed(137), OUT, "out_of_memory", 5, "(Out Of Memory)"),
    (failed(signal=9), OOM_2205, "out_of_memory", None, "the kernel ended it"),
    (failed(7), SEVEN + OOM_2205, "user_error", 3, "rank 3"),
    (failed(7), BOTH_ONE.replace("code 1", "code 7") + REQUEUED + SEVEN, "user_error", 3, "rank 3 on dgx2"),
    (failed(121), WRAPPER, "launch_failure", 0, "rank 0: cannot work in /no/such"),
    (failed(121), "", "user_error", None, ""),
    (failed(121), OWN_121 + GROUP_121, "user_error", 0, "rank 0 on dgx1 was the first to fail"),
    (failed(121), f"learn: {WRAPPER}{GROUP_121}", "launch_failure", 0, "rank 0: cannot work in /no/such"),
    (failed(), "", "launch_failure", None, ""),
    (
        JobStatus("OUT_OF_MEMORY", "it used more memory than it had", None, 125),
        OUT,
        "out_of_memory",
        5,
        "rank 5",
    ),
    (JobStatus("TIMEOUT", "it reached its time limit", None, 15), SEVEN, "time_limit", None, "time limit"),
    (JobStatus("NODE_FAIL", "a node of it failed", 0), SEVEN, "node_failure", None, "a node of it failed"),
    (JobStatus("PREEMPTED"), TERMINATED, "preemption", None, ""),
    (JobStatus("CANCELLED"), TERMINATED, "cancelled", None, ""),
    (JobStatus("COMPLETED", "", 0), SEVEN, None, None, ""),
    (JobStatus("RUNNING"), SEVEN, None, None, ""),
]


@pytest.mark.parametrize(("status", "text", "cause", "rank", "said"), CASES)
def test_causes_are_told_apart(
    tmp_path: Path, status: JobStatus, text: str, cause: str | None, rank: int | None, said: str
) -> None:
    seen = why(tmp_path, status, text)
    assert (seen.cause, seen.rank) == (cause, rank)
    assert said in seen.reason


def test_who_cancelled_is_said_where_it_was_hpclaunch(tmp_path: Path) -> None:
    assert why(tmp_path, JobStatus("CANCELLED"), "", True).reason == "by hpclaunch cancel"
    assert why(tmp_path, JobStatus("CANCELLED", "by ada"), "", True).reason == "by ada"
    assert why(tmp_path, failed(7), "", True).cause == "user_error"
    myself = pwd.getpwuid(os.getuid()).pw_name
    assert why(tmp_path, JobStatus("CANCELLED", f"by {myself}"), "", True).reason == "by hpclaunch cancel"
    assert why(tmp_path, JobStatus("CANCELLED", f"by {myself}"), "").reason == f"by {myself}"


@pytest.mark.parametrize(
    ("world", "parts", "nodes", "group"),
    [
        ("one", [{}, {}], "n9,n[1,3-4]", "of the group evaluate on n3"),
        ("separate", [], "n[3,5-8]", "of the group train on n3"),
        ("separate", [], "", "of the group on n3"),
        ("one", [], "n[3,5-8]", "rank 5 on n3"),
    ],
)
def test_the_group_of_the_first_rank_that_failed_is_named(
    tmp_path: Path, world: Literal["one", "separate"], parts: list[object], nodes: str, group: str
) -> None:
    members = [RankGroup("train", 1, 8, ("x",), ()), RankGroup("evaluate", 3, 8, ("y",), ())]
    groups = RankGroups(world, tuple(members))
    plan = tmp_path / "plan.json"
    plan.write_bytes(msgspec.json.encode({"common": {"groups": groups}, "parts": parts}))
    log = tmp_path / "log"
    log.write_text("srun: error: n3: task 5: Exited with exit code 7\n")
    status = explained(JobStatus("FAILED", "", 7, nodes=nodes), log, False, plan)
    assert group in status.reason
    assert status.rank == (5 if world == "one" and not parts else None)


def test_no_log_is_no_error(tmp_path: Path) -> None:
    assert explained(failed(7), tmp_path / "none", False).cause == "user_error"
    assert explained(failed(7), tmp_path, False).cause == "user_error"


LINES = st.sampled_from(
    [SEVEN, BOTH_ONE, SEGV, KILLED, OUT, REQUEUED, OOM_2205, WRAPPER, "x\n", "\xff\0", ""]
)
STATES: list[State] = [*sorted(ENDED), "RUNNING", "PENDING", "UNKNOWN"]


@given(
    st.sampled_from(STATES),
    st.none() | st.integers(-1, 300),
    st.none() | st.integers(0, 130),
    st.lists(LINES | st.text(max_size=30), max_size=8).map("".join),
)
def test_no_log_changes_what_the_scheduler_says(
    tmp_path_factory: pytest.TempPathFactory, state: State, code: int | None, signal: int | None, text: str
) -> None:
    status = JobStatus(state, "said", code, signal)
    log = tmp_path_factory.getbasetemp() / "any.log"
    log.write_bytes(text.encode("utf-8", "surrogatepass"))
    seen = explained(status, log, False)
    assert structs.replace(seen, reason="said", cause=None, rank=None) == status
    assert seen.exit_status == status.exit_status
    assert (seen.cause is None) == (not status.has_ended or state == "COMPLETED")
