"""A process by itself that searches logs: a pattern may take years, and nothing in a process ends a search.

It reads what to look for from its standard input, and ends with that. CPU time is what a search may take
(RLIMIT_CPU of getrlimit(2)): neither a slow disk nor other load is a pattern's fault.
"""

import mmap
import os
import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from hpclaunch.records.barriers import Shape, shape_of
from hpclaunch.records.files import open_log

WINDOW = 65_536  # bytes in which the last match is looked for first
_TIMES = 8


class Metric(Struct, frozen=True):
    """What to look for: the one group of the pattern, in the `take` of all matches."""

    pattern: str
    take: Literal["last", "first", "min", "max"] = "last"


class Asked(Struct, frozen=True):
    """A search through a log, which may take so many seconds of CPU time."""

    log: bytes
    metric: Metric
    seconds: int


class Found(Struct, frozen=True):
    """What there was, or why there was no search."""

    text: str | None = None
    refused: str = ""


def serve() -> None:
    """Answers each line with a line, until the input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        asked = msgspec.json.decode(line, type=Asked)
        _may_take(asked.seconds)
        sys.stdout.buffer.write(msgspec.json.encode(_search(asked)) + b"\n")
        sys.stdout.buffer.flush()


def _may_take(seconds: int) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard < 0 else min(limit, hard), hard))


def _search(asked: Asked) -> Found:
    try:
        pattern = re.compile(asked.metric.pattern.encode(), re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        return Found(refused=f"{error}")
    try:
        with (
            open_log(Path(os.fsdecode(asked.log))) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return Found(taken(data, pattern, asked.metric.take))
    except (OSError, ValueError):  # ValueError: the file is empty
        return Found()


def taken(data: bytes | mmap.mmap, pattern: re.Pattern[bytes], take: str) -> str | None:
    """The one of all matches in a log that is to be taken."""
    shape = shape_of(pattern)
    if take == "last":
        return _last(data, pattern, shape)
    found = data.find(shape.literal)
    if found < 0:
        return None
    texts = _texts(data, pattern, shape.before(data, found))
    if take == "first":
        return next(texts, None)
    numbers = [(number, text) for text in texts if (number := _number(text)) is not None]
    if not numbers:
        return None
    return (min if take == "min" else max)(numbers, key=lambda pair: pair[0])[1]


def _last(data: bytes | mmap.mmap, pattern: re.Pattern[bytes], shape: Shape) -> str | None:
    """Looks in the end of the log, and where there is nothing in a part that is some times as large, up to
    all: then the parts before it have cost a fraction of it."""
    end, size = len(data) + 1, WINDOW
    while end > 0:
        begin = shape.before(data, len(data) - size if size * _TIMES < len(data) else 0)
        if begin < end and data.find(shape.literal, begin, end) >= 0:
            last = None
            for last in _texts(data, pattern, begin):  # noqa: B007  the last one stays
                pass
            if last is not None:
                return last
        end, size = begin, size * _TIMES
    return None


def _texts(data: bytes | mmap.mmap, pattern: re.Pattern[bytes], begin: int) -> Iterator[str]:
    for match in pattern.finditer(data, begin):
        if match[1] is not None:
            yield match[1].decode("utf-8", "replace")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


if __name__ == "__main__":
    serve()
