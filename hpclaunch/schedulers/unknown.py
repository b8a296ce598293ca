"""What is said of a job whose scheduler does not tell what became of it, and what a user can do then."""

import time
from datetime import datetime

import msgspec

from hpclaunch.records import sending
from hpclaunch.records.record import Record
from hpclaunch.values.job import JobStatus

_FORM = "%Y-%m-%d %H:%M:%S"
_BEING_SENT = "it is being submitted"
_NEVER_SEEN = (
    "it is not known to be submitted, since {since}: `hpclaunch submit --resume {tag}` finds out, and sends "
    "it if not; `hpclaunch forget {tag}` gives it up"
)
_NOT_BEGUN = (
    "it is not sent, since {since}: `hpclaunch submit --resume {tag}` sends it, `hpclaunch forget {tag}` "
    "gives it up"
)


def last_known(record: Record) -> JobStatus:
    """The status without asking anybody."""
    state = record.state()
    if state.status:
        return state.status
    if state.job_id is None:
        return JobStatus("UNKNOWN", _of_open(record))
    return JobStatus("UNKNOWN", "it was submitted, and nobody has learnt its state yet")


def forgotten(record: Record) -> JobStatus:
    """The status of a job that its scheduler does not know."""
    state = record.state()
    if state.status and (state.status.has_ended or state.given_up):
        return state.status
    if state.job_id is None:
        return JobStatus("UNKNOWN", _of_open(record))
    last = state.status or JobStatus("UNKNOWN")
    when = time.strftime(_FORM, time.localtime(state.checked))
    seen = f"; it was last seen {last.state} at {when}" if state.status else ""
    if never_began(record) and not (record.intent.slurm and record.intent.slurm.login):
        if state.cancelled:
            return msgspec.structs.replace(
                last, state="CANCELLED", reason="by hpclaunch cancel", cause="cancelled"
            )
        resume = f"`hpclaunch submit --resume {record.tag}`"
        seen += f", and it never began: {resume} sends it again, unless somebody may have cancelled it"
    seen += f"; `hpclaunch forget {record.tag}` gives it up"
    return msgspec.structs.replace(last, state="UNKNOWN", reason=f"the scheduler no longer knows it{seen}")


def never_began(record: Record) -> bool:
    """Whether a job has started no rank so far, as its claim tells where that is in the record."""
    try:
        return record.intent.claims and record.claimed_by() is None
    except OSError:
        return False


def _of_open(record: Record) -> str:
    if sending.is_held(record):
        return _BEING_SENT
    since = datetime.fromisoformat(record.intent.created.replace("Z", "+00:00")).astimezone()
    said = _NEVER_SEEN if sending.has_begun(record) else _NOT_BEGUN
    return said.format(tag=record.tag, since=since.strftime(_FORM))
