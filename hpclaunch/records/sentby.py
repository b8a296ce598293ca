"""Which of its scheduler's ways sent a job. What later commands find on the machine may be another one."""

from pathlib import Path

import msgspec
from msgspec import Struct

from hpclaunch.records import files
from hpclaunch.records.record import Record


class SentBy(Struct, frozen=True):
    """`via` is the way by its name in the site's key, and `why` the reason that it was taken."""

    via: str
    why: str


def note(record: Record, via: str, why: str) -> None:
    """Before the job is sent. Raises HpclaunchError where the record does not take it."""
    with files.explained("which way sends the job"):
        files.replace(_file(record), msgspec.json.encode(SentBy(via, why)))


def is_noted(record: Record) -> bool:
    """Whether there is a note, of a try before this one."""
    return _file(record).exists()


def read(record: Record) -> SentBy | None:
    """None where nothing is noted: Slurm's commands sent the job then, if it was sent. Raises HpclaunchError
    for a damaged file."""
    return files.parsed(_file(record), SentBy)


def _file(record: Record) -> Path:
    return record.folder / "sent-by.json"
