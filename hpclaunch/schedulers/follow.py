"""Printing a log that is still written: no byte lost, none twice."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from hpclaunch.records.files import open_log
from hpclaunch.schedulers.terminal import need_reader

CHUNK = 65_536
FIRST_POLL_S = 0.2


class LogReader:
    """Reads on from where it stopped. Opens the file at each reading, since only that makes a network
    filesystem look for what other machines wrote."""

    def __init__(self, path: Path):
        self.path = path
        self.position = 0
        self.inode: int | None = None

    def read(self) -> Iterator[bytes]:
        """What is new. A file that was replaced or cut (Slurm does so when a job runs again) is read
        from its beginning; a missing one is empty."""
        try:
            file = open_log(self.path)
        except FileNotFoundError:
            return
        with file:
            facts = os.fstat(file.fileno())
            if facts.st_ino != self.inode or facts.st_size < self.position:
                self.position = 0
            self.inode = facts.st_ino
            file.seek(self.position)
            while data := file.read(CHUNK):
                self.position += len(data)
                yield data


def copy(reader: LogReader, out: BinaryIO) -> None:
    """Prints what is new, and shows it at once. Raises BrokenPipeError where nobody reads any more."""
    for data in reader.read():
        out.write(data)
    out.flush()
    need_reader()


def copying_pause(
    reader: LogReader, out: BinaryIO, bring: Callable[[], object], interval: float
) -> Callable[[float], None]:
    """A pause for `lifecycle.wait` that prints the log while it waits, each `interval` seconds; `bring` makes
    the file up to date before."""

    def pause(seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            bring()
            copy(reader, out)
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, interval))

    return pause


class NamedLines:
    """Prints several logs as whole lines, each after the name of its log."""

    def __init__(self, out: BinaryIO):
        self.out = out
        self.readers: dict[str, LogReader] = {}
        self.begun: dict[str, bytes] = {}

    def copy(self, name: str, path: Path) -> None:
        """Prints the lines of a log that are new."""
        reader = self.readers.setdefault(name, LogReader(path))
        for data in reader.read():
            *lines, left = (self.begun.pop(name, b"") + data).split(b"\n")
            for line in lines:
                self.out.write(b"%s: %s\n" % (name.encode(), line))
            if left:
                self.begun[name] = left
        self.out.flush()
        need_reader()

    def end(self) -> None:
        """Prints last lines that have no end."""
        for name, left in self.begun.items():
            self.out.write(b"%s: %s\n" % (name.encode(), left))
        self.begun.clear()
        self.out.flush()
