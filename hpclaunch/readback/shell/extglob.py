"""Bash's patterns with ?(..), *(..), +(..), @(..) and !(..) (bash's manual, "Pattern Matching", extglob).

Where a match may end is looked for from each place once, so that no pattern makes this run for ever.
"""

import re
from functools import lru_cache

from msgspec import Struct

from hpclaunch.readback.shell import patterns
from hpclaunch.readback.shell.errors import Unreadable

GROUP = re.compile(r"[?*+@!]\(")
# The text within parentheses is as the script has it.
_QUOTES = re.compile(r"[\"'$`]")
_LONGEST_PATTERN = 200
_LONGEST_TEXT = 400
_DEEPEST = 10


class _Many(Struct, frozen=True):
    """*"""


class _Group(Struct, frozen=True):
    kind: str
    ways: tuple["_Parts", ...]


_Part = re.Pattern[str] | _Many | _Group
_Parts = tuple[_Part, ...]


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text matches a pattern, also one without these. Raises Unreadable for what is too
    long, or no pattern."""
    if not GROUP.search(pattern):
        return patterns.matches(pattern, text)
    if len(text) > _LONGEST_TEXT:
        raise Unreadable("a pattern of extglob with a very long text")
    return bool(_Text(text).ends(_parsed(pattern), 1) >> len(text))


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> _Parts:
    if len(pattern) > _LONGEST_PATTERN or _QUOTES.search(pattern):
        raise Unreadable("a pattern of extglob that is very long, or has quotes or variables in it")
    parts, end = _parts(pattern, 0, 0)
    if end < len(pattern):
        raise Unreadable(f"the pattern {pattern!r}")
    return parts


def _parts(pattern: str, index: int, depth: int) -> tuple[_Parts, int]:
    """What stands up to the | or ) that ends it, and the index of that."""
    if depth > _DEEPEST:
        raise Unreadable("a pattern of extglob within too many others")
    found: list[_Part] = []
    while index < len(pattern):
        char = pattern[index]
        if depth and char in "|)":
            break
        if GROUP.match(pattern, index):
            group, index = _group(pattern, index, depth)
            found.append(group)
            continue
        index += 1
        if char == "*":
            found.append(_Many())
            continue
        if char == "[":
            source, index = patterns.bracket(pattern, index)
        elif char == "\\":
            source = re.escape(pattern[index : index + 1] or "\\")
            index += 1
        else:
            source = "." if char == "?" else re.escape(char)
        found.append(re.compile(source, re.DOTALL))
    return tuple(found), index


def _group(pattern: str, index: int, depth: int) -> tuple[_Group, int]:
    kind = pattern[index]
    ways: list[_Parts] = []
    index += 1
    while pattern[index : index + 1] != ")":
        way, index = _parts(pattern, index + 1, depth + 1)
        ways.append(way)
        if index >= len(pattern):
            raise Unreadable(f"the pattern {pattern!r}")
    return _Group(kind, tuple(ways)), index + 1


class _Text:
    """A text, and where in it matches end. A set of places is an int with a bit for each, and what a group
    comes to from one place is kept: within other groups it is asked for again and again."""

    def __init__(self, text: str):
        self._text = text
        self._places = (1 << len(text) + 1) - 1
        self._signs: dict[re.Pattern[str], int] = {}
        self._once: dict[tuple[int, int], int] = {}

    def ends(self, parts: _Parts, starts: int) -> int:
        """Where a match of all parts that begins at one of these may end."""
        for part in parts:
            if isinstance(part, _Many):
                starts = self._from(starts)
            elif isinstance(part, _Group):
                starts = self._of_group(part, starts)
            else:
                starts = (starts & self._with(part)) << 1
        return starts

    def _from(self, starts: int) -> int:
        """The first of these places and all behind it."""
        return self._places & -_first(starts)

    def _with(self, sign: re.Pattern[str]) -> int:
        """Where such a character stands."""
        if sign not in self._signs:
            found = (1 << at for at in range(len(self._text)) if sign.match(self._text, at))
            self._signs[sign] = sum(found)
        return self._signs[sign]

    def _of_group(self, group: _Group, starts: int) -> int:
        found, done, waiting = 0, 0, starts
        while left := waiting & ~done:
            start = _first(left)
            done |= start
            if group.kind == "!":
                found |= self._from(start) & ~self._one_way(group, start)
            else:
                found |= self._one_way(group, start)
            if group.kind in "*+":
                waiting |= found
        return found | starts if group.kind in "?*" else found

    def _one_way(self, group: _Group, start: int) -> int:
        key = id(group), start
        if key not in self._once:
            ends = 0
            for way in group.ways:
                ends |= self.ends(way, start)
            self._once[key] = ends
        return self._once[key]


def _first(places: int) -> int:
    return places & -places
