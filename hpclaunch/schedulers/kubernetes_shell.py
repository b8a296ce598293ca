"""A pod for as long as a command, or a person, works in it."""

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from msgspec import structs

from hpclaunch.records.record import Record
from hpclaunch.schedulers import ending, lifecycle
from hpclaunch.schedulers import kubernetes_inside as pods
from hpclaunch.schedulers.contract import Refused, Warn
from hpclaunch.values.errors import HpclaunchError, SchedulerError, first_line
from hpclaunch.values.job import JobStatus, Submission

_POLL_S = 0.5
_MOMENTS = 10
_KILLED = (128 + signal.SIGKILL, 128 + signal.SIGTERM)  # by somebody, or with all that is in the pod


def run(
    make: Callable[[], Record],
    submission: Submission,
    container: str,
    command: Sequence[str],
    say: Warn,
    warn: Warn,
) -> int:
    """Runs the command in the pod of the record that is made, and deletes the pod after, whatever ends this
    process; the command's exit status. `say` hears what goes on. Raises SchedulerError, and HpclaunchError
    where the record cannot be written."""
    with ending.heeded(), ExitStack() as at_the_end:
        with ending.held_off():
            record = make()
            at_the_end.callback(_give_back, record, say)
            try:
                lifecycle.submit(record, submission, say)
            except Refused:
                at_the_end.pop_all()
                raise
        _await(record, say)
        try:
            status = pods.run(record, pods.Place(container), command, warn)
        except SchedulerError as error:
            raise _ended(record, say) or error from None
        if status in _KILLED and (ended := _ended(record, say)):
            raise ended
        return status


def _await(record: Record, say: Warn) -> None:
    """Until the pod runs; meanwhile says why it does not. Raises SchedulerError where it never will, and
    WaitFailed."""
    said = ""

    def enough(status: JobStatus) -> bool:
        nonlocal said
        if status.has_ended or status.state in ("RUNNING", "UNKNOWN"):
            return True
        if status.reason not in ("", said):
            say(f"{record.intent.name} waits: {status.reason}")
            said = status.reason
        return False

    status = lifecycle.wait_until(record, say, enough)
    if status.state != "RUNNING":
        raise SchedulerError(f"there is no pod to work in: {status.described}")


def _ended(record: Record, say: Warn) -> SchedulerError | None:
    """Why the pod is no more, if it is not and that is known, which takes the cluster a moment."""
    for _ in range(_MOMENTS):
        try:
            status = lifecycle.ask([record], say)[record.tag]
        except HpclaunchError:
            return None
        if status.has_ended:
            return SchedulerError(f"the pod has ended: {status.described}")
        time.sleep(_POLL_S)
    return None


def _give_back(record: Record, say: Warn) -> None:
    """Deletes the pod with all that belongs to it, whatever signal comes. Raises SchedulerError."""
    with ending.held_off():
        try:
            lifecycle.scheduler_of(record).cancel(record)
        except SchedulerError as error:
            name = record.intent.name
            raise SchedulerError(
                f"the pod of {name} may go on until its time is over: {first_line(error)}",
                f"`hpclaunch cancel {record.intent.site}/{name}` ends it.",
            ) from error
        last = record.state().status
        if last is None or not last.has_ended:
            done = structs.replace(
                last or JobStatus("COMPLETED"), state="COMPLETED", reason="its shell has ended"
            )
            lifecycle.note(say, "", partial(record.update, done))
