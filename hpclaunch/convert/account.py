"""What became of each statement of the input: none vanishes.

A statement is told where a finding names one of its lines. What no finding names gets one of its own: shell
plumbing that has no effect on the launch, variables whose values are in commands that are told, and all else
by its text.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from hpclaunch.convert import texts_told
from hpclaunch.convert.draft import sayable, shown
from hpclaunch.convert.lines_told import Told
from hpclaunch.convert.mapping.around.logs import IN_LOGS
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.environment.sourced import not_given
from hpclaunch.convert.mapping.slurm.numbers import no_run
from hpclaunch.convert.programs.beside import PLUMBING
from hpclaunch.convert.programs.names import (
    BY_JSRUN,
    BY_MPI,
    BY_TORCH,
    CONTAINERS,
    IMPORTERS,
    REMOTE,
    STEPS,
    any_of,
)
from hpclaunch.convert.programs.schedulers import scheduler_of
from hpclaunch.convert.reading import Assigned, Command, ShellReading, Statement
from hpclaunch.convert.shell.names import uses_of
from hpclaunch.convert.untold import is_made, program_of_statement, what_became
from hpclaunch.convert.walked import Line, Walk, line_of
from hpclaunch.readback.shell.statements import For, Function, Simple
from hpclaunch.readback.shell.values import shown as as_text
from hpclaunch.values.conversion import Finding, Place

_UNREAD_TODO = "see whether the launch needs them: if so, convert it without what stands around them"
_LOOK = "look at this line yourself"
_MOST_SHOWN = 3
_MOST = 500  # groups of neighbours
_WORD = re.compile(r"\w+")
_PROGRAM = re.compile(r"[\w./+-]*[A-Za-z_][\w./+-]*")
_NAMED = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*)")
_ARGUMENTS = re.compile(r"\$(?:[@*1-9]|\{[@*1-9])")
_TAKES_ARGUMENT = re.compile(r"=[^\s;]*\$\{?[@*1-9]")
_WIDE = 90
_MOST_LINES = 50  # of one command
_IN_ENV = re.compile(r"\benv\.([A-Za-z_]\w*)")
_STARTERS = re.compile(rf"\b{any_of(STEPS, BY_MPI, BY_TORCH, CONTAINERS, IMPORTERS, REMOTE, BY_JSRUN)}\b")


def account(reading: ShellReading, findings: Sequence[Finding]) -> list[Finding]:
    """The findings for all statements that `findings` do not name."""
    lines = _Lines(_places(findings))
    by_others = _Lines(_places(each for each in findings if each.kind not in ("defect", "assumed")))
    used = _uses_of_told(reading, lines) | _of_ranks(findings)
    walk = Walk(reading, used, _left_to_ranks(findings))
    texts = [each.text for each in reading.unclear]
    texts += [each.what for each in findings if each.kind == "unread"]
    evaluated = (each for each in reading.statements if each.written.startswith("eval "))
    texts += [each.written for each in evaluated if is_made(each, walk) and not lines.name(each.place)]
    walk.perhaps = _uses_of_unclear(reading, texts)
    of_run = [each for each in findings if each.key == "command"]
    walk.no_run = any((each.kind, each.what) == ("question", no_run.THE_RUN) for each in of_run)
    if not_given(reading) and not any(each.became for each in of_run):
        walk.perhaps = {each.name for each in reading.assigned}  # the run is where nobody reads it
    elif walk.no_run or not of_run:
        walk.perhaps |= {each.name for each in reading.assigned if each.exported} | _of_commands(reading)
    walk.perhaps |= _made_of(reading, walk.unread)
    unclear = {
        line_of(each.place): Told("unread", "", each.text, _LOOK)
        for each in reading.unclear
        if not each.unread
    }
    left_out = [
        (_Lines([each.place]), Told("unread", "", each.text, _UNREAD_TODO))
        for each in reading.unclear
        if each.unread
    ]
    beside = _beside_others(reading, findings)
    rows = [
        (each, _left_out(each, left_out) or unclear.get(line_of(each.place)) or what_became(each, walk))
        for each in sorted(reading.statements, key=lambda each: each.place)
        if not by_others.name(each.place) or id(each) in beside
    ]
    # A defect says what is wrong with a line, and what is assumed which value one of its words has, and not
    # what becomes of it; what has no effect has that alone.
    rows = [
        (each, told)
        for each, told in rows
        if told.kind == "left" or id(each) in beside or not lines.name(each.place)
    ]
    groups = [
        (told, [statement for statement, _ in group])
        for (told, _), group in groupby(rows, key=lambda row: (row[1], row[0].place.file))
    ]
    found = [_finding(told, group) for told, group in (groups if len(groups) <= _MOST else _joined(groups))]
    found += [_finding(told, group) for told, group in texts_told.left(reading, findings)]
    named = _Lines(_places([*findings, *found]))
    found += [
        Finding("unread", (each.place,), shown(sayable(each.text)), todo=_LOOK)
        for each in reading.unclear
        if not named.name(each.place)
    ]
    return found


def _of_commands(reading: ShellReading) -> set[str]:
    """The variables of commands that may be the run, and those that they are made of."""
    words = (word for each in reading.commands if scheduler_of(each.words) for word in each.words[1:])
    submitted = {as_text(word) for word in words}
    its = (
        each
        for each in reading.commands
        if each.program not in PLUMBING
        or each.stdin
        or any(as_text(write.path) in submitted for write in each.writes)
    )
    return _made_of(reading, its)


def _made_of(reading: ShellReading, commands: Iterable[Command]) -> set[str]:
    """The variables of these commands, and those that they are made of."""
    waiting = [name for each in commands for name in each.uses]
    if not waiting:
        return set()
    made_of: dict[str, set[str]] = {}
    for each in reading.assigned:
        made_of.setdefault(each.name, set()).update(each.uses)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += made_of.get(name, ())
    return found


def _joined(groups: Iterable[tuple[Told, list[Statement]]]) -> Iterable[tuple[Told, list[Statement]]]:
    """All of one kind together, also where others stand between them: nobody reads thousands of them."""
    found: dict[tuple[Told, str], list[Statement]] = {}
    for told, group in groups:
        found.setdefault((told, group[0].place.file), []).extend(group)
    return [(told, group) for (told, _), group in found.items()]


def _beside_others(reading: ShellReading, findings: Sequence[Finding]) -> set[int]:
    """Statements, by their id, that share their line with others, and that nothing said of it is about."""
    sharing = _sharing(reading.statements)
    if not sharing:
        return set()
    said: dict[Line, list[frozenset[str]]] = {}
    of_others: set[Line] = set()  # lines of which more is said than where their output is kept
    for finding in findings:
        lines = [line for place in finding.places for line in _lines_of(place) if line in sharing]
        # Where output is kept tells of the program that keeps it: `tee prep.log` is not about `prep`.
        what = finding.what.partition(" ")[0] if finding.why == IN_LOGS else finding.what
        words = [_words(what), _words(finding.became)] if lines else []
        if finding.kind not in ("defect", "assumed") and finding.why != IN_LOGS:
            of_others.update(lines)
        for line in lines:
            said.setdefault(line, []).extend(words)
    found = set()
    for shared, statements in sharing.items():
        for each in statements:
            word = program_of_statement(each)
            is_command = _PROGRAM.fullmatch(word) is not None and word not in PLUMBING
            is_told = shared in of_others and _STARTERS.search(each.written) is not None
            if is_command and not is_told and not _is_said(word, said.get(shared, ())):
                found.add(id(each))
    return found


def _sharing(statements: Sequence[Statement]) -> dict[Line, list[Statement]]:
    """Those of one line that share it with others, or with the last lines of a command that goes on there."""
    begins = [line_of(each.place) for each in statements]
    count = Counter(begins)
    going_on = {
        line
        for each in statements
        if each.place.last > each.place.line and isinstance(each.part, Simple)
        for line in _lines_of(each.place)[1:]
    }
    found: dict[Line, list[Statement]] = {}
    if len(count) == len(begins) and going_on.isdisjoint(begins):
        return found
    for begin, each in zip(begins, statements, strict=True):
        if each.place.last <= each.place.line and (count[begin] > 1 or begin in going_on):
            found.setdefault(begin, []).append(each)
    return {begin: its for begin, its in found.items() if len(its) > 1 or begin in going_on}


def _lines_of(place: Place) -> list[Line]:
    """Each line of a place, as far as anybody writes a command."""
    last = min(max(place.last, place.line), place.line + _MOST_LINES)
    return [(place.file, line) for line in range(place.line, last + 1)]


@lru_cache(maxsize=1024)  # one line is named by many findings
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


def _is_said(word: str, said: Iterable[frozenset[str]]) -> bool:
    parts = _words(word)
    return any(parts <= words for words in said)


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
    told = [each for each in reading.commands if lines.name(each.place)]
    told += reading.of("cd", "pushd")  # each is said to be the folder of what stands behind it
    waiting = [name for each in told for name in each.uses]
    waiting += [name for each in told for name in _deciding(each)]
    waiting += [name for each in reading.assigned if lines.name(each.place) for name in each.uses]
    # bash -c "$COMMAND" is none of them, but what it starts.
    own = (each for each in reading.statements if lines.name(each.place))
    waiting += [name for each in own if isinstance(each.part, Simple) for name in uses_of(each.part)]
    if any(_ARGUMENTS.search(each.written) for each in told):
        waiting += [name for each in reading.of("set") for name in each.uses]  # set -- "${WORDS[@]}"
    waiting += _handed_to_functions(reading, told)
    return _by_way_of_others(reading, waiting)


def _handed_to_functions(reading: ShellReading, told: Iterable[Command]) -> list[str]:
    """The variables in calls of functions whose arguments are in commands that are told, also by way of other
    functions: run "$N" where run() { python fit.py "$@"; }."""
    defined = [each for each in reading.statements if isinstance(each.part, Function)]
    bodies = {each.part.name: each.part.written for each in defined if isinstance(each.part, Function)}
    calls: dict[str, list[Statement]] = {}
    for each in reading.statements if bodies else ():
        calls.setdefault(program_of_statement(each), []).append(each)
    waiting = [(each.function, each.written) for each in told if each.function in bodies]
    gone: set[str] = set()
    found: list[str] = []
    while waiting:
        name, written = waiting.pop()
        if name in gone or not (_ARGUMENTS.search(written) or _TAKES_ARGUMENT.search(bodies[name])):
            continue
        gone.add(name)
        for call in calls.get(name, ()):
            found += uses_of(call.part) if isinstance(call.part, Simple) else ()
            around = (each.part for each in defined if _is_around(each, call))
            waiting += [(part.name, call.written) for part in around if isinstance(part, Function)]
    return found


def _is_around(function: Statement, call: Statement) -> bool:
    part, is_behind = function.part, function.place.line <= call.place.line
    same = function.place.file == call.place.file
    return isinstance(part, Function) and same and is_behind and call.written in part.written


def _uses_of_unclear(reading: ShellReading, texts: Sequence[str]) -> set[str]:
    """The variables of lines that are not understood; where such a line may start ranks also what it hands on
    to them."""
    waiting = [found[1] for text in texts for found in _NAMED.finditer(text)]
    if any(_STARTERS.search(text) or text.startswith("eval ") for text in texts):
        waiting += [each.name for each in reading.assigned if each.exported]
    return _by_way_of_others(reading, waiting)


def _by_way_of_others(reading: ShellReading, names: Iterable[str]) -> set[str]:
    """The variables, and those whose values are in theirs."""
    uses: dict[str, set[str]] = {}
    for each in reading.assigned:
        uses.setdefault(each.name, set()).update(each.uses, _deciding(each))
    # Of a loop over what is told the walk has each round by itself.
    for loop in (each.part for each in reading.statements if isinstance(each.part, For)):
        over = (name for word in loop.words or () for name in _named(word.written))
        uses.setdefault(loop.name, set()).update(over)
    waiting = list(names)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += uses.get(name, ())
    return found


def _deciding(each: Command | Assigned) -> Iterator[str]:
    """The variables of the conditions and loops that something is in."""
    for text in (*each.conditions, *(loop.over for loop in each.loops)):
        yield from _named(text)


@lru_cache(maxsize=1024)  # all that is in one of them has its text
def _named(text: str) -> frozenset[str]:
    return frozenset(_NAMED.findall(text))


def _of_ranks(findings: Iterable[Finding]) -> set[str]:
    """The variables that the job gives to its ranks, or asks for, and those of their rendezvous."""
    found = set()
    for each in findings:
        kind, _, name = each.key.partition(".")
        if kind == "env":
            found.add(name)
        elif kind in ("inherit", "secrets"):
            found.add(each.became.partition(": ")[2])
        elif kind == "rendezvous":
            found.add(each.what)
        elif each.kind == "replaced" and owner(name := each.what.partition("=")[0]) == "runtime":
            found.add(name)  # an option of what makes their container
    return found


def _left_to_ranks(findings: Iterable[Finding]) -> set[str]:
    """The variables that ranks had and that the user has to write, as a finding says."""
    texts = (each.todo for each in findings if each.kind == "left")
    return {name for text in texts for name in _IN_ENV.findall(text)}


def _places(findings: Iterable[Finding]) -> Iterator[Place]:
    return (place for each in findings for place in each.places)


def _left_out(statement: Statement, left_out: Iterable[tuple[_Lines, Told]]) -> Told | None:
    """What is said of a statement that was not walked, None for any other."""
    for lines, told in left_out:
        if lines.name(statement.place):
            return told
    return None


def _finding(told: Told, statements: Sequence[Statement | Command]) -> Finding:
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
