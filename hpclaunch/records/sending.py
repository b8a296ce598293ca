"""Who may send a record's job: whoever holds its lock, and a command of a scheduler's that was given the
descriptor, for as long as it runs. A process that dies lets go, on whatever machine it was.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from hpclaunch.records import files, sets
from hpclaunch.records.record import Record
from hpclaunch.values.errors import HpclaunchError

# Filesystems without locks (Lustre without -o flock, some FUSE ones) say one of these.
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
# There nobody can tell whether a sender lives. sbatch gives up before: 15 attempts (MAX_RETRIES of
# src/sbatch/sbatch.c) with up to 15 s between them, each of at most a few times MessageTimeout.
FORGOTTEN_S = 3600.0
_LOOKS, _PAUSE_S = 5, 0.1  # another process that only looks holds the lock for a moment


LOCK = "sending"  # the file in the record
NONE = -1  # no descriptor


class StillSent(HpclaunchError):
    """Another process sends the job, or may."""


@contextlib.contextmanager
def first(record: Record) -> Iterator[int]:
    """Holds the lock of a record that this process has made; gives the descriptor. Raises OSError."""
    with _opened(record) as descriptor:
        if record.intent.lock_of:
            files.sync_folder(record.folder)  # the lock's file says that it has begun
        with contextlib.suppress(OSError):  # without locks nobody else sends before the hour is over
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor


@contextlib.contextmanager
def again(record: Record) -> Iterator[int]:
    """Holds the lock of a record whose sender is gone. One that has not begun to be sent has not afterwards
    either, and the descriptor is NONE. Raises StillSent where the sender is not gone, or may not be, and
    OSError."""
    if not _told_by_lock_of_all(record):
        _refuse_young(_lock_of_all(record))
    if not has_begun(record):
        yield NONE
        return
    with _opened(record) as descriptor:
        if record.intent.lock_of:
            files.sync_folder(record.folder)
        if not _taken(descriptor, fcntl.LOCK_EX):
            _refuse_young(record.folder / LOCK)
        os.utime(descriptor)
        yield descriptor


@contextlib.contextmanager
def begun(record: Record) -> Iterator[int]:
    """Begins to send what `again` found not begun, and holds its lock: not before all is there that the job
    needs, since what has begun is in doubt once Slurm may have forgotten it. Raises StillSent where another
    process has begun it since, and OSError."""
    with contextlib.ExitStack() as stack:
        try:
            descriptor = stack.enter_context(_opened(record, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            raise StillSent("another process has begun to send it") from None
        files.sync_folder(record.folder)
        _taken(descriptor, fcntl.LOCK_EX)  # without locks nobody else sends before the hour is over
        yield descriptor


def has_begun(record: Record) -> bool:
    """Whether the job may have been sent. Of those that one command sends the last ones have not where it was
    killed, until `begun` begins them. Raises OSError."""
    # By reading the folder, since of a single name NFS may remember that it was not there.
    return not record.intent.lock_of or LOCK in os.listdir(record.folder)


def is_held(record: Record) -> bool:
    """Whether another process sends the job at this moment, or is about to, as far as locks tell."""
    try:
        _told_by_lock_of_all(record)
        with _opened(record, os.O_RDWR) as descriptor:
            _taken(descriptor, fcntl.LOCK_SH)
    except StillSent:
        return True
    except OSError:
        return False
    return False


def _lock_of_all(record: Record) -> Path:
    return record.folder.parent / record.intent.lock_of / sets.LOCK


def _told_by_lock_of_all(record: Record) -> bool:
    """True where nobody sends the jobs that were submitted with it, False where no lock tells. Raises
    StillSent where somebody does, and OSError."""
    if not record.intent.lock_of:
        return True
    try:
        with _open(_lock_of_all(record), os.O_RDWR) as descriptor:
            return _taken(descriptor, fcntl.LOCK_SH)
    except FileNotFoundError:  # its record was removed
        return True


def _opened(record: Record, flags: int = os.O_RDWR | os.O_CREAT) -> AbstractContextManager[int]:
    return _open(record.folder / LOCK, flags)


@contextlib.contextmanager
def _open(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _taken(descriptor: int, kind: int) -> bool:
    """True when the lock is held; False where the filesystem has none. Raises StillSent."""
    for left in reversed(range(_LOOKS)):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if not left:
                raise StillSent("another process is sending it at this moment") from None
            time.sleep(_PAUSE_S)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return False
    raise AssertionError("unreachable")


def age_s(record: Record) -> float:
    """How many seconds ago the record was made, and so at the earliest the job was sent. Raises OSError."""
    return _age_s(record.folder / "intent.json")


def _age_s(path: Path) -> float:
    """Compares times of the file server's alone: the clocks of two machines differ, and clocks jump."""
    probe = files.unused_name(path.parent, ".probe-")
    files.write_synced(probe, b"")
    try:
        return probe.stat().st_mtime - path.stat().st_mtime
    finally:
        probe.unlink()


def _refuse_young(lock: Path) -> None:
    age_s = _age_s(lock)
    if age_s < FORGOTTEN_S:
        minutes = int((FORGOTTEN_S - age_s) / 60) + 1
        raise StillSent(
            "the filesystem of the records has no locks, so nobody can tell whether a process still sends "
            f"it: ask again in {minutes} min"
        )
