"""Giving up jobs of which nobody can tell what became. Nothing is sent, and nothing is ended."""

import contextlib
import time

from hpclaunch.records import secrets, sending
from hpclaunch.records.record import GIVEN_UP, Record
from hpclaunch.schedulers import lifecycle, unknown
from hpclaunch.schedulers.contract import Warn
from hpclaunch.values.errors import InputError, SchedulerError
from hpclaunch.values.job import JobStatus

_LATER = (
    ". A job of it that is there may run on, or begin: once its cluster can be reached, `hpclaunch forget "
    "{tag}` again finds that out, and sees to it that what has not begun starts no rank"
)


def give_up(record: Record, unasked: bool, warn: Warn) -> str:
    """Takes a job off the list, and says what is known of it now. One that has started no rank starts none
    any more, should it be there after all: its claim is taken, where the node that has it can be reached, and
    its secrets are removed.

    Raises InputError for a job whose scheduler knows it, or whose end is known; SchedulerError where the
    scheduler or its login node cannot be asked, unless `unasked` says that this is no matter; StillSent where
    another process may send it; and OSError.
    """
    with contextlib.ExitStack() as stack:
        if record.state().job_id is None:
            stack.enter_context(sending.again(record))
        answer = _asked(record, unasked, warn)
        status = unknown.last_known(record) if answer is None else answer
        if status.has_ended:
            raise InputError(f"there is nothing to give up: it is {status.state}")
        if answer is not None and status.state != "UNKNOWN":
            raise InputError(f"the scheduler knows it, it is {status.state}: hpclaunch cancel ends it")
        if not _claimed(record, unasked):
            why = "how it ended, if it began, is not known"
            record.give_up(JobStatus("UNKNOWN", f"given up on {_today()}: {why}"))
            return (
                f"it is given up; {why}{_LATER.format(tag=record.tag) if answer is None else _kept(record)}"
            )
        _forget_secrets(record, warn)
        why = f"given up on {_today()}, and whatever may be left of it starts no rank"
        record.give_up(JobStatus("CANCELLED", why, cause="cancelled"))
        return "it is given up, and should there be a job of it, that starts no rank"


def _asked(record: Record, unasked: bool, warn: Warn) -> JobStatus | None:
    """None where nobody could be asked."""
    try:
        return lifecycle.ask([record], warn)[record.tag]
    except SchedulerError as error:
        if not unasked:
            advice = "Where it is gone for good: hpclaunch forget --unasked."
            raise SchedulerError(str(error), advice) from error
        return None


def _claimed(record: Record, unasked: bool) -> bool:
    """Whether its ranks cannot start from now on. Over SSH the claim that its script looks for is there."""
    slurm = record.intent.slurm
    if not record.intent.claims:
        return False
    if slurm is not None and slurm.login is not None:
        from hpclaunch.schedulers.ssh import twin

        try:
            if not twin.give_up(record, slurm.login):
                return False
        except SchedulerError:
            if not unasked:
                raise
            return False
    with contextlib.suppress(FileExistsError):
        record.claim.symlink_to(GIVEN_UP)
    return record.claimed_by() is None


def _forget_secrets(record: Record, warn: Warn) -> None:
    """Here and over SSH. Where they stay that is a warning."""
    lifecycle.remove_secrets(record, warn)
    login = record.intent.slurm.login if record.intent.slurm is not None else None
    if login is not None:
        from hpclaunch.schedulers.ssh import twin

        try:
            twin.forget_secrets([record], login)
        except SchedulerError as error:
            path = secrets.path_of(twin.twin_of(record, login))
            warn(f"the job's secrets stay in {path} on {login}, remove them: {error}")


def _kept(record: Record) -> str:
    """What is left for a job that may read it yet."""
    path = secrets.path_of(record)
    return f". Its secrets stay in {path}: remove that file when it runs no more" if path.exists() else ""


def _today() -> str:
    return time.strftime("%Y-%m-%d")
