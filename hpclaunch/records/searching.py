"""A process by itself that searches logs: a pattern may take years, and nothing in a process ends a search.

It reads what to look for from its standard input, and ends with that. CPU time is what a search may take
(RLIMIT_CPU of getrlimit(2)): neither a slow disk nor other load is a pattern's fault.
"""

import mmap
import re
import resource
import sys
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct


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
        with open(asked.log, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return Found(_taken(_texts(data, pattern), asked.metric.take))
    except (OSError, ValueError):  # ValueError: the file is empty
        return Found()


def _taken(texts: Iterator[str], take: str) -> str | None:
    if take == "first":
        return next(texts, None)
    if take == "last":
        last = None
        for last in texts:  # noqa: B007  the last one stays
            pass
        return last
    numbers = [(number, text) for text in texts if (number := _number(text)) is not None]
    if not numbers:
        return None
    return (min if take == "min" else max)(numbers, key=lambda pair: pair[0])[1]


def _texts(data: mmap.mmap, pattern: re.Pattern[bytes]) -> Iterator[str]:
    for match in pattern.finditer(data):
        if match[1] is not None:
            yield match[1].decode("utf-8", "replace")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


if __name__ == "__main__":
    serve()
