"""Lines of a text that would take too long to walk, and what they leave behind.

A walk that became too much goes on where something is started again: nobody's launcher is missed since
thousands of lines stand before it. What those lines may have set is unknown from there on.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hpclaunch.convert.programs.names import (
    BY_MPI,
    BY_TORCH,
    CONTAINERS,
    OTHER_SUBMITTERS,
    STEPS,
    SUBMITTERS,
    any_of,
)
from hpclaunch.convert.reading import Unclear
from hpclaunch.convert.shell.listing import parts_of
from hpclaunch.readback.shell import arithmetic
from hpclaunch.readback.shell.state import State
from hpclaunch.readback.shell.statements import (
    Arithmetic,
    Assignment,
    Declaration,
    For,
    Function,
    Loop,
    Simple,
    Statement,
    Test,
)

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

# What stands shortly before a launcher is most often about it.
_BEFORE = 200
_STARTS = re.compile(rf"\b{any_of(SUBMITTERS, OTHER_SUBMITTERS, STEPS, BY_MPI, BY_TORCH, CONTAINERS)}\b")
_NO_ARGUMENTS = re.compile(r"\(\s*\)")
_NAMES = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WITH_DEFAULT = re.compile(r"\$\{([A-Za-z_]\w*):?=", re.ASCII)
WITH_VALUE = re.compile(r"(?<![\w$])([A-Za-z_]\w*)(?:\[[^]\n]*\])?\+?=", re.ASCII)
_LONG = 5000
# They set the variables that are among their words.
_SETTERS = frozenset(("read", "mapfile", "readarray", "printf", "getopts", "unset", "let"))


def leave_out(shell: "Walker", name: str, why: str, state: State) -> int | None:
    """Leave out the statements with which the walk of a source came to too much, and tell it. `state` is the
    one in which the walk began. The number of the statement to go on with, None where it is enough."""
    body, first = shell.parse(name).body, shell.files.first(name)
    written = shell.files.text(name)
    goes_on = shell.goes_on()
    following = _where_to_go_on(written, body, shell.reached, first) if goes_on else len(body)
    left_out = body[shell.reached : following]
    end = (
        body[following].line - 1
        if following < len(body)
        else first + written.count("\n") - (written[-1:] in ("", "\n"))
    )
    shell.line = left_out[0].line
    text = f"{why}: these lines are not read, and what they set is not known"
    shell.unclear.append(Unclear(shell.files.place(shell.line, end), text, unread=True))
    if not goes_on:
        return None
    shell.start_afresh(state)
    others = [part for other in shell.files.names if other != name for part in shell.parse(other).body]
    functions = {}
    if others or "function" in written or _NO_ARGUMENTS.search(written):
        functions = {each.name: each.body for each in _functions([*others, *body])}
    if others and _sources(left_out):
        left_out = (*left_out, *others)
    for each in sorted(_may_be_set(left_out, functions)):
        state.forget(each)
    for function in _functions(left_out) if functions else ():
        state.define(function.name, function)
    return following


def _sources(statements: Iterable[Statement]) -> bool:
    return any(
        each.words[0].written in ("source", ".")
        for each in _all(statements, {})
        if isinstance(each, Simple) and each.words
    )


def _where_to_go_on(written: str, body: Sequence[Statement], reached: int, first_line: int) -> int:
    """The number of the statement with which a walk goes on that came to the one of the number `reached`, as
    many as there are where nothing behind it starts anything. `first_line` is the number of the first line of
    what is `written`."""
    if reached + 1 >= len(body):
        return len(body)
    starts = [each.line for each in body]
    line, at = starts[reached + 1], 0
    for _ in range(line - first_line):
        at = written.index("\n", at) + 1
    while found := _STARTS.search(written, at):
        line += written.count("\n", at, found.start())
        begin = written.rfind("\n", 0, found.start()) + 1
        if "#" not in written[begin : found.start()]:
            return max(reached + 1, bisect_right(starts, line) - 1 - _BEFORE)
        at = written.find("\n", found.end()) + 1 or len(written)
        line += 1
    return len(body)


def _may_be_set(statements: Iterable[Statement], functions: Mapping[str, Statement]) -> set[str]:
    """The variables that the statements may set, also by calls of these functions."""
    found: set[str] = set()
    left = dict(functions)
    for each in _all(statements, left):
        if isinstance(each, Simple):
            for part in each.assignments:
                found.add(part.name)
            if "${" in each.written:
                found.update(_WITH_DEFAULT.findall(each.written))
            if "((" in each.written or "[" in each.written:
                found.update(_changed(each.written))
            name = each.words[0].written if each.words else ""
            if name in _SETTERS:
                found.update(_NAMES.findall(each.written))
            elif name == "eval":
                found.update(WITH_VALUE.findall(each.written))
        elif isinstance(each, Declaration):
            found.update(part.name for part in each.arguments if isinstance(part, Assignment))
            if "$" in each.written:
                found.update(_WITH_DEFAULT.findall(each.written), _changed(each.written))
        elif isinstance(each, Arithmetic | Test):
            found.update(_WITH_DEFAULT.findall(each.written), _changed(each.written))
        elif isinstance(each, For | Loop) and each.name:
            found.add(each.name)
    return found


def _changed(written: str) -> set[str]:
    """What arithmetic in a text assigns to; of a long one all that it names."""
    return arithmetic.changed(written) if len(written) < _LONG else set(_NAMES.findall(written))


def _functions(statements: Iterable[Statement]) -> Iterator[Function]:
    """The functions that the statements define, also within others."""
    return (each for each in _all(statements, {}) if isinstance(each, Function))


def _all(statements: Iterable[Statement], functions: dict[str, Statement]) -> Iterator[Statement]:
    """The statements, those within them, and once each those of the functions that they call."""
    waiting = list(statements)
    while waiting:
        each = waiting.pop()
        yield each
        parts = parts_of(each)
        if parts:
            waiting += parts
        if functions and isinstance(each, Simple) and each.words:
            body = functions.pop(each.words[0].written, None)
            if body is not None:
                waiting.append(body)
