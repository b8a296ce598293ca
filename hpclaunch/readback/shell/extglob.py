"""Bash's patterns with ?(..), *(..), +(..), @(..) and !(..) (bash's manual, "Pattern Matching", extglob).

Where a match may end is kept as a set, so that no pattern makes this run for ever.
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
    return len(text) in _ends(_parsed(pattern), text, {0})


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


def _ends(parts: _Parts, text: str, starts: set[int]) -> set[int]:
    """Where a match of all parts that begins at one of these may end."""
    for part in parts:
        if not starts:
            return starts
        if isinstance(part, _Many):
            starts = set(range(min(starts), len(text) + 1))
        elif isinstance(part, _Group):
            starts = _ends_of_group(part, text, starts)
        else:
            starts = {start + 1 for start in starts if part.match(text, start)}
    return starts


def _ends_of_group(group: _Group, text: str, starts: set[int]) -> set[int]:
    def once(before: set[int]) -> set[int]:
        return {end for way in group.ways for end in _ends(way, text, before)}

    if group.kind == "!":
        return {end for start in starts for end in {*range(start, len(text) + 1)} - once({start})}
    found = once(starts)
    waiting = found if group.kind in "*+" else set()
    while waiting:
        waiting = once(waiting) - found
        found |= waiting
    return found | starts if group.kind in "?*" else found
