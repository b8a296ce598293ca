"""Records of several jobs that appear together: all are on disk before the first job is sent.

They are written in a folder beside the records. Its new name, `.set-TAG`, is the moment from which they are
there; then each takes its place, and whoever comes after a crash in between does the rest. TAG is the record
with the lock of whoever sends them all (`Intent.lock_of`): it goes first, so that none is seen without it.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from pathlib import Path

from msgspec import Struct

from hpclaunch.records import files
from hpclaunch.values.errors import HpclaunchError

LOCK = "sending-all"  # the file in the record TAG
_COMMITTED = ".set-"

Take = Callable[[Path, Mapping[str, bytes], tuple[str, ...]], None]


class Among(Struct, frozen=True):
    """A record's place among those of one command, as `Intent` has it. "": the command sends one job."""

    lock_of: str = ""
    waits_for: tuple[tuple[str, str], ...] = ()
    singleton: bool = False


def take_alone(folder: Path, contents: Mapping[str, bytes], subfolders: tuple[str, ...]) -> None:
    """Writes the record of a command that sends one job. Raises HpclaunchError where the disk refuses."""
    with files.explained("the record of the job"):
        files.private_folder(folder.parent)
        files.make_folder(folder, contents, subfolders)


ALONE = Among()


class NewSet:
    """The records of one command. `take` and `commit` are for the thread that made it."""

    def __init__(self, site_folder: Path, first: str, pool: Executor):
        self._site_folder, self._first, self._pool = site_folder, first, pool
        self._staging = files.unused_name(site_folder, files.STAGING)
        self._written: list[Future[None]] = []
        self._new: dict[Path, list[str]] = {}
        self._same: dict[tuple[str, bytes], Path] = {}
        self.lock = -1

    def take(self, folder: Path, contents: Mapping[str, bytes], subfolders: tuple[str, ...]) -> None:
        """Begins to write a record that will be at `folder`, as `files.make_folder` does at once."""
        alike = {}
        for name, data in contents.items():
            first = self._same.setdefault((name, data), self._staging / folder.name / name)
            if first.parent.name != folder.name:
                alike[name] = first
        own = self._staging / folder.name
        self._new[own] = [name for name in contents if name not in alike]
        self._written.append(self._pool.submit(_write, own, contents, subfolders, alike))

    def commit(self) -> None:
        """Returns when all are on disk, each in its place. Raises OSError, and then none of them is there;
        but HpclaunchError where they are, and not all in their places."""
        for each in self._written:
            each.result()
        list(self._pool.map(_sync, self._new, self._new.values()))
        files.sync_folder(self._staging)
        committed = self._site_folder / f"{_COMMITTED}{self._first}"
        files.rename(self._staging, committed)
        try:
            _place(committed)
            files.sync_folder(self._site_folder)
        except OSError as error:
            raise HpclaunchError(
                f"the records are written, and cannot be moved to their places: {error}\n"
                "Nothing is sent yet: `hpclaunch submit --resume` sends all of them."
            ) from error

    def begin(self) -> None:
        """Makes the folder, and takes the lock. Raises OSError."""
        with contextlib.suppress(FileExistsError):  # nobody else chooses that name
            self._staging.mkdir(mode=0o700)
        files.remove_abandoned(self._staging)
        own = self._staging / self._first
        own.mkdir(mode=0o700)
        self.lock = os.open(own / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):  # some shared filesystems have none
            fcntl.flock(self.lock, fcntl.LOCK_EX)

    def end(self) -> None:
        """Gives the lock back, and removes what was not committed."""
        if self.lock >= 0:
            os.close(self.lock)
        wait([each for each in self._written if not each.cancel()])
        files.remove_folder(self._staging)


@contextlib.contextmanager
def new(site_folder: Path, first: str, pool: Executor) -> Iterator[NewSet]:
    """A set whose first record has that tag, for whoever sends the jobs: nobody else does until the end.
    Raises HpclaunchError where the disk refuses."""
    with files.explained("the records of the jobs"):
        files.private_folder(site_folder)
    made = NewSet(site_folder, first, pool)
    try:
        with files.explained("the records of the jobs"):
            made.begin()
        yield made
    finally:
        made.end()


def settle(site_folder: Path) -> None:
    """Puts records in their places whose submission was killed before it did so itself. Raises OSError."""
    for name in os.listdir(site_folder):
        if name.startswith(_COMMITTED):
            _place(site_folder / name)


def _place(committed: Path) -> None:
    """Others may do the same at this moment."""
    first = committed.name.removeprefix(_COMMITTED)
    with contextlib.suppress(FileNotFoundError):
        names = os.listdir(committed)
        for name in sorted(names, key=lambda name: name != first):
            with contextlib.suppress(FileNotFoundError):
                os.rename(committed / name, committed.parent / name)
        os.rmdir(committed)


def _write(
    folder: Path, contents: Mapping[str, bytes], subfolders: tuple[str, ...], alike: Mapping[str, Path]
) -> None:
    """`alike` are files of other records with the same content, of which no record changes any."""
    with contextlib.suppress(FileExistsError):  # the first one has the lock already
        folder.mkdir(mode=0o700)
    for name in subfolders:
        (folder / name).mkdir(mode=0o700)
    for name, data in contents.items():
        if name not in alike:
            files.write(folder / name, data)
        elif not _linked(alike[name], folder / name):
            files.write_synced(folder / name, data)


def _linked(other: Path, path: Path) -> bool:
    """Whether it could be; not where the other one is not written yet, or the filesystem has no links."""
    try:
        os.link(other, path)
    except OSError:
        return False
    return True


def _sync(folder: Path, names: Sequence[str]) -> None:
    """`names`: without those of which another record has the content."""
    for name in names:
        files.sync(folder / name)
    files.sync_folder(folder)
