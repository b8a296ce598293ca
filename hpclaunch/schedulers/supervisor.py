"""The process beside a local job: starts the script, notes its states, and leaves nothing behind.

`python -m hpclaunch.schedulers.supervisor` reads an Order from standard input, and returns 0 once the
supervisor, in a session of its own, runs the script. SIGTERM to the supervisor cancels the job. Its parent,
the guard, ends what is left should the supervisor be killed in a way that it cannot notice: the kernel gives
a dead process's orphans to its nearest ancestor that asked for them (PR_SET_CHILD_SUBREAPER, prctl(2)).
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from hpclaunch.records import files
from hpclaunch.records.record import Record, now
from hpclaunch.schedulers import processes
from hpclaunch.schedulers.processes import ProcessId
from hpclaunch.values.job import JobStatus

GRACE_S = 10.0  # between SIGTERM and SIGKILL; Slurm's KillWait
CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER in <linux/prctl.h>
HEARD = {signal.SIGCHLD, signal.SIGTERM}
DEAF = {signal.SIGINT, signal.SIGHUP}

Cause = Literal["ended", "cancelled", "time limit"]


class Order(Struct, frozen=True):
    """What a supervisor is told on its standard input: environment and arguments of the script, and the
    time limit in seconds (None: none). Values of the environment are bytes: they need not be UTF-8."""

    record: str
    job_id: str
    environment: dict[str, bytes]
    arguments: tuple[str, ...]
    limit_s: float | None


class Running(Struct, frozen=True):
    """`local.json` in the record: who looks after the job, and the session of its processes."""

    job_id: str
    supervisor: ProcessId
    started: str


def read_running(folder: Path) -> Running | None:
    """None where no supervisor has started."""
    try:
        return msgspec.json.decode((folder / "local.json").read_bytes(), type=Running)
    except (OSError, ValueError):  # msgspec's errors are ValueErrors, and so is text that is not UTF-8
        return None


def main() -> int:
    """Returns when the job runs; in the supervisor and its guard when the job has ended."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    ready, ready_writer = os.pipe()
    if os.fork():
        os.close(ready_writer)
        with os.fdopen(ready, "rb") as pipe:
            answer = pipe.read().decode(errors="replace")
        if answer != "running":
            print(answer or "its supervisor died", file=sys.stderr)
            return 1
        return 0
    os.close(ready)
    answered = False

    def tell(text: str) -> None:
        nonlocal answered
        answered = True
        with contextlib.suppress(BrokenPipeError):  # the submitter was interrupted; the job is there
            os.write(ready_writer, text.encode(errors="backslashreplace"))
        os.close(ready_writer)

    try:
        _detach(Path(order.record) / "logs" / "supervisor.log")
        supervisor = os.fork()
        if supervisor:
            os.close(ready_writer)  # the submitter waits for the end of this pipe
            answered = True
            _guard(supervisor)
        else:
            _detach(None)
            supervise(order, tell)
    except Exception as error:
        if answered:
            raise
        tell(f"{type(error).__name__}: {error}")
        return 1
    return 0


def supervise(order: Order, tell: Callable[[str], None]) -> None:
    """Runs the script of the record to its end. `tell` is called with "running" once it has started.

    Raises FileExistsError where another supervisor of the same submission came first.
    """
    record = Record.read(Path(order.record))
    me = processes.identify(os.getpid())
    running = Running(order.job_id, me, now())
    files.create(record.folder / "local.json", msgspec.json.encode(running))
    script = _start(record, order)
    begun = JobStatus("RUNNING", nodes=me.host, submitted=record.intent.created, started=running.started)
    record.update(begun)
    tell("running")
    cause, status = _wait(script.pid, order.limit_s)
    left = processes.end_all(me.pid, GRACE_S)
    end = _ending(cause, status)
    if left:
        stays = f"no signal ends these processes of it: {', '.join(map(str, left))}"
        end = msgspec.structs.replace(end, reason=f"{end.reason}; {stays}" if end.reason else stays)
    record.update(
        msgspec.structs.replace(
            end, nodes=begun.nodes, submitted=begun.submitted, started=begun.started, ended=now()
        )
    )


def _guard(supervisor: int) -> None:
    """Returns when the supervisor has ended, and nothing is left of the job of one that was killed."""
    _, status = os.waitpid(supervisor, 0)
    if status:
        processes.end_all(os.getpid(), GRACE_S)


def _detach(log: Path | None) -> None:
    """Leaves the session of whoever started this process, and becomes the parent of its orphans. With a
    log: lets go of the terminal too, and writes there what goes wrong from here on."""
    os.setsid()
    for number in HEARD:
        signal.signal(number, signal.SIG_DFL)  # children of a process that ignores SIGCHLD leave no status
    signal.pthread_sigmask(signal.SIG_SETMASK, HEARD | DEAF)
    if ctypes.CDLL(None, use_errno=True).prctl(CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    if log:
        _redirect(log)


def _redirect(log: Path) -> None:
    """Lets go of the submitter's terminal; what goes wrong from here on is in `log`."""
    for source, flags, targets in (
        (os.devnull, os.O_RDONLY, (0,)),
        (os.fspath(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, (1, 2)),
    ):
        descriptor = os.open(source, flags, 0o600)
        for target in targets:
            os.dup2(descriptor, target)
        os.close(descriptor)


def _start(record: Record, order: Order) -> "subprocess.Popen[bytes]":
    # By name, and not by its first line: a home may be mounted noexec. -p: no BASH_ENV, no functions.
    with open(record.log, "ab") as log:
        return subprocess.Popen(
            ["/bin/bash", "-p", os.fspath(record.script), *order.arguments],
            env=order.environment,
            cwd=record.work,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_reset_signals,
        )


def _reset_signals() -> None:
    """What the submitter's shell ignores or blocks is nothing to the job."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _wait(script: int, limit_s: float | None) -> tuple[Cause, int | None]:
    """Why the job ends, and the script's wait status where it ended by itself."""
    deadline = None if limit_s is None else time.monotonic() + limit_s
    while True:
        status = _reap(script)
        if status is not None:
            return "ended", status
        left = 3600.0 if deadline is None else deadline - time.monotonic()
        if left <= 0:
            return "time limit", None
        heard = signal.sigtimedwait(HEARD, left)
        if heard and heard.si_signo == signal.SIGTERM:
            return "cancelled", None


def _reap(script: int) -> int | None:
    """The script's wait status once it has ended; collects adopted orphans on the way."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == script:
                return status
            if pid == 0:
                return None
    return None


def _ending(cause: Cause, status: int | None) -> JobStatus:
    if cause == "cancelled":
        return JobStatus("CANCELLED", "it was cancelled")
    if cause == "time limit":
        return JobStatus("TIMEOUT", "it reached its time limit")
    assert status is not None  # it ended by itself
    if os.WIFSIGNALED(status):
        return JobStatus("FAILED", "its script was ended by a signal", signal=os.WTERMSIG(status))
    code = os.WEXITSTATUS(status)
    return (
        JobStatus("FAILED", "its script ended with an error", code) if code else JobStatus("COMPLETED", "", 0)
    )


if __name__ == "__main__":
    sys.exit(main())
