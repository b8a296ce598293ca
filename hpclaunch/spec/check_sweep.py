"""What is wrong with a sweep, metrics and dependencies. Jobs without them do not load this."""

import math
import re
from functools import partial
from typing import Any

from hpclaunch.spec import check_text, findings, points, scalars
from hpclaunch.spec.document import Document
from hpclaunch.spec.job import Job
from hpclaunch.spec.sweep import DependsOn, Draw, MetricSpec, SweepSpec
from hpclaunch.spec.wording import nearest
from hpclaunch.values.errors import Path, Problem
from hpclaunch.values.sweep import POINT, SWEEP

MAX_POINTS = 100_000
ARGS = "args"
RESULT_COLUMNS = ("job_id", "point", "state", "exit_code", "signal", "seconds")
MAX_INT = 2**53  # up to here a number from random() reaches every whole one

# What a job is, or who it waits for, is not a matter of one of its points.
_OF_ALL = ("version", "directory", "sweep", "metrics", "depends_on", "secrets")

_check = partial(findings.check, "job")
_problem = partial(findings.problem, "job")


def problems(job: Job) -> list[Problem]:
    """All of it."""
    found: list[Problem] = []
    if job.sweep is not None:
        found += _sweep_problems(job, job.sweep)
    for name, metric in job.metrics.items():
        _check(found, ("metrics", name), check_text.name, name)
        if name in RESULT_COLUMNS or (job.sweep is not None and name in points.keys(job.sweep)):
            message = f"the table of results has a column {name} already: give it another name"
            found.append(_problem(("metrics", name), message))
        pattern = metric.pattern if isinstance(metric, MetricSpec) else metric
        path = ("metrics", name, "pattern") if isinstance(metric, MetricSpec) else ("metrics", name)
        _check(found, path, _pattern, pattern)
    for index, entry in enumerate(job.depends_on):
        if isinstance(entry, DependsOn) and entry.job is None and entry.when != "singleton":
            found.append(_problem(("depends_on", index), f"{entry.when} waits for a job: add job: FILE"))
    return found


def overridden(document: Document[Job]) -> list[Problem]:
    """Keys from the command line that no point would take, since each has its own."""
    sweep = document.value.sweep
    if sweep is None or document.marks.get(("sweep",)) == (0, 0):
        return []
    message = "each point of the sweep has its own, so this would change nothing: leave it out of one of them"
    return [
        _problem(path, message)
        for key in points.keys(sweep)
        if all(key in entry for entry in sweep.list)
        and document.marks.get(path := tuple(key.split("."))) == (0, 0)
    ]


def _pattern(text: str) -> None:
    try:
        groups = re.compile(text.encode()).groups  # logs are bytes
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{scalars.shown(text)} is not a regular expression: {error}") from None
    if groups != 1:
        raise ValueError(f"{scalars.shown(text)} has {groups} groups, not the one that has the value")


def _sweep_problems(job: Job, sweep: SweepSpec) -> list[Problem]:
    found: list[Problem] = []
    kinds = [name for name in ("grid", "list", "random") if getattr(sweep, name)]
    if len(kinds) != 1:
        given = "has " + " and ".join(kinds) if kinds else "has no points"
        return [_problem(("sweep",), f"it {given}: write one of grid, list and random")]
    for key, values in sweep.grid.items():
        path = ("sweep", "grid", key)
        found += _key_problems(job, key, path)
        if not values:
            found.append(_problem(path, "the list is empty, so there is no point at all"))
        for index, value in enumerate(values):
            _check(found, (*path, index), partial(_value, key), value)
    for index, entry in enumerate(sweep.list):
        if not entry:
            found.append(_problem(("sweep", "list", index), "a point sets at least one key"))
        for key, value in entry.items():
            found += _key_problems(job, key, ("sweep", "list", index, key))
            _check(found, ("sweep", "list", index, key), partial(_value, key), value)
    if sweep.random is not None:
        if not sweep.random.draw:
            found.append(_problem(("sweep", "random", "draw"), "no key is drawn"))
        for key, draw in sweep.random.draw.items():
            of_draw = ("sweep", "random", "draw", key)
            found += _key_problems(job, key, of_draw)
            _check(found, of_draw, partial(_draw, key), draw)
    if not found and not 1 <= points.count(sweep) <= MAX_POINTS:
        message = f"{points.count(sweep):,} points must be from 1 to {MAX_POINTS:,}"
        found.append(_problem(("sweep", *kinds), message))
    if sweep.max_running is not None and sweep.max_running < 1:
        found.append(_problem(("sweep", "max_running"), f"{sweep.max_running}: at least one runs at a time"))
    return found + _of_one_file(job)


def _of_one_file(job: Job) -> list[Problem]:
    """What all points would write, and names that are taken."""
    found = []
    message = "every point would write this one file: leave it out"
    if job.container.save is not None:
        found.append(_problem(("container", "save"), message))
    if job.trials is not None and not isinstance(job.trials, int) and job.trials.log is not None:
        found.append(_problem(("trials", "log"), message))
    for variable in (POINT, SWEEP):
        if variable in job.env:
            found.append(_problem(("env", variable), "each point of the sweep has its own"))
    return found


def _key_problems(job: Job, key: str, path: Path) -> list[Problem]:
    found: list[Problem] = []
    first, _, rest = key.partition(".")
    if first == "env" and rest:
        _check(found, path, scalars.variable_name, rest)
        if rest in (POINT, SWEEP):
            found.append(_problem(path, f"{rest} is hpclaunch's own, and each point has its own"))
        for where, names in (("secrets", job.secrets), ("inherit", job.inherit)):
            if rest in names:
                found.append(_problem(path, f"{rest} is in {where} too: leave it out there"))
        return found
    if key == ARGS:
        if isinstance(job.command, str):
            message = "the command is one text, which takes no words after it: write it as a list"
            found.append(_problem(path, message))
        return found
    known = [name for name in job.__struct_fields__ if name not in _OF_ALL]
    if first in _OF_ALL:
        found.append(_problem(path, f"{first} is the same for all points"))
    elif first not in known or not all(key.split(".")):
        choices = (*known, "env.NAME", ARGS)
        message = f"{scalars.shown(key)} is no key of a job{nearest(key, choices)}"
        found.append(_problem(path, f"{message}; a sweep takes what --set takes"))
    return found


def _value(key: str, value: Any) -> None:
    if key.startswith("env."):
        if not isinstance(value, str):
            found = "no value" if value is None else "a list" if isinstance(value, tuple) else "a map"
            raise ValueError(f'a variable has text as its value, not {found}; "" is the empty one')
    elif key in (ARGS, "command"):
        words = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(word, str) for word in words):
            raise ValueError("write the words as a list of texts: [--lr, '0.1']")
        if key == "command" and (not words or not words[0].strip()):
            raise ValueError("the command is empty")


def _draw(key: str, draw: Draw) -> None:
    given = [name for name in ("uniform", "loguniform", "int_", "choice") if getattr(draw, name) is not None]
    if len(given) != 1:
        raise ValueError("write one of uniform, loguniform, int and choice")
    if draw.choice is not None:
        if not draw.choice:
            raise ValueError("the list is empty")
        for value in draw.choice:
            _value(key, value)
        return
    ends: tuple[str, ...] = getattr(draw, given[0])
    name = given[0].rstrip("_")
    if len(ends) != 2:
        raise ValueError(f"{name} has {len(ends)} numbers, not two: [from, to]")
    if draw.int_ is not None:
        low, high = (scalars.whole_number(text) for text in ends)
        if max(abs(low), abs(high)) > MAX_INT:
            raise ValueError(f"{ends[0]} to {ends[1]} is more than can be drawn from evenly")
    else:
        low, high = map(_number, ends)  # type: ignore[assignment]
        if draw.loguniform is not None and low <= 0:
            raise ValueError(f"{ends[0]} has no logarithm: numbers above 0 alone")
    if low > high:
        raise ValueError(f"{ends[0]} is larger than {ends[1]}")


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{scalars.shown(text)} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{scalars.shown(text)} is not a number that can be drawn")
    return number
