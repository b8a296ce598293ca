"""Why a job ended: one of a few words, and which rank was first, from what srun and slurmstepd wrote into the
job's log beside what the scheduler says.

Messages: launch_slurm.c, later launch.c of Slurm's src/srun; `Detected N oom-kill event(s)` of 20.11 to 22.05
and `oom_kill event` since 23.02 in src/plugins/task/cgroup/task_cgroup_memory.c; `DUE TO` in req.c of
src/slurmd/slurmstepd. A rank can write the same, so the log never changes the state or the exit status that
the scheduler gave.
"""

import os
import pwd
import re
import signal as signals
from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec import Raw, Struct, structs

from hpclaunch.records import checks
from hpclaunch.records.files import open_log
from hpclaunch.values import preflight, rankplaces
from hpclaunch.values.job import Cause, JobStatus, State
from hpclaunch.values.rankgroups import RankGroups

_TAIL = 1 << 20
_WRAPPER_FAILED = 121  # what the scripts and the wrapper of hpclaunch end with
_KILLED = 9
_BY_STATE: MappingProxyType[State, Cause] = MappingProxyType(
    {
        "TIMEOUT": "time_limit",
        "NODE_FAIL": "node_failure",
        "PREEMPTED": "preemption",
        "OUT_OF_MEMORY": "out_of_memory",
        "CANCELLED": "cancelled",
    }
)
_TASK = re.compile(rb"^srun: error: ([^\s:]+): tasks? (\d+)[\d,-]*: ([^\n]+)", re.MULTILINE)
_OOM = re.compile(rb"^slurmstepd(?:-\S+)?: error: Detected \d+ oom[-_]kill event", re.MULTILINE)
_STARTED_AGAIN = re.compile(
    rb"^slurmstepd[^\n]* DUE TO (?:JOB REQUEUE|NODE FAILURE|TIME LIMIT|PREEMPTION)[^\n]*\n", re.MULTILINE
)
_CODE = re.compile(rb"Exited with exit code (\d+)")
_LOST = re.compile(rb"^srun: error: Node failure on ([^\n]+)", re.MULTILINE)
_OWN = re.compile(rb"^hpclaunch: ([^\n]+)", re.MULTILINE)
# What has a world each has its group's name before each line. Which group was first to fail is no reason.
_WHY_121 = re.compile(
    rb"^(?:[\w-]+: )?hpclaunch: (?!group [\w-]+ was the first to fail, )([^\n]+)", re.MULTILINE
)


class First(Struct, frozen=True):
    """The task that failed first, as srun says it."""

    node: str
    rank: int
    said: str


class _Common(Struct, frozen=True):
    groups: RankGroups | None = None


class _Target(Struct, frozen=True):
    preflight: Raw | None = None


class _Plan(Struct, frozen=True):
    """What of a plan tells whose a task is. `parts` are groups with options of srun of their own, and
    `folder` is the record's."""

    common: _Common = _Common()
    target: _Target = _Target()
    parts: tuple[Raw, ...] = ()
    folder: Path | None = None

    @property
    def counts_by_group(self) -> bool:
        """Whether srun counts the tasks of each group from 0."""
        groups = self.common.groups
        return bool(self.parts) or (groups is not None and groups.world == "separate")

    def group_of(self, node: str, nodes: str) -> str:
        """The group that has the node: each has the next ones of the job's, or of those that its check
        chose. "" where that is not known."""
        if self.target.preflight is not None and bytes(self.target.preflight) != b"null":
            nodes = checks.chosen(self.folder) if self.folder is not None else ""
        from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # few jobs have groups

        lists = re.findall(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)*", nodes)
        names = [name for each in lists for name in NodeSet(each, resolver=RESOLVER_NOGROUP)]
        groups = self.common.groups
        return rankplaces.group_of(groups, names.index(node)) if groups and node in names else ""


def explained(status: JobStatus, log: Path, cancelled: bool, plan: Path | None = None) -> JobStatus:
    """An ended job's status with its cause, and the first rank that failed, where the log names it.
    `cancelled`: hpclaunch was asked for its end. `plan` is the file of the record that has it."""
    if not status.has_ended or status.state == "COMPLETED":
        return status
    known = _BY_STATE.get(status.state)
    if known == "cancelled" and cancelled and status.reason in ("", f"by {_myself()}"):
        status = structs.replace(status, reason="by hpclaunch cancel")
    if known not in (None, "out_of_memory"):
        return structs.replace(status, cause=known)
    text = tail(log)
    lost = _LOST.search(text)
    # A job with spare nodes outlives those of its ranks; with its first node its script is killed.
    if lost and (status.exit_code == preflight.LOST or status.signal == _KILLED):
        reason = f"the ranks lost their node {lost[1].decode('utf-8', 'replace')}"
        return structs.replace(status, cause="node_failure", reason=reason)
    first = first_failure(text, status)
    if first is not None:
        known_plan = _plan(plan)
        said = f" ({first.said})" if not first.said.startswith("Exited with") else ""
        which, rank = f"rank {first.rank}", first.rank if not known_plan.counts_by_group else None
        if rank is None:  # srun counts the tasks of each step, and component of one, from 0
            which += f" of the group {known_plan.group_of(first.node, status.nodes)}".rstrip()
        reason = f"{which} on {first.node} was the first to fail{said}"
        status = structs.replace(status, reason=reason, rank=rank)
    if known or (_is_kill(status) and (_OOM.search(text) or (first and first.said == "Out Of Memory"))):
        more = "" if known else "; the kernel ended it, since the job's memory was used up"
        return structs.replace(status, cause="out_of_memory", reason=status.reason + more)
    if status.exit_code is None and status.signal is None:
        return structs.replace(status, cause="launch_failure")
    if status.exit_code == _WRAPPER_FAILED and (own := _WHY_121.findall(text)):
        # What preflight says of nodes comes before, and is not why.
        told = [each for each in own if not each.startswith(b"preflight: ")] or own
        said = told[0].decode("utf-8", "replace")
        return structs.replace(status, cause="launch_failure", reason=said)
    if status.exit_code == preflight.FAILED and (own := _OWN.findall(text)):
        said = own[-1].decode("utf-8", "replace")
        if said.startswith(("preflight: only ", "preflight: the network is slow ")):
            return structs.replace(status, cause="node_failure", reason=said)
    if _is_kill(status):
        more = "; whether somebody or the kernel killed it, for memory, is not said"
        status = structs.replace(status, reason=status.reason + more)
    return structs.replace(status, cause="user_error")


def _myself() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def _plan(file: Path | None) -> _Plan:
    try:
        if file is None:
            return _Plan()
        return structs.replace(msgspec.json.decode(file.read_bytes(), type=_Plan), folder=file.parent)
    except (OSError, ValueError):  # msgspec's errors are ValueErrors
        return _Plan()


def first_failure(text: bytes, status: JobStatus) -> First | None:
    """What srun said first of a task since the job's last start that agrees with how the job ended."""
    for found in _TASK.finditer(text):
        node, rank, said = found[1].decode("utf-8", "replace"), int(found[2]), found[3]
        if _agrees(said, status):
            shown = said.removesuffix(b" (core dumped)").decode("utf-8", "replace")
            return First(node, rank, shown)
    return None


def tail(log: Path) -> bytes:
    """The end of the log, from the job's last start on. Nothing where it cannot be read."""
    try:
        with open_log(log) as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL))
            text = file.read()
    except OSError:
        return b""
    starts = [found.end() for found in _STARTED_AGAIN.finditer(text)]
    return text[starts[-1] :] if starts else text


def _is_kill(status: JobStatus) -> bool:
    return status.signal == _KILLED or status.exit_code == 128 + _KILLED


def _agrees(said: bytes, status: JobStatus) -> bool:
    """Whether a task that ended so gives a job that ended so."""
    if status.state == "OUT_OF_MEMORY" or said.startswith(b"Out Of Memory"):
        return status.state == "OUT_OF_MEMORY" or _is_kill(status)
    code = _CODE.match(said)
    if code:
        return int(code[1]) == status.exit_code
    number = status.signal or (status.exit_code or 0) - 128
    try:
        words = signals.strsignal(number) or ""
    except ValueError:
        return False
    return bool(words) and said.startswith(words.encode())
