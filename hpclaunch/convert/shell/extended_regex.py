"""Extended regular expressions as [[ =~ ]] takes them (POSIX, "Extended Regular Expressions"): the first text
that is like one, the longest from there, and what its groups have.

No pattern takes long: an expression with choices is as many without them, and what is like each from each
place is found out once. A group that is repeated is not followed, nor which of several ways counts where they
give groups other texts.
"""

import re
from collections.abc import Callable, Sequence
from itertools import product

from msgspec import Struct

from hpclaunch.convert.shell.basic_regex import LETTERS, MOST, Atom, Unclear, bounds, bracket, furthest, never

_MOST_WAYS = 32
_MOST_WORK = 60_000
_BOUNDS = re.compile(r"\{(\d{1,5})(,(\d{0,5}))?\}")
_QUANTIFIERS = "*+?{"


class _Way(Struct, frozen=True):
    """An expression without choices. `groups`: of each its number, its first atom and the one behind it."""

    atoms: tuple[Atom, ...] = ()
    groups: tuple[tuple[int, int, int], ...] = ()


_NOTHING = _Way()


class Found(Struct, frozen=True):
    """The bounds of the text, and those of what each group has: None for one that has nothing."""

    whole: tuple[int, int]
    groups: tuple[tuple[int, int] | None, ...] = ()


def work(text: str, pattern: str) -> int:
    """What it costs to look for it, in what a budget counts."""
    return min(len(text) * len(pattern) // 10, _MOST_WORK // 10)


def search(text: str, pattern: str) -> Found | None:
    """The first text that is like the pattern, None for none. Raises Unclear."""
    if len(text) > MOST or len(pattern) > MOST:
        raise Unclear
    reader = _Reader(pattern)
    ways = reader.ways()
    if reader.at < len(pattern):
        raise Unclear
    if sum(len(way.atoms) + 1 for way in ways) * (len(text) + 1) > _MOST_WORK:
        raise Unclear
    tables = [furthest(way.atoms, text) for way in ways]
    for start in range(len(text) + 1):
        end = max(table[0][start] for table in tables)
        if end >= 0:
            found = {
                _found(way, table, text, start, reader.count)
                for way, table in zip(ways, tables, strict=True)
                if table[0][start] == end
            }
            if len(found) > 1:
                raise Unclear
            return found.pop()
    return None


def _found(way: _Way, table: Sequence[Sequence[int]], text: str, start: int, count: int) -> Found:
    ends = bounds(way.atoms, table, text, start)
    groups: list[tuple[int, int] | None] = [None] * count
    for number, first, behind in way.groups:
        groups[number] = (ends[first], ends[behind])
    return Found((start, ends[-1]), tuple(groups))


class _Reader:
    """Reads a pattern. `count` is how many groups it has so far."""

    def __init__(self, pattern: str):
        self._pattern = pattern
        self.at = 0
        self.count = 0

    def ways(self) -> list[_Way]:
        """All that stands up to a ) or the end, between |."""
        found = self._sequence()
        while self._ahead() == "|":
            self.at += 1
            found += self._sequence()
        return _few(found)

    def _ahead(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _sequence(self) -> list[_Way]:
        found = [_NOTHING]
        while (char := self._ahead()) and char not in "|)":
            found = _few([_joined(way, other) for way, other in product(found, self._element(char))])
        return found

    def _element(self, char: str) -> list[_Way]:
        if char == "(":
            return self._group()
        if char in _QUANTIFIERS:
            raise Unclear
        if char in "^$":
            self.at += 1
            if self._ahead() and self._ahead() in _QUANTIFIERS:
                raise Unclear
            return [_Way((Atom(never, "begin" if char == "^" else "end"),))]
        fits = self._character(char)
        least, most = self._times()
        atoms = (Atom(fits),) * least
        atoms += (Atom(fits, "many"),) if most is None else (Atom(fits, "perhaps"),) * (most - least)
        return [_Way(atoms)]

    def _group(self) -> list[_Way]:
        self.at += 1
        number, self.count = self.count, self.count + 1
        inner = self.ways()
        if self._ahead() != ")":
            raise Unclear
        self.at += 1
        found = [_Way(way.atoms, ((number, 0, len(way.atoms)), *way.groups)) for way in inner]
        least, most = self._times()
        # What matches nothing may be there, or not: that is told of no text.
        again = most is None or most > 1
        if most is None or (again and self.count > number + 1) or (again and any(map(_is_bound, inner))):
            raise Unclear
        if (least, most) != (1, 1) and any(not way.atoms for way in inner):
            raise Unclear
        times = [_few([_NOTHING])] if least == 0 else []
        several = [_NOTHING]
        for count in range(1, most + 1):
            several = _few([_joined(_Way(way.atoms), other) for way, other in product(several, found)])
            times += [several] if count >= least else []
        return _few([way for each in times for way in each])

    def _character(self, char: str) -> Callable[[str], bool]:
        if char == "[":
            fits, self.at = bracket(self._pattern, self.at)
            return fits
        self.at += 1
        if char == ".":
            return lambda _: True
        if char != "\\":
            return lambda other: other == char
        after = self._ahead()
        self.at += 1
        if after in LETTERS:
            return LETTERS[after]
        if not after or after.isalnum() or after in "<>`'":
            raise Unclear
        return lambda other: other == after

    def _times(self) -> tuple[int, int | None]:
        """How often what stands before is there, None for any number."""
        char = self._ahead()
        if not char or char not in _QUANTIFIERS:
            return 1, 1
        least, most = {"*": (0, None), "+": (1, None)}.get(char, (0, 1))
        self.at += 1
        if char == "{":
            told = _BOUNDS.match(self._pattern, self.at - 1)
            if not told:
                raise Unclear
            least, self.at = int(told[1]), told.end()
            most = least if told[2] is None else int(told[3]) if told[3] else None
            if max(least, most or 0) > MOST or (most is not None and least > most):
                raise Unclear
        if self._ahead() and self._ahead() in _QUANTIFIERS:
            raise Unclear
        return least, most


def _joined(way: _Way, other: _Way) -> _Way:
    begin = len(way.atoms)
    groups = ((number, begin + first, begin + behind) for number, first, behind in other.groups)
    return _Way((*way.atoms, *other.atoms), (*way.groups, *groups))


def _is_bound(way: _Way) -> bool:
    return any(atom.count in ("begin", "end") for atom in way.atoms)


def _few(ways: list[_Way]) -> list[_Way]:
    if len(ways) > _MOST_WAYS or any(len(way.atoms) > MOST for way in ways):
        raise Unclear
    return ways
