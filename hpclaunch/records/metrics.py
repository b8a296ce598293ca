"""Numbers that a job wrote to its log, found by regular expressions."""

import mmap
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct


class Metric(Struct, frozen=True):
    """What to look for: the one group of the pattern, in the `take` of all matches."""

    pattern: str
    take: Literal["last", "first", "min", "max"] = "last"


def read(log: Path, metrics: Mapping[str, Metric]) -> dict[str, str]:
    """The metrics that the log has, as text. A log that is not there has none. Raises OSError."""
    if not metrics:
        return {}
    try:
        with open(log, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = {name: _taken(data, metric) for name, metric in metrics.items()}
    except (FileNotFoundError, ValueError):  # ValueError: the file is empty
        return {}
    return {name: text for name, text in found.items() if text is not None}


def _taken(data: mmap.mmap, metric: Metric) -> str | None:
    texts = _texts(data, metric.pattern)
    if metric.take == "first":
        return next(texts, None)
    if metric.take == "last":
        last = None
        for last in texts:  # noqa: B007  the last one stays
            pass
        return last
    numbers = [(number, text) for text in texts if (number := _number(text)) is not None]
    if not numbers:
        return None
    return (min if metric.take == "min" else max)(numbers, key=lambda pair: pair[0])[1]


def _texts(data: mmap.mmap, pattern: str) -> Iterator[str]:
    for match in re.finditer(pattern.encode(), data, re.MULTILINE):
        if match[1] is not None:
            yield match[1].decode("utf-8", "replace")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
