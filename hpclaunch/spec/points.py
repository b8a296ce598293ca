"""The points of a sweep: what each sets, and where the job file says so. The same sweep has the same points
on every machine."""

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from hpclaunch.spec.sweep import Draw, RandomSpec, SweepSpec
from hpclaunch.values.errors import Path


class Setting(Struct, frozen=True, gc=False):
    """A KEY of a sweep and its value at one point: text, None for YAML's null, a tuple or a dict. `path` is
    where the job has it."""

    key: str
    value: Any
    path: Path


class Point(Struct, frozen=True):
    """A point of a sweep. They are counted from 0."""

    number: int
    settings: tuple[Setting, ...]


def keys(sweep: SweepSpec) -> tuple[str, ...]:
    """The keys that its points set, in the order of the file."""
    if sweep.random is not None:
        return tuple(sweep.random.draw)
    return tuple(sweep.grid or dict.fromkeys(key for entry in sweep.list for key in entry))


def count(sweep: SweepSpec) -> int:
    """How many points it has."""
    if sweep.random is not None:
        return sweep.random.count
    return len(sweep.list) if sweep.list else math.prod(map(len, sweep.grid.values()))


def points(sweep: SweepSpec) -> Iterator[Point]:
    """The points of a sweep that has no problems. Of a grid's keys the last one changes first."""
    if sweep.random is not None:
        rows = _drawn(sweep.random)
    elif sweep.list:
        rows = _listed(sweep.list)
    else:
        rows = itertools.product(*(_column(key, values) for key, values in sweep.grid.items()))
    return (Point(number, settings) for number, settings in enumerate(rows))


def _column(key: str, values: tuple[Any, ...]) -> list[Setting]:
    return [Setting(key, value, ("sweep", "grid", key, index)) for index, value in enumerate(values)]


def _listed(entries: tuple[Mapping[str, Any], ...]) -> Iterator[tuple[Setting, ...]]:
    for index, entry in enumerate(entries):
        yield tuple(Setting(key, value, ("sweep", "list", index, key)) for key, value in entry.items())


def _drawn(spec: RandomSpec) -> Iterator[tuple[Setting, ...]]:
    # random() alone: of all its methods only that is promised to give the same numbers in every Python.
    numbers = random.Random(spec.seed)
    for _ in range(spec.count):
        yield tuple(
            Setting(key, _value(draw, numbers.random()), ("sweep", "random", "draw", key))
            for key, draw in spec.draw.items()
        )


def _value(draw: Draw, number: float) -> Any:
    """`number` is from 0 up to 1. Numbers that are not whole have 6 digits that count."""
    if draw.choice is not None:
        return draw.choice[int(number * len(draw.choice))]
    if draw.int_ is not None:
        low, high = map(int, draw.int_)
        return str(low + int(number * (high - low + 1)))
    if draw.loguniform is not None:
        low_log, high_log = (math.log(float(text)) for text in draw.loguniform)
        return f"{math.exp(low_log + number * (high_log - low_log)):.6g}"
    assert draw.uniform is not None
    least, most = map(float, draw.uniform)
    return f"{least + number * (most - least):.6g}"
