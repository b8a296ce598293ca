"""What a job wrote on the cluster, brought into its record here: each byte once, wherever a connection
broke."""

import os
from pathlib import Path

from hpclaunch.records.record import Record
from hpclaunch.schedulers.ssh import words
from hpclaunch.schedulers.ssh.connection import Connection, connection
from hpclaunch.schedulers.ssh.contract import Done
from hpclaunch.schedulers.ssh.twin import LIMIT_S, twin_of
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.login import Login

_AT_ONCE = 4 * 1024 * 1024  # bytes of one answer
_FILES_AT_ONCE = 200


def bring(record: Record, login: Login) -> None:
    """Makes the record's logs as long as those of the twin. A log only grows (--open-mode=append), so bytes
    of one place are the same whoever brings them: they are written to that place, and two commands side by
    side do no harm. One that seems shorter than it was is as another login node remembers it, which NFS lets
    it for a minute.

    Raises SchedulerError where the node cannot be asked, and OSError where the disk here refuses.
    """
    node = connection(login)
    folder = words.quote(str(twin_of(record, login).log.parent))
    while True:
        wanted: list[tuple[str, int, int]] = []
        room = _AT_ONCE
        for name, size in _sizes(node, folder).items():
            here = _length(record.log.parent / name)
            if size > here and room and len(wanted) < _FILES_AT_ONCE:
                wanted.append((name, here, min(size - here, room)))
                room -= wanted[-1][2]
        if not wanted:
            return
        _fetch(node, folder, record.log.parent, wanted)
        if room and len(wanted) < _FILES_AT_ONCE:
            return


def _sizes(node: Connection, folder: str) -> dict[str, int]:
    """Name -> bytes; none where somebody has removed the folder."""
    files = "find -L . -maxdepth 1 -name '*.log' '(' -type f -exec wc -c {} + -o -exec echo odd {} ';' ')'"
    body = f"([ ! -d {folder} ] || {{ cd {folder} && {files}; }}) </dev/null"
    done = _checked(node, node.run(body, LIMIT_S))
    found = {}
    for line in done.out.decode("utf-8", "surrogateescape").splitlines():
        size, _, name = line.strip().partition(" ./")
        if size == "odd":  # a FIFO would keep whoever reads it
            raise SchedulerError(f"the log {name} on {node.login} is no regular file")
        if size.isdigit() and name.endswith(".log") and "/" not in name:  # what is a total is none
            found[name] = int(size)
    return found


def _fetch(node: Connection, folder: str, to: Path, wanted: list[tuple[str, int, int]]) -> None:
    parts = "; ".join(
        f"tail -c +{offset + 1} -- {words.quote(name)} | head -c {count}" for name, offset, count in wanted
    )
    data = _checked(node, node.run(f"(cd {folder} && {{ {parts}; }}) </dev/null", LIMIT_S)).out
    if len(data) != sum(count for _, _, count in wanted):
        raise SchedulerError(f"the logs on {node.login} changed while they were read")
    start = 0
    for name, offset, count in wanted:
        descriptor = os.open(to / name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _write_at(descriptor, data[start : start + count], offset)
        finally:
            os.close(descriptor)
        start += count


def _write_at(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _checked(node: Connection, done: Done) -> Done:
    if done.status:
        said = done.err.decode("utf-8", "replace").strip() or f"status {done.status}"
        raise SchedulerError(f"the log on {node.login} cannot be read: {said}")
    return done
