"""Captures as users have them: files with one command's output, or with several pasted together.

Recognition is by content alone. A file is cut where it says itself that a new command begins ("$ lscpu",
"===== lscpu =====", "==> lscpu.txt <==", a Markdown fence), and where formats follow one another without
such a line, at empty lines. Line numbers stay those of the file.
"""

import re
from collections.abc import Sequence
from typing import Protocol, cast

from msgspec import Struct

from hpclaunch.topology.readers import (
    hwloc,
    ibdev2netdev,
    ibstat,
    lscpu,
    lspci,
    nccl,
    numactl,
    nvidia_gpus,
    nvidia_smi,
    sysfs_dump,
)
from hpclaunch.topology.readers.text import check_length, without_markup
from hpclaunch.topology.seen import Seen
from hpclaunch.values.errors import InputError, Problem

LIMIT = 32 * 1024 * 1024  # bytes; the largest captures (lstopo of a large machine) are below a megabyte
KNOWN = (
    "lscpu (also -e, -p, -J), numactl -H, nvidia-smi (topo -m, -L, --query-gpu), ibdev2netdev, "
    "ibstat, lspci (also -tv, -vmm), hwloc XML (lstopo out.xml), NCCL_TOPO_DUMP_FILE, "
    "and the output of `topo discover --script`"
)
# In XML entities belong to the format.
_XML = re.compile(r"<(?:topology|system)\b")
_COMMANDS = r"(?:lscpu|numactl|nvidia-smi|ibdev2netdev|ibstat(?:us)?|lspci|lstopo[\w-]*|hwloc-ls|uname|cat)"
_BEGINS = re.compile(
    rf"""\s*(?:
        \$\s+\S.*                                       # $ lscpu
      | \[?[\w.-]+@[\w.-]+[^$\#]{{0,60}}[$\#](?:\s.*)?    # [root@dgx001 ~]# lscpu
      | [\#+]\s*(?:sudo\s+)?{_COMMANDS}(?:\s.*)?         # what root's prompt, and `set -x`, put before
      | ==>\s.*\s<==                                    # what head and tail write
      | ```.* | ~~~+\w*
      | [=*\#-]{{2,}}\s*(?:[^\s=*\#-].*\b)?{_COMMANDS}\b.*   # ===== lscpu =====
    )\s*""",
    re.VERBOSE,
)


class Reader(Protocol):
    """What every module in `readers` offers."""

    def looks_like(self, text: str) -> bool:
        """Whether the text is, or holds, this format."""

    def read(self, text: str, file: str) -> Seen:
        """What the text tells. Raises InputError for a text of this format that is broken."""


READERS = cast(
    "tuple[Reader, ...]",
    (hwloc, nccl, sysfs_dump, lscpu, numactl, nvidia_smi, nvidia_gpus, ibdev2netdev, ibstat, lspci),
)
# Their output has empty lines between records of one capture.
_IN_RECORDS = cast("tuple[Reader, ...]", (lspci, ibstat))


class Used(Struct, frozen=True):
    """What a file gave: its captures, and the parts that no format fits ("lines 3-9: ...")."""

    seen: tuple[Seen, ...]
    unused: tuple[str, ...]


class _Part(Struct, frozen=True):
    first: int  # line, from 1
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """With as many empty lines before it as the file has lines, so that readers count right."""
        return "\n" * (self.first - 1) + "\n".join(self.lines) + "\n"

    def is_empty(self) -> bool:
        return not any(map(str.strip, self.lines))


def decode(data: bytes, file: str) -> str:
    """The text of a capture: UTF-8, UTF-16 or UTF-32 with or without a byte order mark, lines ended in any
    way. Raises InputError for what is no text, and for far more than a capture has."""
    if len(data) > LIMIT:
        raise InputError(
            f"{file}: {len(data):,} bytes is no capture of a machine; at most {LIMIT:,} are read"
        )
    text = _decoded(data)
    if text is None:
        raise InputError(f"{file}: this is not text. Known captures: {KNOWN}")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes) -> str | None:
    for mark, encoding in (
        (b"\xff\xfe\x00\x00", "utf-32"),
        (b"\x00\x00\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
        (b"\xef\xbb\xbf", "utf-8-sig"),
    ):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    start = data[:4096]
    if b"\0" in start:  # a byte order mark may be lost: ASCII has its zeros on one side
        even, odd = start[::2].count(0), start[1::2].count(0)
        half = len(start) // 2
        if min(even, odd) == 0 and max(even, odd) > half // 2:
            return data.decode("utf-16-le" if odd else "utf-16-be", "replace")
        return None
    return data.decode("utf-8", "replace")


def read(text: str, file: str) -> Used:
    """Every capture in the text of one file. Raises InputError where one is of a known format but broken."""
    seen: list[Seen] = []
    unused: list[str] = []
    problems: list[Problem] = []
    if not _XML.search(text):
        text = without_markup(text)
    for part in _parts(text):
        if part.is_empty():
            continue
        found = _read_part(part, file, problems)
        if found is None:
            last = part.first + len(part.lines) - 1
            start = next(line.strip() for line in part.lines if line.strip())
            unused.append(f"{file}: lines {part.first}-{last} fit no known format ({start[:60]!a})")
        else:
            seen += found
    if problems:
        raise InputError(problems)
    return Used(tuple(seen), tuple(unused))


def _parts(text: str) -> list[_Part]:
    """The text cut before each line that begins a command; that line itself is left empty."""
    lines = text.split("\n")
    parts: list[_Part] = []
    start = 0
    for number, line in enumerate(lines):
        if len(line) < 400 and _BEGINS.fullmatch(line):
            parts.append(_Part(start + 1, tuple(lines[start:number])))
            lines[number] = ""
            start = number
    parts.append(_Part(start + 1, tuple(lines[start:])))
    return parts


def _read_part(part: _Part, file: str, problems: list[Problem]) -> list[Seen] | None:
    try:
        check_length(part.text, file)
    except InputError as error:
        problems += error.problems
        return []
    readers = [reader for reader in READERS if reader.looks_like(part.text)]
    if not readers:
        return None
    pieces = [(part, readers[0])] if len(readers) == 1 else _by_empty_lines(part, readers)
    found = []
    for piece, reader in pieces:
        try:
            found.append(reader.read(piece.text, file))
        except InputError as error:
            problems += error.problems
    return found


def _by_empty_lines(part: _Part, readers: Sequence[Reader]) -> list[tuple[_Part, Reader]]:
    """The part cut at empty lines, for several formats one after the other. What fits none belongs to the
    piece before it (a legend, a remark)."""
    pieces: list[tuple[_Part, Reader]] = []
    for block in _blocks(part):
        fits = [reader for reader in readers if reader.looks_like(block.text)]
        if len(fits) == 1 and not (pieces and pieces[-1][1] is fits[0] and fits[0] in _IN_RECORDS):
            pieces.append((block, fits[0]))
        elif pieces:
            before, reader = pieces[-1]
            gap = ("",) * (block.first - before.first - len(before.lines))
            pieces[-1] = (_Part(before.first, (*before.lines, *gap, *block.lines)), reader)
    return pieces or [(part, readers[0])]


def _blocks(part: _Part) -> list[_Part]:
    blocks: list[_Part] = []
    current: list[str] = []
    for number, line in enumerate((*part.lines, ""), start=part.first):
        if line.strip():
            current.append(line)
        elif current:
            blocks.append(_Part(number - len(current), tuple(current)))
            current = []
    return blocks
