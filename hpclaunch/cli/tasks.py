"""`hpclaunch status`, `logs`, `wait` and `cancel` of job arrays and their tasks: JOB_ID, or JOB_ID_TASK."""

import sys
import time
from collections.abc import Callable
from typing import Any

import click

from hpclaunch.cli.following import standing_by
from hpclaunch.cli.output import print_facts, print_json, say
from hpclaunch.records import tasks as known_tasks
from hpclaunch.records.record import Record
from hpclaunch.report.table import aligned
from hpclaunch.schedulers import arrays, jobarrays, joblogs, lifecycle
from hpclaunch.schedulers import follow as log
from hpclaunch.schedulers.patience import Patience, WaitFailed
from hpclaunch.values.errors import InputError, SchedulerError
from hpclaunch.values.job import JobStatus
from hpclaunch.values.sweep import Points

_FAILED_SHOWN = 50
_POLL_S = 1.0


def status(record: Record, task: int | None, facts: dict[str, Any], as_json: bool) -> None:
    """Shows an array: `facts` are what is shown of every job, and beside that how many tasks are in each
    state, and those that failed. Or shows one task. Raises SchedulerError and HpclaunchError."""
    tasks = jobarrays.of_record(record).tasks([record])[record.tag] if record.state().job_id else {}
    points = known_tasks.points(record)
    if task is not None:
        own = _task_facts(record, task, tasks.get(task, JobStatus("UNKNOWN")), points)
        if as_json:
            print_json(own)
            return
        said = own.pop("said")
        print_facts({**own, "values": _text(own["values"]), "state": said})
        return
    failed = [
        _task_facts(record, number, each, points)
        for number, each in tasks.items()
        if each.has_ended and each.state != "COMPLETED"
    ]
    parts = points.parts if points is not None and len(points.parts) > 1 else ()
    facts |= {"log": str(record.log.with_name("output-*.log")), "parts": parts}
    if as_json:
        print_json({**facts, "tasks": record.intent.tasks, "counts": arrays.counts(tasks), "failed": failed})
        return
    print_facts({**facts, "parts": f"{len(parts)} job arrays" if parts else ""})
    if failed:
        rows = [(each["job_id"], _text(each["values"]), each["said"]) for each in failed[:_FAILED_SHOWN]]
        click.echo("\n" + aligned(("TASK", "POINT", "STATE"), rows))
    if len(failed) > _FAILED_SHOWN:
        left, job_id = len(failed) - _FAILED_SHOWN, record.state().job_id
        click.echo(f"... and {left:,} more: `hpclaunch results {job_id}` lists all")


def logs(record: Record, task: int | None, follow: bool) -> None:
    """Prints the log of a task. Raises InputError for an array without one."""
    job_id = record.state().job_id
    if task is None:
        last = record.intent.tasks - 1
        raise InputError(f"job {job_id} is an array: say which task, {job_id}_0 to {job_id}_{last}")
    reader = log.LogReader(record.log_of(task))
    bring, _ = joblogs.log_bringer(record, say)

    def show() -> None:
        bring()
        log.copy(reader, sys.stdout.buffer)

    if follow:
        _until_end(record, task, show)
        return
    is_whole = bring()
    if not reader.path.exists():
        if not is_whole:
            sys.exit(SchedulerError.exit_status)
        say("the task has written nothing yet")
    log.copy(reader, sys.stdout.buffer)


def wait(record: Record, task: int) -> int:
    """Waits for the end of a task and gives its own exit status. Raises WaitFailed."""
    with standing_by():
        return _until_end(record, task, lambda: None)


def cancel(record: Record, task: int) -> None:
    """Asks for the end of one task. Raises SchedulerError."""
    known = _status_of(record, task)
    if known.has_ended:
        say(f"task {record.state().job_id}_{task} has ended already: {known.described}")
        return
    if known.state == "UNKNOWN":  # its number may be another job's by now
        raise SchedulerError("nothing is cancelled: the scheduler no longer knows the task")
    jobarrays.of_record(record).cancel_task(record, task)
    if known.state == "PENDING":
        # Slurm keeps nothing of a task that never began. Should it have begun by now, its end replaces this.
        known_tasks.note(record, {task: JobStatus("CANCELLED", submitted=known.submitted)})


def _until_end(record: Record, task: int, meanwhile: Callable[[], None]) -> int:
    """Calls `meanwhile` after each question; says why the task did not complete."""
    patience, unknown = Patience(say), 0
    while True:
        known = patience.ask(lambda: _status_of(record, task))
        meanwhile()
        if known is not None and known.has_ended:
            if known.state != "COMPLETED":
                say(f"task {record.state().job_id}_{task}: {known.described}")
            return known.exit_status
        if known is not None:
            unknown = unknown + 1 if known.state == "UNKNOWN" else 0
        if unknown >= lifecycle.UNKNOWN_POLLS:
            raise WaitFailed("how the task ended is not known: the scheduler no longer knows it")
        time.sleep(_POLL_S)


def _status_of(record: Record, task: int) -> JobStatus:
    return jobarrays.of_record(record).tasks([record])[record.tag][task]


def _task_facts(record: Record, task: int, status: JobStatus, points: Points | None) -> dict[str, Any]:
    return {
        "job_id": f"{record.state().job_id}_{task}",
        "name": record.intent.name,
        "task": task,
        "point": points.points[task].number if points else None,
        "values": points.values(task) if points else {},
        "state": status.state,
        "said": status.described,
        "exit_code": status.exit_code,
        "signal": status.signal,
        "nodes": status.nodes,
        "submitted": status.submitted,
        "started": status.started,
        "ended": status.ended,
        "log": str(record.log_of(task)),
    }


def _text(values: dict[str, str]) -> str:
    """On one line, whatever the values have in them."""
    pairs = values.items()
    return " ".join(f"{key}={value if value.isprintable() else repr(value)}" for key, value in pairs)
