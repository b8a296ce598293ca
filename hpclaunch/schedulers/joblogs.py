"""The logs of jobs that do not write them where the record is."""

from collections.abc import Callable
from pathlib import Path

from hpclaunch.records.record import Record
from hpclaunch.schedulers.contract import Warn
from hpclaunch.schedulers.lifecycle import scheduler_of
from hpclaunch.values.errors import InputError, SchedulerError


def log_bringer(record: Record, warn: Warn) -> tuple[Callable[[], bool], float]:
    """What brings the log up to date, and how long to let pass before it is called again. It warns once of a
    trouble that lasts, and gives False. Raises SchedulerError."""
    target = scheduler_of(record)
    said = ""

    def bring() -> bool:
        nonlocal said
        try:
            target.bring_log(record)
            said = ""
        except (SchedulerError, OSError) as error:
            if str(error) != said:
                warn(f"the log is not complete: {error}")
            said = str(error)
        return not said

    return bring, target.log_poll_s


def worker_logs(record: Record, warn: Warn) -> list[Path]:
    """The logs of a job's workers, up to date: one file for each, with the pod's name. Raises InputError
    for a job on a scheduler that has none."""
    if record.intent.scheduler != "kubernetes":
        raise InputError("only jobs on Kubernetes have pods: `hpclaunch logs` shows all that this job wrote")
    from hpclaunch.schedulers.kubernetes import Kubernetes

    target = scheduler_of(record)
    assert isinstance(target, Kubernetes)
    try:
        target.bring_worker_logs(record)
    except (SchedulerError, OSError) as error:
        warn(f"the logs are not complete: {error}")
    return target.worker_logs(record)
