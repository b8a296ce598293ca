"""`hpclaunch wait --junit`."""

import os
from pathlib import Path
from typing import Any

from hpclaunch.cli import following
from hpclaunch.cli.outcomes import rows_of, status_of
from hpclaunch.cli.writing import put
from hpclaunch.records.files import open_log
from hpclaunch.records.record import Record
from hpclaunch.report.junit import Case, document
from hpclaunch.schedulers.patience import WaitFailed
from hpclaunch.values.errors import InputError
from hpclaunch.values.job import JobStatus

TAIL = 8192  # bytes of a log


def wait(record: Record, file: str) -> int:
    """As `following.wait`; then a case for the job, or for each point of its sweep, is in `file`. Raises
    InputError at once where no file can be there, and WaitFailed when that is in the file too."""
    folder = os.path.dirname(os.path.abspath(file))
    if not os.path.isdir(folder):
        raise InputError(f"{file} cannot be written: there is no folder {folder}")
    name = record.intent.name
    try:
        status = following.wait(record)
    except WaitFailed as error:
        put(document(name, record.intent.site, [Case(name, "UNKNOWN", str(error))]), file)
        raise
    put(document(name, record.intent.site, _cases(record)), file)
    return status


def _cases(record: Record) -> list[Case]:
    (rows,) = rows_of([record], {})
    if record.intent.is_array:
        return [_of_point(record, task, row) for task, row in enumerate(rows)]
    known = status_of(record, None)
    return [
        Case(
            name=_name(record, rows[0]),
            state=known.state,
            said=known.described,
            cause=known.cause or "",
            seconds=rows[0]["seconds"] or 0,
            output=_tail(record.log),
        )
    ]


def _of_point(record: Record, task: int, row: dict[str, Any]) -> Case:
    status = JobStatus(row["state"], row["reason"], row["exit_code"], row["signal"])
    return Case(
        name=_name(record, row),
        state=status.state,
        said=status.described,
        seconds=row["seconds"] or 0,
        output=_tail(record.log_of(task)),
    )


def _name(record: Record, row: dict[str, Any]) -> str:
    if not row["values"]:
        return record.intent.name
    values = " ".join(f"{key}={value}" for key, value in row["values"].items())
    return f"{record.intent.name} {row['point']} {values}"


def _tail(log: Path) -> str:
    """The end of a log, from the beginning of a line on."""
    try:
        with open_log(log) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            data = file.read(TAIL)
    except OSError:
        return ""
    if size > TAIL:
        data = data.partition(b"\n")[2] or data
    return data.decode("utf-8", "replace")
