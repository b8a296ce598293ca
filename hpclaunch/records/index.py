"""From a scheduler's job id to its record, without reading every record.

`jobs/<site>/ids/<job id>` holds the record's tag. The file is a help only: the truth is in the records,
and a search through them finds what the index lacks.
"""

import contextlib
import os
import re
from pathlib import Path

from hpclaunch.records import files

JOB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


def add(site_folder: Path, job_id: str, tag: str) -> None:
    """Points `job_id` at `tag`. A scheduler that was set up anew counts from 1 again: the newest wins.

    A new file need not be on the disk when this returns: what a crash leaves of it, nothing or an empty one,
    sends `find` to the records. An old one in its place would not.
    """
    path = files.private_folder(site_folder / "ids") / job_id
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        files.replace(path, tag.encode())
        return
    try:
        os.write(descriptor, tag.encode())
    finally:
        os.close(descriptor)


def tag_of(site_folder: Path, job_id: str) -> str | None:
    """The tag noted for `job_id`, if any."""
    if not JOB_ID.fullmatch(job_id):
        return None
    try:
        return (site_folder / "ids" / job_id).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None


def allocate(site_folder: Path, tag: str) -> str:
    """The next free number of the site, for a scheduler that has none of its own; taken for `tag`.

    Two submissions at the same moment get different numbers. Raises HpclaunchError.
    """
    with files.explained("the job's number"):
        folder = files.private_folder(site_folder / "ids")
        temporary = files.unused_name(folder, ".id.")
        files.write_synced(temporary, tag.encode())
        try:
            number = max((int(name) for name in os.listdir(folder) if name.isdigit()), default=0)
            while True:
                number += 1
                with contextlib.suppress(FileExistsError):  # taken since the folder was read
                    os.link(temporary, folder / str(number))
                    break
        finally:
            temporary.unlink()
        files.sync_folder(folder)
        return str(number)
