"""What is known of the tasks of a job array that have ended: a scheduler forgets them one by one."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from hpclaunch.records import files
from hpclaunch.records.record import Record
from hpclaunch.values.job import JobStatus
from hpclaunch.values.sweep import Points

_NAME = "tasks.json"
_POINTS = "points.json"


class _Ended(Struct, frozen=True):
    tasks: dict[int, JobStatus]
    schema: int = 1


def ended(record: Record) -> dict[int, JobStatus]:
    """The tasks whose end is known. Raises HpclaunchError for a damaged file."""
    known = files.parsed(record.folder / _NAME, _Ended)
    return known.tasks if known is not None else {}


def note(record: Record, found: Mapping[int, JobStatus]) -> None:
    """Adds tasks that have ended to those that are known. Raises OSError and HpclaunchError."""
    with files.locked(record.folder / "lock"):
        known = ended(record)
        both = {**known, **found}
        if both != known:
            files.replace(record.folder / _NAME, msgspec.json.encode(_Ended(dict(sorted(both.items())))))


def points(record: Record) -> Points | None:
    """The points of the sweep that the record is of, None for any other job. Raises HpclaunchError for a
    damaged file."""
    return files.parsed(record.folder / _POINTS, Points)


def files_of(points: Points, words: bytes) -> dict[str, bytes]:
    """The files by which a record knows its points, and its tasks theirs."""
    return {_POINTS: msgspec.json.encode(points), **({"points": words} if words else {})}
