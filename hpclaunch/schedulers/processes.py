"""Processes of this machine, told apart from later ones that got the same number.

Facts: proc(5), fields 3 (state), 4 (parent) and 22 (start time, in clock ticks since boot).
"""

import contextlib
import os
import signal
import time
from pathlib import Path

from msgspec import Struct

PROC = Path("/proc")
POLL_S = 0.05
STUCK_S = 60.0


class ProcessId(Struct, frozen=True):
    """One process for good: its number, when it started, and the boot and host in which that counts."""

    pid: int
    started: int
    boot: str
    host: str


class Stat(Struct, frozen=True):
    """A line of /proc/PID/stat."""

    pid: int
    state: str
    parent: int
    started: int


def read_stat(pid: int) -> Stat | None:
    """The process, or None where there is none, or only its exit status is left (a zombie)."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name before it may hold spaces and parentheses
    if fields[0] in "ZX":
        return None
    return Stat(pid, fields[0], int(fields[1]), int(fields[19]))


def identify(pid: int) -> ProcessId:
    """The lasting name of the running process `pid`. Raises ProcessLookupError."""
    stat = read_stat(pid)
    if stat is None:
        raise ProcessLookupError(pid)
    return ProcessId(pid, stat.started, boot_id(), os.uname().nodename)


def boot_id() -> str:
    """Changes with every start of the machine."""
    return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def is_here(process: ProcessId) -> bool:
    """True where the process was started on this machine, be it running or not."""
    return process.host == os.uname().nodename


def is_running(process: ProcessId) -> bool:
    """True while that very process runs on this machine."""
    stat = read_stat(process.pid)
    return stat is not None and stat.started == process.started and process.boot == boot_id()


def send(process: ProcessId, number: int) -> bool:
    """Sends a signal to that very process. False where it is gone."""
    if not is_running(process):
        return False
    _signal(process.pid, number)
    return True


def descendants(ancestor: int) -> list[int]:
    """The children of `ancestor` and theirs. Where it adopts orphans, a process of a job is among them
    also when it left the job's session."""
    stats = [stat for name in os.listdir(PROC) if name.isdigit() and (stat := read_stat(int(name)))]
    family = {ancestor}
    while True:
        more = {stat.pid for stat in stats if stat.parent in family} - family
        if not more:
            break
        family |= more
    return sorted(family - {ancestor})


def end_all(ancestor: int, grace_s: float, stuck_s: float = STUCK_S) -> list[int]:
    """SIGTERM to the descendants, and SIGKILL to what is left after `grace_s`. Returns when nothing is, or
    `stuck_s` later what no signal has ended: one that waits for a file system that does not answer, or
    another user's."""
    for pid in descendants(ancestor):
        _signal(pid, signal.SIGCONT)  # a stopped process would sleep through the SIGTERM
        _signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while left := descendants(ancestor):
        late = time.monotonic() - deadline
        if late >= stuck_s:
            return left
        if late >= 0:
            for pid in left:
                _signal(pid, signal.SIGKILL)
        time.sleep(POLL_S)
    return []


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
