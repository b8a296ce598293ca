"""What became of jobs, and of the points of sweeps: their states, how long they ran, and their metrics."""

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from hpclaunch.cli.output import say
from hpclaunch.records import metrics, tasks
from hpclaunch.records.lookup import find
from hpclaunch.records.record import Record
from hpclaunch.records.searching import Metric
from hpclaunch.schedulers import jobarrays, lifecycle
from hpclaunch.spec.read import parse_job
from hpclaunch.spec.source import read_text
from hpclaunch.spec.sweep import MetricSpec
from hpclaunch.values.errors import InputError, SchedulerError
from hpclaunch.values.job import ENDED, JobStatus

NAMED = 8  # in a message nobody reads more

Row = dict[str, Any]
Metrics = dict[str, Metric]


def all_of(record: Record) -> list[Record]:
    """The records of the sweep that this one is of, as far as they are there."""
    points = tasks.points(record)
    if points is None:
        return [record]
    found = []
    for tag in points.parts:
        try:
            found.append(find(f"{record.intent.site}/{tag}"))
        except InputError:
            say(f"a part of the sweep has no record any more: {tag}")
    return found


def rows_of(records: Sequence[Record], wanted: Metrics) -> list[list[Row]]:
    """A row for each point of each record, or one for a record without points, such as that of a chain, whose
    links write one log."""
    statuses = lifecycle.refresh(records, say)
    arrays = [record for record in records if record.intent.is_array and record.state().job_id]
    of_tasks = _tasks(arrays) if arrays else {}
    found = []
    with metrics.Reader(wanted, say) as reader:
        for record in records:
            points = tasks.points(record)
            lifecycle.keep_log(record, say)
            if record.tag in of_tasks:
                job_id = record.state().job_id
                found.append(
                    [
                        _row(
                            f"{job_id}_{task}",
                            points.points[task].number if points else task,
                            points.values(task) if points else {},
                            status,
                            reader.read(record.log_of(task)),
                        )
                        for task, status in of_tasks[record.tag].items()
                    ]
                )
                continue
            number, values = (points.points[0].number, points.values(0)) if points else (0, {})
            status = statuses.get(record.tag, JobStatus("UNKNOWN"))
            measured = reader.read(record.log)
            found.append([_row(record.state().job_id or record.tag, number, values, status, measured)])
    return found


def failed_points(records: Sequence[Record]) -> frozenset[int]:
    """The numbers of the points that have ended and did not complete. Says how many there are of which nobody
    knows how they ended: they are none of these."""
    rows = [row for rows in rows_of(records, {}) for row in rows]
    unknown = [row["job_id"] for row in rows if row["state"] == "UNKNOWN"]
    if unknown:
        named = ", ".join(unknown[:NAMED]) + (", ..." if len(unknown) > NAMED else "")
        say(
            f"how {len(unknown):,} of {len(rows):,} points ended is not known, and they are left out: {named}"
        )
    return frozenset(row["point"] for row in rows if row["state"] in ENDED and row["state"] != "COMPLETED")


def status_of(record: Record, task: int | None) -> JobStatus:
    """The state of a job or of a task of an array, as fresh as can be."""
    if task is None:
        return lifecycle.refresh([record], say).get(record.tag, JobStatus("UNKNOWN"))
    return _tasks([record])[record.tag][task]


def metrics_of(record: Record) -> Metrics:
    """What the record's job says of its metrics. Raises InputError for a damaged job."""
    file = str(record.folder / "job.yaml")
    job = parse_job(read_text(file, "job"), file, record.intent.directory).value
    return {
        name: Metric(metric.pattern, metric.take) if isinstance(metric, MetricSpec) else Metric(metric)
        for name, metric in job.metrics.items()
    }


def seconds(status: JobStatus) -> int | None:
    """How long it ran, or has been running."""
    if status.started is None:
        return None
    end = _moment(status.ended) if status.ended else datetime.now(timezone.utc)
    return max(0, round((end - _moment(status.started)).total_seconds()))


def _tasks(arrays: Sequence[Record]) -> dict[str, dict[int, JobStatus]]:
    """As Slurm tells them now, or where it cannot be asked what is known of their ends."""
    try:
        return jobarrays.of_record(arrays[0]).tasks(arrays)
    except SchedulerError as error:
        say(f"the states are not fresh: {error}")
    unknown = JobStatus("UNKNOWN", "nobody has learnt how it ended")
    return {
        record.tag: {task: known.get(task, unknown) for task in range(record.intent.tasks)}
        for record in arrays
        for known in (tasks.ended(record),)
    }


def _row(
    job_id: str, number: int, values: dict[str, str], status: JobStatus, measured: dict[str, str]
) -> Row:
    return {
        "job_id": job_id,
        "point": number,
        "values": values,
        "state": status.state,
        "exit_code": status.exit_code,
        "signal": status.signal,
        "reason": status.reason,
        "seconds": seconds(status),
        "metrics": measured,
    }


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
