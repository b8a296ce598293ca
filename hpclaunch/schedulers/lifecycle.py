"""The life of a job on any scheduler: submit, refresh, wait. What is learnt goes in the record."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial

import msgspec

from hpclaunch.records import files, secrets, sending
from hpclaunch.records.record import Cluster, Record
from hpclaunch.schedulers import retry, unknown
from hpclaunch.schedulers.contract import Refused, Scheduler, Warn
from hpclaunch.schedulers.patience import Patience, WaitFailed
from hpclaunch.values.errors import HpclaunchError, SchedulerError, first_line
from hpclaunch.values.job import JobStatus, Submission
from hpclaunch.values.slurmaccess import SlurmAccess

FIRST_POLL_S = 0.5
UNKNOWN_POLLS = 3


Where = tuple[str, str | None, Cluster | None, SlurmAccess | None]


def scheduler(
    name: str,
    slurm_conf: str | None = None,
    cluster: Cluster | None = None,
    slurm: SlurmAccess | None = None,
) -> Scheduler:
    """The scheduler of that name: slurm, local, or kubernetes, which needs a cluster. `slurm` is the way to
    Slurm where there is no record yet that has one."""
    if name == "slurm" and slurm is not None and slurm.login is not None:
        from hpclaunch.schedulers.ssh.slurm import SlurmOverSsh

        return SlurmOverSsh(slurm_conf, slurm)
    if name == "slurm":
        from hpclaunch.schedulers.slurm import Slurm

        return Slurm(slurm_conf, slurm)
    if name == "local":
        from hpclaunch.schedulers.local import Local

        return Local()
    if name == "kubernetes" and cluster:
        from hpclaunch.schedulers.kubernetes import Kubernetes

        return Kubernetes(cluster)
    raise HpclaunchError(f"this hpclaunch has no scheduler {name!r}")


def scheduler_of(record: Record) -> Scheduler:
    """The scheduler that the record was made for, on the same cluster."""
    return scheduler(*where(record))


def submit(record: Record, submission: Submission, warn: Warn, pause: retry.Pause = time.sleep) -> str:
    """Sends the job of a new record and gives its id.

    Raises SchedulerError where nobody can tell whether the job arrived, and then says how to find out;
    Refused where the scheduler said no, and HpclaunchError where nothing could be sent. A record that
    cannot take the id is a warning: the job is there, and later commands find it by its tag.
    """
    with ExitStack() as stack:
        with files.explained("the record of the job"):
            held = stack.enter_context(sending.first(record))
            known = record.state().job_id
        if known is not None:  # another process found the record before this one held it
            return known
        return send(record, msgspec.structs.replace(submission, held=(held,)), warn, pause)


def send(record: Record, submission: Submission, warn: Warn, pause: retry.Pause) -> str:
    """As `submit`, for a record that this process holds, and of which there surely is no job."""
    try:
        job_id = retry.deliver(scheduler_of(record), record, submission, warn, pause)
    except KeyboardInterrupt:
        warn(f"interrupted. {_may_have_arrived(record)}")
        raise
    except SchedulerError as error:
        if not isinstance(error, Refused):
            raise SchedulerError(str(error), _may_have_arrived(record)) from error
        never(record, first_line(error), warn)
        raise
    except HpclaunchError as error:
        never(record, first_line(error), warn)
        raise
    note(warn, f"the job {job_id} is submitted, but ", partial(record.submitted, job_id))
    return job_id


def never(record: Record, why: str, warn: Warn) -> None:
    """Notes that a record has surely no job, and gets none."""
    remove_secrets(record, warn)
    note(warn, "", partial(record.update, JobStatus("FAILED", f"it was never submitted: {why}")))


def refresh(records: Iterable[Record], warn: Warn) -> dict[str, JobStatus]:
    """Tag -> status. Asks each scheduler once for all of its jobs that had not ended; of one that cannot be
    reached the last known states stand, and `warn` is called. Damaged records are warned of and left out."""
    result: dict[str, JobStatus] = {}
    groups: dict[Where, list[Record]] = {}
    for record in records:
        try:
            state = record.state()
        except HpclaunchError as error:
            warn(str(error))
            continue
        known = state.status
        if known and known.has_ended:
            result[record.tag] = known
        else:
            groups.setdefault(where(record), []).append(record)
    for members in groups.values():
        try:
            result |= ask(members, warn)
        except HpclaunchError as error:
            warn(f"the states of {len(members)} jobs are not fresh: {error}")
            result |= {record.tag: unknown.last_known(record) for record in members}
    return result


def ask(records: Sequence[Record], warn: Warn) -> dict[str, JobStatus]:
    """Tag -> status for records of one scheduler. Raises SchedulerError where it cannot be reached."""
    target = scheduler_of(records[0])
    checked = time.time()
    _find_lost(target, records, warn)
    before = {record.tag: record.state() for record in records}
    known = [record for record in records if before[record.tag].job_id is not None]
    fresh = target.status(known) if known else {}
    result = {}
    for record in records:
        status = fresh.get(record.tag)
        if status is not None and status.has_ended:
            status = _with_cause(record, status)
        if status is None:
            status = unknown.forgotten(record)
        elif status != before[record.tag].status:
            # A supervisor may have noted the end since it was asked.
            note(warn, "", partial(record.update, status, checked, before[record.tag]))
        if status.has_ended:
            remove_secrets(record, warn)
        result[record.tag] = status
    return result


def ask_of(record: Record, warn: Warn) -> JobStatus:
    """The status of one job. Where its end is known that stands if the scheduler cannot be reached, and
    `warn` is called. Raises SchedulerError where it is not, and HpclaunchError for a damaged record."""
    try:
        return ask([record], warn)[record.tag]
    except SchedulerError as error:
        known = unknown.last_known(record)
        if not known.has_ended:
            raise
        warn(f"{first_line(error)}: this was known before")
        return known


def _with_cause(record: Record, status: JobStatus) -> JobStatus:
    from hpclaunch.schedulers import causes  # who submits does not pay for it

    return causes.explained(status, record.log, record.state().cancelled, record.folder / "plan.json")


def wait(record: Record, warn: Warn, pause: Callable[[float], None] = time.sleep) -> JobStatus:
    """Returns when the job has ended, with its log in the record. As `wait_until` otherwise."""
    status = wait_until(record, warn, lambda status: status.has_ended, pause)
    keep_log(record, warn)
    return status


def wait_until(
    record: Record,
    warn: Warn,
    enough: Callable[[JobStatus], bool],
    pause: Callable[[float], None] = time.sleep,
) -> JobStatus:
    """Returns the first status that is `enough`. Between two questions it calls `pause` with the seconds to
    wait.

    Raises WaitFailed where the scheduler cannot be reached for 10 minutes or does not know the job.
    """
    slowest = scheduler_of(record).slowest_poll_s
    interval = min(FIRST_POLL_S, slowest)
    patience = Patience(warn)
    unknown = 0
    while True:
        status = patience.ask(lambda: ask_of(record, warn))
        if status is not None:
            if enough(status):
                return status
            unknown = unknown + 1 if status.state == "UNKNOWN" else 0
            if unknown >= UNKNOWN_POLLS:
                raise WaitFailed(f"how the job ended is not known: {status.reason}")
        pause(interval)
        interval = min(interval * 1.5, slowest)


def cancel(record: Record, warn: Warn, known: JobStatus | None = None) -> None:
    """Asks for the end of a job that has not ended; `known` is what the scheduler has just said of it. Raises
    SchedulerError.

    The secrets go at once: perhaps nobody asks for the job again. It has read them by now, or never will.
    """
    if record.state().job_id is None:
        raise SchedulerError("the job is not known to be submitted, so there is nothing to cancel")
    in_slurm = record.intent.scheduler == "slurm"
    if in_slurm and known is not None and known.state == "UNKNOWN":
        # Its number may be another job's: a controller that lost its state gives them again.
        raise SchedulerError(f"nothing is cancelled: {known.reason}")
    if in_slurm:  # it does not tell who did it, and soon forgets a job that never began
        note(warn, "", record.cancelled)
    try:
        scheduler_of(record).cancel(record)
    except Refused:
        if in_slurm:
            note(warn, "", partial(record.cancelled, False))
        raise
    remove_secrets(record, warn)


def remove_secrets(record: Record, warn: Warn) -> None:
    """Removes the file of a job's secrets that nobody reads any more. Where it stays that is a warning."""
    try:
        secrets.remove(record)
    except OSError as error:
        warn(f"the job's secrets stay on the disk, remove them: {error}")


def free_name(record: Record) -> bool:
    """Removes a job that has ended from a scheduler that keeps its name taken; True where there is such a
    scheduler. Raises SchedulerError."""
    target = scheduler_of(record)
    if not target.keeps_ended or record.state().job_id is None:
        return False
    target.cancel(record)
    return True


def keep_log(record: Record, warn: Warn) -> bool:
    """Brings the job's log into the record, where the scheduler has it. The status says more than the log, so
    trouble is a warning, and False."""
    if record.state().job_id is None:
        return True
    try:
        scheduler_of(record).bring_log(record)
    except (SchedulerError, OSError) as error:
        warn(f"the log is not complete: {error}")
        return False
    return True


def where(record: Record) -> Where:
    """The scheduler and the cluster of it, which answer for many records at once."""
    intent = record.intent
    return intent.scheduler, intent.slurm_conf, intent.cluster, intent.slurm


def _find_lost(target: Scheduler, records: Sequence[Record], warn: Warn) -> None:
    """Notes the jobs of submissions whose end nobody saw, where they are there."""
    lost = [record for record in records if record.state().job_id is None]
    found = retry.arrived(target, lost) if lost else {}
    for record in lost:
        if record.tag in found:
            note(warn, "", partial(record.submitted, found[record.tag]))


def _may_have_arrived(record: Record) -> str:
    command = f"hpclaunch submit --resume {record.intent.site}/{record.tag}"
    return f"The job may have arrived all the same: `{command}` finds out, and sends it if not."


def note(warn: Warn, preface: str, write: Callable[[], None]) -> None:
    """Writes to a record. What is known of a job must not be lost because its record cannot take it."""
    try:
        write()
    except (OSError, HpclaunchError) as error:
        warn(f"{preface}its record cannot be written: {error}")
