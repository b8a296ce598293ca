"""Files that are whole or absent, whenever the machine or the process stops, on local disks and on NFS.

NFS sends a request again whose answer was lost, and the second answer may say that what was asked for is
there (a link, a folder) or gone (the old name after a rename): each of these is held against what was made.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from hpclaunch.values.errors import HpclaunchError, InputError

T = TypeVar("T")

STAGING = ".new-"
ABANDONED_S = 86_400
_cleared: set[Path] = set()  # where this process has looked for what others left: once will do for many jobs


def home() -> Path:
    """The folder of all records: $HPCLAUNCH_HOME, else hpclaunch in the user's state folder.

    Raises InputError for a relative path, and for one with control characters, which Slurm cannot be given.
    """
    chosen = os.path.expanduser(os.environ.get("HPCLAUNCH_HOME") or _state_folder())
    if not os.path.isabs(chosen):
        raise InputError(
            f"HPCLAUNCH_HOME={chosen} is another folder wherever hpclaunch is used, and jobs would be out of "
            f"sight: give the whole path, {os.path.abspath(chosen)}"
        )
    path = Path(os.path.normpath(chosen))
    if not str(path).isprintable():
        raise InputError(
            f"HPCLAUNCH_HOME {str(path)!r} has characters that cannot be printed: choose another"
        )
    return path


def _state_folder() -> str:
    # A relative path is invalid there and to be ignored (XDG Base Directory Specification).
    state = os.environ.get("XDG_STATE_HOME", "")
    return os.path.join(state if os.path.isabs(state) else "~/.local/state", "hpclaunch")


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """What the disk refuses here is an HpclaunchError that says `what` and what to do."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = f"Make room in {home()}, or set" if full else "Set"
        raise HpclaunchError(
            f"{what} cannot be written: {error}\n"
            f"{advice} HPCLAUNCH_HOME to a folder of yours that the compute nodes see as well."
        ) from error


def parsed(path: Path, kind: type[T]) -> T | None:
    """The value in a record's JSON file, None where there is no file. Raises HpclaunchError for a damaged
    one."""
    try:
        with _regular(path, "part of a record") as file:
            return msgspec.json.decode(file.read(), type=kind)
    except FileNotFoundError:
        return None
    except (
        OSError,
        ValueError,
    ) as error:  # msgspec's errors are ValueErrors, and so is text that is not UTF-8
        raise HpclaunchError(f"the record's {path} cannot be read: {error}") from error


def open_log(path: Path) -> BinaryIO:
    """A log, to be read from its beginning. Raises OSError, also for what is no file."""
    return _regular(path, "log")


def _regular(path: Path, what: str) -> BinaryIO:
    """A FIFO would keep who opens it until somebody writes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"it is no regular file, and so no {what}", str(path))
    return open(descriptor, "rb")


def private_folder(path: Path) -> Path:
    """`path`, made if need be; new folders are for the owner alone, and survive a power cut."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another submission was faster
            folder.mkdir(mode=0o700)
        with contextlib.suppress(PermissionError):  # of one that cannot be read none can be told to
            sync_folder(path)
        path = folder
    return path


def sync_folder(folder: Path) -> None:
    """Makes a rename or a new name in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some shared filesystems cannot, and do it by themselves
            raise
    finally:
        os.close(descriptor)


def unused_name(folder: Path, prefix: str) -> Path:
    """A name in `folder` that nobody else chooses."""
    return folder / (prefix + os.urandom(8).hex())


def write_synced(path: Path, data: bytes) -> None:
    """A new file for the owner alone, on disk when this returns. Raises FileExistsError, and OSError where
    the disk does not take it all; then nothing of it stays."""
    _write(path, data, os.fsync)


def write(path: Path, data: bytes) -> None:
    """The same, which the disk begins to take, and has taken after `sync`: of many files that takes hardly
    longer than of one."""
    _write(path, data, _begin_to_sync)


def _write(path: Path, data: bytes, ending: Callable[[int], None]) -> None:
    # Without a file object of Python's: that is a third of the time of a small file, and a job has a dozen.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            ending(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _begin_to_sync(descriptor: int) -> None:
    # Linux begins to write what it is told to forget (generic_fadvise of its mm/fadvise.c: DONTNEED calls
    # __filemap_fdatawrite_range with WB_SYNC_NONE first); other systems leave it to `sync`.
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def sync(path: Path) -> None:
    """Returns when the file's content is on disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace(path: Path, data: bytes) -> None:
    """Puts `data` at `path`: a reader, and whoever comes after a crash, sees the old file or the new."""
    temporary = unused_name(path.parent, f".{path.name}.")
    try:
        write_synced(temporary, data)
        rename(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def create(path: Path, data: bytes) -> None:
    """Puts `data` at `path`, where nothing is yet. Raises FileExistsError where another process was first."""
    temporary = unused_name(path.parent, f".{path.name}.")
    try:
        write_synced(temporary, data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            # NFS sends a request again whose answer was lost, and then hears of the link that it made itself.
            if not os.path.samefile(temporary, path):
                raise
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def make_folder(folder: Path, files: Mapping[str, bytes], subfolders: tuple[str, ...]) -> None:
    """A folder with `files` and empty `subfolders`, which appears under its name when all is on disk."""
    staging = unused_name(folder.parent, STAGING)
    with contextlib.suppress(FileExistsError):  # nobody else chooses that name
        staging.mkdir(mode=0o700)
    try:
        remove_abandoned(staging)
        for name in subfolders:
            (staging / name).mkdir(mode=0o700)
        for name, data in files.items():
            write_synced(staging / name, data)
        sync_folder(staging)
        rename(staging, folder)
        try:
            sync_folder(folder.parent)
        except BaseException:
            os.rename(folder, staging)
            raise
    except BaseException:
        remove_folder(staging)
        raise


def rename(source: Path, target: Path) -> None:
    """Raises OSError, and then nothing has changed."""
    before = os.stat(source).st_ino
    try:
        os.replace(source, target)
    except FileNotFoundError:
        if os.stat(target).st_ino != before:
            raise


def remove_abandoned(staging: Path) -> None:
    """Removes what killed processes left beside `staging`, once in the life of this process. By the
    filesystem's own clock: this machine's may be wrong by days, and the folder of another submission must
    stay."""
    if staging.parent in _cleared:
        return
    _cleared.add(staging.parent)
    with contextlib.suppress(OSError):
        now = staging.stat().st_mtime
        for left in staging.parent.glob(STAGING + "*"):
            if now - left.stat().st_mtime > ABANDONED_S:
                remove_folder(left)


def remove_folder(folder: Path) -> None:
    """Removes what `make_folder` made or had begun, and folders of such. What cannot be removed stays."""
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock file `path`. Some shared filesystems have no locks; there the files are still whole,
    and of two writers the later one wins."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
