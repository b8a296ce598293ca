"""What became of each statement of the input: none vanishes.

A statement is told where a finding names one of its lines. What no finding names gets one of its own: shell
plumbing that has no effect on the launch, variables whose values are in commands that are told, and all else
by its text.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from hpclaunch.convert.draft import sayable, shown
from hpclaunch.convert.programs.names import (
    BY_MPI,
    BY_TORCH,
    CONTAINERS,
    IMPORTERS,
    PLUMBING,
    REMOTE,
    STEPS,
    any_of,
)
from hpclaunch.convert.reading import ShellReading, Sourced, Statement
from hpclaunch.values.conversion import Finding, Kind, Place

_UNREAD_TODO = "see whether the launch needs them: if so, convert it without what stands around them"
_WHY_MADE = "what it makes of its words is known only where it runs"
_MADE_TODO = "look at this line yourself: give what it sets by --env, and add what it starts to the job"
_WHY_UMASK = "srun handed it on: it is in the modes of the files that ranks make"
_UMASK_TODO = "where others need those files, let the command begin with it"
_WHY_CALL = "what the function does is told where its commands stand"
_FOLLOWING = "it submits another job, and a job's own shell submits none"
_FOLLOWING_TODO = (
    "make a job file of that script too, write depends_on: [THIS JOB'S FILE] in it (it waits until this one "
    "has ended well; when: afterany, in any way), and `hpclaunch submit` both"
)
_AGAIN_TODO = (
    "where the script submits itself write `chain` in the job file: so many links, each after the other"
)
_REQUEUES = re.compile(r"(?s)(?:trap\s.*?\b)?scontrol\s+requeue(?:hold)?\b")
_WHY_REQUEUE = "it puts the job itself back, and in a step of a job file it would do so at each start"
_REQUEUE_TODO = "write `chain` in the job file: so many links, each after one that its time limit ended"
_WHY_FILE = "it writes a file, and the job does not"
_FILE_TODO = "where ranks read that file, keep it beside the job file or write it in setup"
# env and time are nothing by themselves; with a word behind their options and variables they start it.
_STARTS_ANOTHER = re.compile(r"(?:env|time)(?:\s+(?:-\S*|\w+=\S*))*\s+[^-\s|>&;#\w]*\w[^=\s]*(?:\s|$)")
_DECLARE = ("declare", "typeset", "local", "readonly")
_EXPORTS_WHAT = re.compile(r"(?:export|(?:declare|typeset)\s+-x)\s+\"?[$`]")
_WHY_EXPORT = "which variables it hands on to the ranks is known only where it runs"
_MOST_SHOWN = 3
_MOST = 500  # groups of neighbours
_WORD = re.compile(r"\w+")
_WIDE = 90
_FUNCTION = re.compile(r"([\w.:-]+)\(\)$")  # as `listing` writes it
# Assignments for one command: A=1 B='x y' command.
_IN_FRONT = re.compile(r"""(?:[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s"'();&|])*\s+)+(?=\S)""")
_MOST_READ = 2000  # characters: no assignments for one command are longer
_WRITERS = frozenset(("cat", "echo", "printf"))
_TO_FILE = re.compile(r"(?:^|[^0-9&<>\\=-])>{1,2}\s*(?!&|/dev/|>\()\S")
_STARTERS = re.compile(rf"\b{any_of(STEPS, BY_MPI, BY_TORCH, CONTAINERS, IMPORTERS, REMOTE)}\b")


class _Told(Struct, frozen=True):
    """What became of a statement that no finding names. `before` stands before its text."""

    kind: Kind
    before: str
    why: str
    todo: str = ""


# What is said of most statements.
_USED = _Told("carried", "variables: ", "the commands that use them have their values")
_UNUSED = _Told("without effect", "", "nothing that is launched uses it")
_TRAPPED = _Told(
    "left",
    "",
    "it runs where the script ends or is told a signal, and no step of a job is made of it",
    "if the job needs it, add it to after, which runs at each end",
)
_OF_SHELL = PLUMBING | {"kill"}
_PLUMBING = _Told("without effect", "shell plumbing: ", "it has no effect on what is launched")
_LEFT = _Told(
    "left",
    "",
    "it is not part of what is launched, as far as this command knows",
    "if the job needs it, add it to setup, before_each or after",
)


def account(reading: ShellReading, findings: Sequence[Finding]) -> list[Finding]:
    """The findings for all statements that `findings` do not name."""
    lines = _Lines(_places(findings))
    by_others = _Lines(_places(each for each in findings if each.kind != "defect"))
    told_uses, assigned = _uses_of_told(reading, lines) | _of_ranks(findings), _assigned(reading)
    sourced = {(each.place.file, each.place.line): each for each in reading.sourced}
    unclear = {(each.place.file, each.place.line): each.text for each in reading.unclear if not each.unread}
    heads = (each.written for each in reading.statements if each.written.endswith("()"))
    functions = {head[1] for head in map(_FUNCTION.match, heads) if head}
    beside = _beside_others(reading, findings)
    left_out = [
        (_Lines([each.place]), _Told("unread", "", each.text, _UNREAD_TODO))
        for each in reading.unclear
        if each.unread
    ]
    trapped = {
        (each.place.file, each.place.line)
        for each in reading.commands
        if each.signals and each.program not in _OF_SHELL and each.program not in functions
    }
    rows = [
        (
            each,
            _left_out(each, left_out) or _what_became(each, assigned, told_uses, sourced, unclear, functions),
        )
        for each in sorted(reading.statements, key=lambda each: each.place)
        if not by_others.name(each.place) or each in beside
    ]
    rows = [
        (each, _TRAPPED if told is _PLUMBING and (each.place.file, each.place.line) in trapped else told)
        for each, told in rows
    ]
    # A defect says what is wrong with a line, and not what becomes of it; what has no effect has that alone.
    rows = [row for row in rows if row[1].kind == "left" or not lines.name(row[0].place) or row[0] in beside]
    groups = [
        (told, [statement for statement, _ in group])
        for (told, _), group in groupby(rows, key=lambda row: (row[1], row[0].place.file))
    ]
    found = [_finding(told, group) for told, group in (groups if len(groups) <= _MOST else _joined(groups))]
    named = _Lines(_places([*findings, *found]))
    found += [
        Finding("unread", (each.place,), shown(sayable(each.text)), todo="look at this line yourself")
        for each in reading.unclear
        if not named.name(each.place)
    ]
    return found


def _joined(groups: Iterable[tuple[_Told, list[Statement]]]) -> Iterable[tuple[_Told, list[Statement]]]:
    """All of one kind together, also where others stand between them: nobody reads thousands of them."""
    found: dict[tuple[_Told, str], list[Statement]] = {}
    for told, group in groups:
        found.setdefault((told, group[0].place.file), []).extend(group)
    return [(told, group) for (told, _), group in found.items()]


def _beside_others(reading: ShellReading, findings: Sequence[Finding]) -> set[Statement]:
    """Statements that share their line with others, and that nothing said of the line is about."""
    begins = [(each.place.file, each.place.line) for each in reading.statements]
    sharing: dict[tuple[str, int], list[Statement]] = {}
    count = Counter(begins)
    if len(count) < len(begins):
        for begin, each in zip(begins, reading.statements, strict=True):
            if count[begin] > 1 and each.place.last <= each.place.line:
                sharing.setdefault(begin, []).append(each)
    sharing = {begin: statements for begin, statements in sharing.items() if len(statements) > 1}
    said: dict[tuple[str, int], set[str]] = {}
    for finding in findings:
        for place in finding.places:
            if (place.file, place.line) in sharing:
                key = place.file, place.line
                said.setdefault(key, set()).update(_WORD.findall(f"{finding.what} {finding.became}"))
    found = set()
    for shared, statements in sharing.items():
        for each in statements:
            word = each.written.split(None, 1)[0] if each.written.strip() else ""
            is_command = word.isidentifier() and word not in PLUMBING and word != "export"
            if is_command and not _STARTERS.search(each.written) and word not in said.get(shared, ()):
                found.add(each)
    return found


class _Lines:
    """Lines of each file: those that findings name."""

    def __init__(self, places: Iterable[Place]):
        ranges: dict[str, list[tuple[int, int]]] = {}
        for place in places:
            if place.line:
                ranges.setdefault(place.file, []).append((place.line, max(place.last, place.line)))
        self._starts: dict[str, list[int]] = {}
        self._ends: dict[str, list[int]] = {}
        for file, each in ranges.items():
            each.sort()
            self._starts[file] = [first for first, _ in each]
            furthest = 0
            self._ends[file] = [furthest := max(furthest, last) for _, last in each]

    def name(self, place: Place) -> bool:
        """Whether one of these lines is among them."""
        starts = self._starts.get(place.file)
        if starts is None:
            return False
        line, last = place.line, place.last
        before = bisect_right(starts, last if last > line else line)
        return before > 0 and self._ends[place.file][before - 1] >= line


def _uses_of_told(reading: ShellReading, lines: _Lines) -> set[str]:
    """The variables whose values are in commands that findings name, also by way of others."""
    uses: dict[str, set[str]] = {}
    for each in reading.assigned:
        uses.setdefault(each.name, set()).update(each.uses)
    waiting = [name for command in reading.commands if lines.name(command.place) for name in command.uses]
    waiting += [name for each in reading.assigned if lines.name(each.place) for name in each.uses]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += uses.get(name, ())
    return found


def _of_ranks(findings: Iterable[Finding]) -> set[str]:
    """The variables that the job gives to its ranks, or asks for."""
    found = set()
    for each in findings:
        kind, _, name = each.key.partition(".")
        if kind == "env":
            found.add(name)
        elif kind in ("inherit", "secrets"):
            found.add(each.became.partition(": ")[2])
    return found


def _places(findings: Iterable[Finding]) -> Iterator[Place]:
    return (place for each in findings for place in each.places)


def _left_out(statement: Statement, left_out: Iterable[tuple[_Lines, _Told]]) -> _Told | None:
    """What is said of a statement that was not walked, None for any other."""
    for lines, told in left_out:
        if lines.name(statement.place):
            return told
    return None


def _what_became(
    statement: Statement,
    assigned: dict[tuple[str, int], set[str]],
    told_uses: set[str],
    sourced: Mapping[tuple[str, int], Sourced],
    unclear: dict[tuple[str, int], str],
    functions: set[str],
) -> _Told:
    place = statement.place
    if (place.file, place.line) in unclear:
        return _Told("unread", "", unclear[place.file, place.line], "look at this line yourself")
    written = statement.written.strip()
    in_front = _IN_FRONT.match(written[:_MOST_READ]) if "=" in written else None
    written = written[in_front.end() :] if in_front else written
    word = written.split(None, 1)[0] if written else ""
    name, equals, _ = word.partition("=")
    variable = name.removesuffix("+").partition("[")[0]
    if (word == "export" or word in _DECLARE) and _EXPORTS_WHAT.match(written):
        return _Told("left", "", _WHY_EXPORT, _MADE_TODO)
    declares = word in _DECLARE and "=" in written
    if word == "export" or declares or (equals and variable.isidentifier()):
        lines = range(place.line, max(place.last, place.line) + 1)
        names = {name for line in lines for name in assigned.get((place.file, line), ())}
        names = names or {one for word in written.split() if (one := word.partition("=")[0]).isidentifier()}
        return _UNUSED if names.isdisjoint(told_uses) else _USED
    if word in ("source", "."):
        each = sourced.get((place.file, place.line))
        if each is not None and each.file:
            return _Told("without effect", "", "its text is among the files, and read where it is sourced")
        path = each.name[-1] if each is not None and each.name else ""
        name = path.rpartition("/")[2] if isinstance(path, str) and "/" in path else ""
        file = "this file" if not name or name in written else shown(sayable(name))
        return _Told("left", "", f"{file} was not given", "give it beside the others")
    if word == "eval" and ("$" in written or "`" in written) and (place.file, place.line) not in assigned:
        return _Told("unread", "", _WHY_MADE, _MADE_TODO)
    if word == "umask" and written != word:
        return _Told("left", "", _WHY_UMASK, _UMASK_TODO)
    if word.strip("'\"") in functions:
        return _Told("carried", "a call: ", _WHY_CALL)
    if word == "sbatch":
        again = "$0" in written or place.file.rpartition("/")[2] in written
        return _Told("left", "", _FOLLOWING, _AGAIN_TODO if again else _FOLLOWING_TODO)
    if word in ("scontrol", "trap") and _REQUEUES.match(written[:_MOST_READ]):
        return _Told("left", "", _WHY_REQUEUE, _REQUEUE_TODO)
    if word in _WRITERS and _TO_FILE.search(written):
        return _Told("left", "", _WHY_FILE, _FILE_TODO)
    if word in ("env", "time") and _STARTS_ANOTHER.match(written):
        return _LEFT
    counts = word.startswith("((")
    if word.rstrip(";(){") in PLUMBING or word in PLUMBING or counts or word.endswith("()") or not word:
        return _PLUMBING
    return _LEFT


def _assigned(reading: ShellReading) -> dict[tuple[str, int], set[str]]:
    """The names that each line assigns."""
    found: dict[tuple[str, int], set[str]] = {}
    for each in reading.assigned:
        found.setdefault((each.place.file, each.place.line), set()).add(each.name)
    return found


def _finding(told: _Told, statements: Sequence[Statement]) -> Finding:
    written = list(dict.fromkeys(each.written for each in statements))
    texts: dict[str, None] = {}
    while written and len(texts) < _MOST_SHOWN:
        texts[shown(sayable(written.pop(0)), _WIDE)] = None
    listed = "; ".join(texts) + (f"; and {len(written)} more" if written else "")
    places = tuple(_merged(each.place for each in statements))
    return Finding(told.kind, places, told.before + listed, "", told.why, told.todo)


def _merged(places: Iterable[Place]) -> Iterator[Place]:
    """Neighbouring lines as one place."""
    first: Place | None = None
    last, several = 0, False
    for place in places:
        line = place.line
        end = place.last if place.last > line else line
        if first is not None and line <= last + 1 and place.file == first.file:
            last, several = (end if end > last else last), True
            continue
        if first is not None:
            yield Place(first.file, first.line, last) if several else first
        first, last, several = place, end, False
    if first is not None:
        yield Place(first.file, first.line, last if last > first.line else 0)
