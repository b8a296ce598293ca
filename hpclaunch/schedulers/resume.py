"""Submissions whose end nobody saw: is the job there, is it surely not, or can nobody tell?

What is surely not there may be sent again, with the same record, and so with the same tag and the same claim.
What nobody can tell is never sent.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Literal

from msgspec import Struct, structs

from hpclaunch.records import sending
from hpclaunch.records.record import Record
from hpclaunch.schedulers import dependencies, lifecycle, retry, unknown
from hpclaunch.schedulers.contract import Warn
from hpclaunch.values.errors import HpclaunchError
from hpclaunch.values.job import JobStatus, Submission

# The records of those that others wait for, and what their scheduler says now.
_Needed = tuple[Mapping[str, Record], Mapping[str, JobStatus]]
Found = Literal["present", "absent", "sent", "unknown", "refused"]


class Outcome(Struct, frozen=True):
    """What became of an open submission. "sent": it was absent, and is there now. `why` is for people, and
    `status` the exit status that goes with it."""

    record: Record
    found: Found
    job_id: str = ""
    why: str = ""
    status: int = 0


def is_open(record: Record) -> bool:
    """Whether the record has neither an id nor an end. Raises HpclaunchError for a damaged one."""
    state = record.state()
    return state.job_id is None and not state.given_up and not (state.status and state.status.has_ended)


def resume(
    records: Sequence[Record],
    submission_of: Callable[[Record], Submission] | None,
    warn: Warn,
    pause: retry.Pause,
) -> list[Outcome]:
    """What became of each. With `submission_of`, which takes the values of the shell anew, those that are
    surely not there are sent; without it nothing is sent. Trouble with one does not stop the others."""
    found: dict[str, Outcome] = {}
    records = dependencies.in_order(records)
    with ExitStack() as stack:
        held: dict[str, int] = {}
        for record in records:
            try:
                if record.state().given_up:
                    found[record.tag] = _of_given_up(record, warn, pause)
                    continue
                held[record.tag] = stack.enter_context(sending.again(record))
            except (HpclaunchError, OSError) as error:
                found[record.tag] = _unknown(record, error)
        groups: dict[lifecycle.Where, list[Record]] = {}
        for record in records:
            if record.tag in held:
                groups.setdefault(lifecycle.where(record), []).append(record)
        for members in groups.values():
            begun = [record for record in members if held[record.tag] != sending.NONE]
            outcomes = _of_one_scheduler(begun, warn, pause)
            by_tag = {outcome.record.tag: outcome for outcome in outcomes}
            needed: _Needed | None = None
            for record in members:
                outcome = by_tag.get(record.tag) or _of_unbegun(record)
                if outcome.found == "absent" and submission_of is not None:
                    if needed is None:
                        needed = _needed(members, warn)
                    outcome = _send(record, needed, submission_of, held[record.tag], warn, pause)
                found[record.tag] = outcome
    return [found[record.tag] for record in records]


def _of_given_up(record: Record, warn: Warn, pause: retry.Pause) -> Outcome:
    """Of a job that the user gave up, and that may be there after all, unless its claim was taken from it.
    Raises HpclaunchError and OSError."""
    refused = Outcome(
        record, "refused", why=f"it was given up; hpclaunch rerun {record.tag} submits it anew", status=3
    )
    last = record.state().status
    if last is not None and last.has_ended:
        return refused
    try:
        with sending.again(record):
            job_id = retry.find(lifecycle.scheduler_of(record), [record], pause).get(record.tag)
            if job_id is None:
                return refused
            status = lifecycle.ask([record], warn)[record.tag]
    except (HpclaunchError, OSError) as error:
        why = f"it was given up, and whether there is a job of it nobody can tell: {error}"
        return Outcome(record, "unknown", why=why, status=3)
    if status.state == "UNKNOWN":
        why = f"it was given up, and began as job {job_id}: how that ended nobody can tell"
        return Outcome(record, "unknown", why=why, status=3)
    return Outcome(record, "present", job_id, f"it was given up, and is {status.state}")


def _of_unbegun(record: Record) -> Outcome:
    """Of a job that its command had not come to when it was killed: nobody needs to be asked."""
    if dependencies.is_refused(record):
        return Outcome(record, "refused", why="it was never submitted", status=3)
    return Outcome(record, "absent")


def _needed(records: Sequence[Record], warn: Warn) -> _Needed:
    found = dependencies.others(records)
    sent = []
    for record in found:
        with suppress(HpclaunchError, OSError):  # of a damaged one those hear that wait for it
            if record.state().job_id is not None:
                sent.append(record)
    return {record.tag: record for record in found}, lifecycle.refresh(sent, warn)


def _of_one_scheduler(records: Sequence[Record], warn: Warn, pause: retry.Pause) -> list[Outcome]:
    if not records:
        return []
    try:
        # What began to run is there, or was. What has an id is there, unless it can be told that it never
        # began: a controller that is killed may lose what it had just taken, and give the id to another job.
        there = {
            record.tag: job_id
            for record in records
            if (job_id := record.claimed_by() or record.state().job_id) and not _may_be_lost(record)
        }
        wanted = [record for record in records if is_open(record) or _may_be_lost(record)]
        doubts = _look(wanted, there, warn, pause) if wanted else {}
    except (HpclaunchError, OSError) as error:
        return [_unknown(record, error) for record in records]
    outcomes = []
    for record in records:
        job_id = there.get(record.tag)
        state = record.state()
        if state.status and state.status.has_ended and state.job_id:
            why = f"it has ended: {state.status.state}"
            outcomes.append(Outcome(record, "present", state.job_id, why))
        elif job_id and state.cancelled:
            outcomes.append(Outcome(record, "present", job_id, "its end was asked for"))
        elif job_id:
            if job_id != state.job_id:
                lifecycle.note(warn, f"the job {job_id} is there, but ", partial(record.submitted, job_id))
            outcomes.append(Outcome(record, "present", job_id))
        elif record.tag in doubts:
            outcomes.append(Outcome(record, "unknown", why=doubts[record.tag], status=3))
        elif is_open(record) or _may_be_lost(record):
            outcomes.append(Outcome(record, "absent"))
        else:
            outcomes.append(Outcome(record, "refused", why="it was never submitted", status=3))
    return outcomes


def _look(wanted: Sequence[Record], there: dict[str, str], warn: Warn, pause: retry.Pause) -> dict[str, str]:
    """Adds to `there`, tag -> job id, what the scheduler knows of these, and notes it. Tag -> why nobody can
    tell, for those of which it knows nothing. Raises HpclaunchError and OSError."""
    target = lifecycle.scheduler_of(wanted[0])
    there |= retry.find(target, wanted, pause)
    for record in wanted:
        if (job_id := there.get(record.tag)) and is_open(record):
            lifecycle.note(warn, f"the job {job_id} is there, but ", partial(record.submitted, job_id))
    known = [record for record in wanted if record.state().job_id is not None]
    if known:  # also what ended before it began, which the accounts know when the controller has forgotten it
        lifecycle.ask(known, warn)
    others = [record for record in wanted if record.tag not in there]
    doubtful = [record for record in others if is_open(record) or _may_be_lost(record)]
    return target.doubts(doubtful) if doubtful else {}


def _may_be_lost(record: Record) -> bool:
    """Whether it has an id and no end, nobody asked for that, and there is no sign that it began."""
    state = record.state()
    if state.job_id is None or state.cancelled or (state.status and state.status.has_ended):
        return False
    return unknown.never_began(record)


def _send(
    record: Record,
    needed: _Needed,
    submission_of: Callable[[Record], Submission],
    held: int,
    warn: Warn,
    pause: retry.Pause,
) -> Outcome:
    try:
        dependency = dependencies.words(record, dependencies.ids(record, *needed))
        submission = structs.replace(submission_of(record), dependency=dependency)
    except dependencies.Never as error:
        lifecycle.never(record, str(error), warn)
        return Outcome(record, "refused", why=str(error), status=3)
    except (HpclaunchError, OSError) as error:
        status = error.exit_status if isinstance(error, HpclaunchError) else 3
        return Outcome(record, "absent", why=str(error), status=status)
    with ExitStack() as stack:
        try:
            lock = stack.enter_context(sending.begun(record)) if held == sending.NONE else held
        except (HpclaunchError, OSError) as error:
            return _unknown(record, error)
        return _sent(record, structs.replace(submission, held=(lock,)), warn, pause)


def _sent(record: Record, submission: Submission, warn: Warn, pause: retry.Pause) -> Outcome:
    try:
        return Outcome(record, "sent", lifecycle.send(record, submission, warn, pause))
    except HpclaunchError as error:
        known = record.state().status
        found: Found = "refused" if known and known.has_ended else "unknown"
        return Outcome(record, found, "", str(error), error.exit_status)


def _unknown(record: Record, error: Exception) -> Outcome:
    return Outcome(record, "unknown", "", str(error), 3)
