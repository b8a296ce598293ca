"""A file or a folder by its content: a name that is the same wherever it lies, and a stream of all of it."""

import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator
from functools import cache
from typing import Literal

from msgspec import Struct

MOST_BYTES = 2 * 1024**3
MOST_ENTRIES = 100_000
LAST = "complete"  # the last member: a stream that was cut short has none
TOP = "it"
_CHUNK = 1024 * 1024
_BLOCK = tarfile.BLOCKSIZE


class Unfit(Exception):
    """A file or folder that cannot be sent; the text says why, and what to do."""


class _Entry(Struct, frozen=True):
    """One file, folder or link of a tree. `name` is relative to the top, which is ""; `link` where it
    points."""

    name: str
    kind: Literal["file", "folder", "link"]
    runs: bool
    size: int
    link: str
    path: str
    mtime: int


@cache
def name_of(path: str) -> str:
    """The name of a file or folder on the cluster. The same for the same content, names, links and execute
    bits; other rights, owners and times do not count. Raises Unfit."""
    top = os.path.realpath(path)
    digest = _Digest()
    for entry in _entries(top):
        digest.begin(entry)
        if entry.kind == "file":
            for data in _content(entry):
                digest.add(data)
    suffix = os.path.splitext(top)[1]
    keeps = os.path.isfile(top) and suffix[1:].isascii() and suffix[1:].isalnum()  # .sqsh tells what it is
    return digest.text() + (suffix if keeps else "")


def archive(path: str, name: str) -> Iterator[bytes]:
    """A tar stream of what `name_of` has named, as the member `it`, which nobody may write to. Raises Unfit
    where the content has changed since; then its last member is missing."""
    top = os.path.realpath(path)
    digest = _Digest()
    for entry in _entries(top):
        digest.begin(entry)
        yield _header(entry)
        if entry.kind == "file":
            for data in _content(entry):
                digest.add(data)
                yield data
            yield b"\0" * (-entry.size % _BLOCK)
    if name.partition(".")[0] != digest.text():
        raise Unfit(f"{path} was changed while it was being sent: submit again")
    last = tarfile.TarInfo(LAST)
    yield last.tobuf(tarfile.GNU_FORMAT) + b"\0" * (2 * _BLOCK)


class _Digest:
    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def begin(self, entry: _Entry) -> None:
        facts = (entry.kind, "x" if entry.runs else "-", str(entry.size), entry.name, entry.link)
        for fact in facts:
            data = os.fsencode(fact)
            self._hash.update(b"%d:%s" % (len(data), data))

    def add(self, data: bytes) -> None:
        self._hash.update(data)

    def text(self) -> str:
        return self._hash.hexdigest()


def _entries(top: str) -> Iterator[_Entry]:
    """Everything in the tree, a folder before what is in it, in an order that only names decide."""
    total = count = 0
    todo = [""]
    while todo:
        name = todo.pop()
        entry = _entry(top, name)
        total, count = total + entry.size, count + 1
        if total > MOST_BYTES or count > MOST_ENTRIES:
            raise Unfit(
                f"{top} has more than {MOST_BYTES // 1024**3} GiB or {MOST_ENTRIES:,} files, too much to "
                "send with each change: copy it to the cluster once, and write its absolute path there"
            )
        yield entry
        if entry.kind == "folder":
            try:
                children = sorted(os.listdir(entry.path), key=os.fsencode, reverse=True)
            except OSError as error:
                raise _unreadable(entry.path, error) from error
            todo += [f"{name}/{child}" if name else child for child in children]


def _entry(top: str, name: str) -> _Entry:
    path = f"{top}/{name}" if name else top
    try:
        facts = os.lstat(path)
        if stat.S_ISDIR(facts.st_mode):
            return _Entry(name, "folder", True, 0, "", path, int(facts.st_mtime))
        if stat.S_ISLNK(facts.st_mode):
            link = _inside(name, os.readlink(path), path)
            return _Entry(name, "link", False, 0, link, path, int(facts.st_mtime))
    except OSError as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(facts.st_mode):
        raise Unfit(f"{path} is no file, folder or link, and cannot be sent: take it out of the folder")
    runs = bool(facts.st_mode & 0o100)
    return _Entry(name, "file", runs, facts.st_size, "", path, int(facts.st_mtime))


def _inside(name: str, link: str, path: str) -> str:
    """A link with an absolute target is to a path of the cluster; another one must stay in the tree."""
    if not link.startswith("/"):
        end = os.path.normpath(os.path.join(os.path.dirname(name), link))
        if end == ".." or end.startswith("../"):
            raise Unfit(
                f"{path} is a link to {link}, which is not sent with it: let it point into the folder, or to "
                "an absolute path of the cluster"
            )
    return link


def _content(entry: _Entry) -> Iterator[bytes]:
    """As many bytes as the entry says, whatever somebody else does to the file."""
    left = entry.size
    try:
        with open(entry.path, "rb") as file:
            while left and (data := file.read(min(left, _CHUNK))):
                left -= len(data)
                yield data
    except OSError as error:
        raise _unreadable(entry.path, error) from error
    if left:
        raise Unfit(f"{entry.path} became shorter while it was read: try again")


def _header(entry: _Entry) -> bytes:
    info = tarfile.TarInfo(f"{TOP}/{entry.name}" if entry.name else TOP)
    info.size = entry.size
    info.mtime = entry.mtime
    info.mode = 0o555 if entry.runs else 0o444
    if entry.kind == "folder":
        info.type = tarfile.DIRTYPE
        info.mode = 0o555 if entry.name else 0o755  # a folder must be writable to be moved
    elif entry.kind == "link":
        info.type, info.linkname = tarfile.SYMTYPE, entry.link
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _unreadable(path: str, error: OSError) -> Unfit:
    return Unfit(f"{path} cannot be read: {error.strerror}")
