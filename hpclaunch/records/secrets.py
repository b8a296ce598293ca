"""Values of secrets on their way to a job: a file for the owner alone, outside every record.

The form is NAME=value, each ended by a NUL byte, as in /proc/PID/environ: no value needs quoting. The job
reads and removes the file; `remove` is for the job that never came to it.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from hpclaunch.records import files
from hpclaunch.records.record import Record


def path_of(record: Record) -> Path:
    """Where the secrets of a submission are, while they are."""
    return record.folder.parent.parent.parent / "secrets" / record.tag


def write(record: Record, values: Mapping[str, str]) -> Path:
    """Writes the file, in place of one of the same submission, and gives its path. Raises HpclaunchError;
    then nothing new of it is on disk."""
    path = path_of(record)
    with files.explained("the file of the job's secrets"):
        files.private_folder(path.parent)
        remove(record)
        files.replace(path, text(values))
    return path


def text(values: Mapping[str, str]) -> bytes:
    """The content of such a file."""
    return b"".join(os.fsencode(f"{name}={value}\0") for name, value in values.items())


def remove(record: Record) -> None:
    """Removes the file if it is still there, and what a process that was killed left of it. Raises OSError
    where it stays."""
    path = path_of(record)
    for left in (path, *path.parent.glob(f".{path.name}.*")):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            left.unlink()
