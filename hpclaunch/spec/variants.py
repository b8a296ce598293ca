"""A job with a sweep -> the jobs that differ in more than their environment and arguments, each with its
points."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, structs

from hpclaunch.spec import sets
from hpclaunch.spec.check_sweep import ARGS
from hpclaunch.spec.document import Document
from hpclaunch.spec.dump import dump_job
from hpclaunch.spec.job import Job
from hpclaunch.spec.points import Point, count, keys, points
from hpclaunch.spec.read import convert_job
from hpclaunch.spec.tree import NULLS, MappingNode, Node, ScalarNode, SequenceNode, compose
from hpclaunch.values.errors import InputError, Path, Problem
from hpclaunch.values.names import acts_on_host
from hpclaunch.values.sweep import POINT, SWEEP, PointWords


class Variant(Struct, frozen=True):
    """A job without its sweep, as its first point has it; `points` are all that differ from it in
    environment and arguments alone. `base` is the command before the points' `args`, () where the points
    have the whole command, and `command` that of points without one of their own. `names` are the variables
    that differ from point to point, and `unset` those that the job has without them. A problem of the job is
    located where the sweep has the value."""

    document: Document[Job]
    points: tuple[Point, ...]
    base: tuple[str, ...]
    command: tuple[str, ...]
    unset: dict[str, str]
    names: tuple[str, ...]

    def words(self, keys: tuple[str, ...]) -> tuple[PointWords, ...]:
        """What each point gives to its ranks."""
        return tuple(self._words(point, keys) for point in self.points)

    def _words(self, point: Point, keys: tuple[str, ...]) -> PointWords:
        given = {setting.key: setting.value for setting in point.settings}
        environment = [f"{POINT}={point.number}"]
        environment += [f"{key[4:]}={value}" for key, value in given.items() if _is_plain_variable(key)]
        command = _argv(given["command"]) if "command" in given else self.command
        return PointWords(
            number=point.number,
            values=tuple(shown(given[key]) if key in given else None for key in keys),
            environment=tuple(environment),
            arguments=(*(() if self.base else command), *_list(given.get(ARGS, ()))),
        )


def keys_of(job: Job) -> tuple[str, ...]:
    """The keys that the points of the job's sweep set, in the order of the file."""
    assert job.sweep is not None
    return keys(job.sweep)


def shown(value: Any) -> str:
    """A value of a point as text."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def variants(document: Document[Job], *, each: bool = False) -> list[Variant]:
    """The jobs of a sweep, in the order of their first points; with `each` one for every point, with the
    point's number in its name, since some schedulers tell jobs apart by name. Raises InputError, located at
    the sweep's own values, for points that make no valid job."""
    job = document.value
    assert job.sweep is not None
    groups: dict[tuple[str, int], list[Point]] = {}
    for point in points(job.sweep):
        groups.setdefault((_shape(point), point.number if each else 0), []).append(point)
    single = structs.replace(job, sweep=None)
    total = count(job.sweep)
    whole = "command" in keys_of(job)
    found: list[Variant] = []
    problems: list[Problem] = []
    root: Node | None = None
    for (shape, number), members in groups.items():
        first = members[0]
        place = _placed(document, first)
        value = single
        own = single
        try:
            if shape:
                root = root or compose(dump_job(single), document.file, "job")
                assert root is not None
                value = _changed(root, first, single)
            own = value
            value = _at(own, first, total)
            if each:
                value = structs.replace(value, name=f"{value.name}-{number}")
        except InputError as error:
            problems += (_said(problem, place, first) for problem in error.problems)
            continue
        command = _argv(own.command)
        located = Document(document.kind, document.file, value, place.marks, document.files)
        names = _names(members)
        below = {name: own.env[name] for name in names if name in own.env}
        found.append(Variant(located, tuple(members), () if whole else command, command, below, names))
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    return found


def _names(members: Sequence[Point]) -> tuple[str, ...]:
    keys = dict.fromkeys(setting.key for point in members for setting in point.settings)
    return (POINT, *(key[4:] for key in keys if _is_plain_variable(key)))


def _said(problem: Problem, document: Document[Job], point: Point) -> Problem:
    message = f"{problem.message} (point {point.number} of the sweep)"
    return Problem(message, "job", problem.path, document.locate(problem.path))


def _shape(point: Point) -> str:
    """What the point changes beside environment and arguments, "" for nothing."""
    own = [
        (each.key, each.value)
        for each in point.settings
        if not _is_plain_variable(each.key) and each.key not in _WORDS
    ]
    return repr(own) if own else ""


_WORDS = ("command", ARGS)


@cache  # there are few keys, and many points
def _is_plain_variable(key: str) -> bool:
    """Whether the variable can be set beside the rank: others act on what starts it."""
    return key.startswith("env.") and not acts_on_host(key[4:])


def _changed(root: Node, point: Point, job: Job) -> Job:
    """The job with what the point changes beside environment and arguments. Raises InputError."""
    for setting in point.settings:
        if not _is_plain_variable(setting.key) and setting.key not in _WORDS:
            parts = setting.key.split(".")
            try:
                root = sets.put(root, parts, _node(setting.value))
            except ValueError as error:
                raise InputError([Problem(f"{setting.key}: {error}", "job", tuple(parts))]) from None
    return structs.replace(convert_job(root, "").value, directory=job.directory)


def _at(job: Job, point: Point, total: int) -> Job:
    given = {setting.key: setting.value for setting in point.settings}
    own = {key[4:]: value for key, value in given.items() if _is_plain_variable(key)}
    command = given.get("command", job.command)
    if ARGS in given:
        if isinstance(command, str):
            message = f"{ARGS}: the command is one text, which takes no words after it: write it as a list"
            raise InputError([Problem(message, "job", (ARGS,))])
        command = (*command, *_arguments(point))
    numbers = {SWEEP: str(total), POINT: str(point.number)}
    return structs.replace(job, env={**job.env, **own, **numbers}, command=command)


def _arguments(point: Point) -> tuple[str, ...]:
    return next((_list(each.value) for each in point.settings if each.key == ARGS), ())


def _list(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _argv(command: str | tuple[str, ...]) -> tuple[str, ...]:
    return ("/bin/sh", "-c", command) if isinstance(command, str) else tuple(command)


def _placed(document: Document[Job], point: Point) -> Document[Job]:
    """The document in which what the point sets stands where the sweep has it."""
    marks = dict(document.marks)
    for setting in point.settings:
        if setting.path in marks:
            path: Path = tuple(int(part) if part.isdigit() else part for part in setting.key.split("."))
            marks[path] = marks[setting.path]
    return Document(document.kind, document.file, document.value, marks, document.files)


def _node(value: Any) -> Node:
    """The value as YAML that stands nowhere. Text has quotes only where it would be null without."""
    if value is None:
        return ScalarNode("", "null", None, None)
    if isinstance(value, str):
        return ScalarNode("", value, None, None, style='"' if value in NULLS else None)
    if isinstance(value, Mapping):
        pairs = [(ScalarNode("", key, None, None, style='"'), _node(part)) for key, part in value.items()]
        return MappingNode("", pairs, None, None)
    return SequenceNode("", list(_nodes(value)), None, None)


def _nodes(values: Iterable[Any]) -> Iterator[Node]:
    return map(_node, values)
