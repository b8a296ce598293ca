"""Assignments, and arrays."""

import re

from hpclaunch.convert.shell.syntax import plain
from hpclaunch.convert.shell.syntax.expansions import Expansions
from hpclaunch.readback.shell.pieces import NOTHING, Word
from hpclaunch.readback.shell.statements import Assignment, Element

_BRACKET = re.compile(r"(?<!\\)\]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:(\+?=)|\[)", re.ASCII)
_QUOTES = re.compile(r"['\"`\\]|\$[({\[]")
_ENDS = frozenset(" \t\n;&|<>()")


class Assignments(Expansions):
    """Reads assignments."""

    def assignment(self) -> Assignment | None:
        """The assignment here, None where there is none."""
        text, start = self.text, self.at
        found = _ASSIGNMENT.match(text, start)
        if not found:
            return None
        known = plain.assignment(self)
        if known is not None:
            return known
        name, operator = found[1], found[2]
        self.at = found.end()
        index: Word | None = None
        if operator is None:
            if not _BRACKET.search(text, self.at):
                self.fail("a [ that nothing closes", start)
            index = self._expression("]")
            if index is None and self.at >= len(text) and _is_open(text[start:]):
                self.fail("a [ that nothing closes", start)
            operator = "+=" if text.startswith("+=", self.at + 1) else text[self.at + 1 : self.at + 2]
            if index is None or operator not in ("=", "+="):
                self.at = start
                return None
            self.at += 1 + len(operator)
        value, array = NOTHING, None
        char = self.ahead()
        if char == "(":
            array = self._array()
        elif char and (char not in _ENDS or (char in "<>" and self.ahead(2)[1:] == "(")):
            value = self.word()
        return Assignment(name, index, operator == "+=", value, array, text[start : self.at])

    def _array(self) -> tuple[Element, ...]:
        start = self.at
        self.at += 1
        found: list[Element] = []
        while True:
            char = self.gaps()
            if char == ")":
                self.at += 1
                return tuple(found)
            if not char:
                self.fail("a ( that nothing closes", start)
            found.append(self._element() if char == "[" else Element(None, self.word()))

    def _element(self) -> Element:
        start = self.at
        self.at += 1
        index = self._expression("]")
        if index is None or self.ahead(2) != "]=":
            self.at = start
            return Element(None, self.word())
        self.at += 2
        char = self.ahead()
        return Element(index, self.word() if char and char not in _ENDS else NOTHING)


def _is_open(text: str) -> bool:
    """Whether more [ than ] are in a text of which no quote takes any."""
    return text.count("[") > text.count("]") and not _QUOTES.search(text)
