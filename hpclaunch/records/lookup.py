"""Finding records: by job id, by tag, or all of them."""

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

from hpclaunch.records import files, index, sets, tasks
from hpclaunch.records.record import Record
from hpclaunch.values.errors import HpclaunchError, InputError
from hpclaunch.values.sweep import Points


class _OfSeveralSites(InputError):
    """A name that does not say which record it means."""


def find(text: str) -> Record:
    """The record that `text` names: the scheduler's job id or the tag, alone or after "site/".

    Raises InputError where no record, or records of several sites, have it; HpclaunchError where the
    record is damaged.
    """
    site, slash, name = text.rpartition("/")
    folders = [folder for folder in _site_folders() if not slash or folder.name == site]
    unread: list[str] = []
    found = [record for folder in folders if (record := _find_at(folder, name, unread))]
    if len(found) > 1:
        choices = " or ".join(f"{record.intent.site}/{name}" for record in found)
        raise _OfSeveralSites(f"several sites have a job {name}: say {choices}")
    if not found:
        also = ""
        if unread:
            whose = f"one of the {len(unread)} records" if len(unread) > 1 else "the record"
            also = f"; it may be {whose} that cannot be read: {unread[0]}"
        raise InputError(_unknown(text) + also)
    return found[0]


def _unknown(text: str) -> str:
    array, _, number = text.rpartition("_")
    if array and number.isascii() and number.isdigit():
        try:
            tasks = find(array).intent.tasks
        except _OfSeveralSites:
            raise
        except InputError:
            tasks = None
        if tasks is not None:
            what = (
                "is one task, and this is for whole jobs"
                if tasks
                else "is no task, since the job is no array"
            )
            return f"{text} {what}: say {array}"
    leader, _, number = text.rpartition("+")
    if leader and number.isascii() and number.isdigit():
        with contextlib.suppress(InputError):
            find(leader)
            return f"{text} is one allocation of a job, and this is for whole jobs: say {leader}"
    folder = files.home()
    if not folder.is_dir():
        return f"no record of a job {text}: there is no folder {folder} (HPCLAUNCH_HOME)"
    return f"no record of a job {text} in {folder}: `hpclaunch list` shows the jobs that are known"


def find_task(text: str) -> tuple[Record, int | None]:
    """The record that `text` names as for `find`, and where it is ID_TASK the task of a job array. Where the
    points of a sweep are jobs of their own, ID_POINT is the job of that point, ID being any of them. Raises
    as `find` does, and InputError for a task or point that is not there."""
    array, _, number = text.rpartition("_")
    if array and number.isascii() and number.isdigit():
        try:
            record = find(array)
        except InputError:
            return find(text), None
        if record.intent.tasks:
            if int(number) >= record.intent.tasks:
                raise InputError(f"job {array} has the tasks 0 to {record.intent.tasks - 1}, and no {number}")
            return record, int(number)
        points = tasks.points(record)
        if points is not None:
            return _of_point(record.folder.parent, points, int(number), array)
    return find(text), None


def _of_point(site_folder: Path, points: Points, number: int, said: str) -> tuple[Record, int | None]:
    for tag in points.parts:
        with contextlib.suppress(HpclaunchError):
            record = Record.read(site_folder / tag)
            own = tasks.points(record)
            for task, point in enumerate(own.points if own is not None else ()):
                if point.number == number:
                    return record, task if record.intent.tasks else None
    if number >= points.total:
        raise InputError(f"the sweep of job {said} has the points 0 to {points.total - 1}, and no {number}")
    raise InputError(
        f"point {number} of the sweep of job {said} has no record, or was not of the same command"
    )


def all_records() -> tuple[list[Record], list[str]]:
    """Every record, newest first, and one line for each that is damaged."""
    records, problems = [], []
    for folder in _site_folders():
        try:
            sets.settle(folder)
        except OSError as error:
            problems.append(f"records in {folder} cannot be moved to their places: {error}")
        for path in _record_folders(folder):
            try:
                records.append(Record.read(path))
            except HpclaunchError as error:
                problems.append(str(error))
    records.sort(key=lambda record: (record.intent.created, record.tag), reverse=True)
    return records, problems


def _site_folders() -> list[Path]:
    """Raises HpclaunchError where the records cannot be reached: that is not that there are none."""
    jobs = files.home() / "jobs"
    try:
        return sorted(path for path in jobs.iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise HpclaunchError(f"the records cannot be read: {error}") from error


def _record_folders(site_folder: Path) -> Iterator[Path]:
    return (path for path in site_folder.iterdir() if _is_tag(path.name))


def _find_at(site_folder: Path, name: str, unread: list[str]) -> Record | None:
    """Adds to `unread` what is wrong with records that cannot be read."""
    tag = name if _is_tag(name) else index.tag_of(site_folder, name)
    if tag and _is_tag(tag):
        if not (site_folder / tag).is_dir():
            with contextlib.suppress(OSError):
                sets.settle(site_folder)
        if (site_folder / tag).is_dir():
            return Record.read(site_folder / tag)
    newest: Record | None = None
    for path in _record_folders(site_folder):
        try:
            record = Record.read(path)
            matches = record.state().job_id == name
        except HpclaunchError as error:
            unread.append(str(error))
            continue  # a damaged record of another job is no reason to hide this one
        if matches and (newest is None or record.intent.created > newest.intent.created):
            newest = record
    return newest


def _is_tag(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False
