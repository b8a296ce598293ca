"""Statements of a text that was read before, and of which one line is another now: those of all other lines
are the same wherever a statement begins with such a line."""

from bisect import bisect_right
from collections.abc import Sequence
from copy import copy

from msgspec import Struct

from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.statements import Declaration, Simple, Statement

_ON_THEIR_LINES = (Simple, Declaration)  # their first and last lines are certain


class Run(Struct, frozen=True):
    """Statements one after the other, and how deep they were within others."""

    statements: Sequence[Statement] = ()
    depth: int = 0


class Fault(ScriptError):
    """No script, or too much of one: the longest run in it is that of what was read."""

    def __init__(self, message: str, line: int, read: int, run: Run):
        super().__init__(message, line)
        self.read = read
        self.run = run


class Again:
    """What may be taken of a run."""

    def __init__(self, run: Run):
        self._statements, self._depth, self._changed = run.statements, run.depth, 0
        self._lines: list[int] = []  # those that begin with a statement
        self._numbers: dict[int, int] = {}  # of the statements, by such a line
        before: Statement | None = None
        for number, each in enumerate(run.statements):
            certain = isinstance(each, _ON_THEIR_LINES) and isinstance(before, _ON_THEIR_LINES)
            if certain and before is not None and before.last < each.line:
                self._lines.append(each.line)
                self._numbers[each.line] = number
            before = each

    def but(self, changed: int) -> "Again":
        """The same where the line of this number is another now."""
        found = copy(self)
        found._changed = changed
        return found

    def behind(self, line: int, depth: int) -> tuple[Sequence[Statement], int]:
        """The statements from one that begins this line on, at most as deep as it was, and the line to go on
        with: nothing, and this line, where nothing is known of it."""
        first = self._numbers.get(line)
        if first is None or depth > self._depth:
            return (), line
        last = len(self._lines) if self._changed < line else bisect_right(self._lines, self._changed)
        following = self._lines[last - 1] if last else line
        if following <= line:
            return (), line
        return self._statements[first : self._numbers[following]], following
