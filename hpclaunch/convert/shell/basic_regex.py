r"""Basic regular expressions as programs of GNU take them (POSIX, "Basic Regular Expressions", with \+ and
\?): the longest text from the start that is like one.

No pattern takes long: what is like it from each place is found out once. A group that is repeated, a choice
and a reference to what a group matched are not followed.
"""

import re
import string
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

MOST = 200  # characters of a text and of a pattern, and of the latter with \{20\} as so many
_CLASSES = {
    "alpha": string.ascii_letters,
    "digit": string.digits,
    "alnum": string.ascii_letters + string.digits,
    "upper": string.ascii_uppercase,
    "lower": string.ascii_lowercase,
    "space": string.whitespace,
    "blank": " \t",
    "punct": string.punctuation,
    "xdigit": string.hexdigits,
}
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_SPACE = frozenset(string.whitespace)
LETTERS: dict[str, Callable[[str], bool]] = {
    "w": lambda char: char in _WORD,
    "W": lambda char: char not in _WORD,
    "s": lambda char: char in _SPACE,
    "S": lambda char: char not in _SPACE,
}
_BOUNDS = re.compile(r"\\\{(\d{1,5})(,(\d{0,5}))?\\\}")


class Unclear(Exception):
    """The pattern has something in it that is not followed here."""


class Match(Struct, frozen=True):
    """`end` is where the text that is like the pattern ends, -1 where none is; `group` the bounds of what its
    first group has."""

    end: int
    has_group: bool
    group: tuple[int, int] = (0, 0)


class Atom(Struct, frozen=True):
    """A character, once, perhaps or any number of times; or the begin or the end of the text."""

    fits: Callable[[str], bool]
    count: Literal["one", "perhaps", "many", "begin", "end"] = "one"


def matched(text: str, pattern: str) -> Match:
    """How much of the text, from its start, is like the pattern. Raises Unclear."""
    if len(text) > MOST or len(pattern) > MOST:
        raise Unclear
    atoms, groups = _read(pattern)
    table = furthest(atoms, text)
    last = table[0][0]
    if not groups or last < 0:
        return Match(last, bool(groups))
    ends = bounds(atoms, table, text, 0)
    first, behind = groups[0]
    return Match(last, True, (ends[first], ends[behind]))


def bounds(atoms: Sequence[Atom], table: Sequence[Sequence[int]], text: str, at: int) -> list[int]:
    """Where each atom begins, and the last one ends, in the longest text from there on that is like them.
    `table` is what `furthest` found: of those that make the whole the longest, each has as much as it can."""
    last, found = table[0][at], [at]
    for atom, here, after in zip(atoms, table, table[1:], strict=False):
        if atom.count == "many":
            while at < len(text) and atom.fits(text[at]) and here[at + 1] == last:
                at += 1
        elif atom.count == "one" or (
            atom.count == "perhaps" and at < len(text) and atom.fits(text[at]) and after[at + 1] == last
        ):
            at += 1
        found.append(at)
    return found


def furthest(atoms: Sequence[Atom], text: str) -> list[list[int]]:
    """For each atom and each place where the longest text ends that this atom and those after it are like, -1
    for none."""
    size = len(text)
    found = [list(range(size + 1))]
    for atom in reversed(atoms):
        after = found[-1]
        here = [-1] * (size + 1)
        for at in range(size, -1, -1):
            fits = at < size and atom.fits(text[at])
            if atom.count in ("begin", "end"):
                here[at] = after[at] if at == (size if atom.count == "end" else 0) else -1
            elif atom.count == "one":
                here[at] = after[at + 1] if fits else -1
            else:
                following = here if atom.count == "many" else after
                here[at] = max(after[at], following[at + 1] if fits else -1)
        found.append(here)
    return found[::-1]


def _read(pattern: str) -> tuple[list[Atom], list[tuple[int, int]]]:
    """The atoms, and for each group its first atom and the one behind it."""
    atoms: list[Atom] = []
    groups: list[tuple[int, int]] = []
    opened: list[int] = []
    index = 1 if pattern.startswith("^") else 0
    is_first = True  # a * there is a character
    while index < len(pattern):
        char, two = pattern[index], pattern[index : index + 2]
        if two == r"\(":
            opened.append(len(groups))
            groups.append((len(atoms), len(atoms)))
            index, is_first = index + 2, True
            if pattern[index : index + 1] == "^":
                raise Unclear
            continue
        if two == r"\)":
            if not opened:
                raise Unclear
            own = opened.pop()
            groups[own] = (groups[own][0], len(atoms))
            index, is_first = index + 2, False
            if _BOUNDS.match(pattern, index) or pattern[index : index + 1] == "*" or _sign(pattern, index):
                raise Unclear
            continue
        if char == "$" and (index + 1 == len(pattern) or pattern.startswith((r"\)", r"\|"), index + 1)):
            atoms.append(Atom(never, "end"))
            index += 1
            continue
        if (char == "*" and not is_first) or (is_first and (_sign(pattern, index) or two == r"\{")):
            raise Unclear
        fits, index = _character(pattern, index)
        least, most, index = _times(pattern, index)
        atoms += [Atom(fits)] * least
        atoms += [Atom(fits, "many")] if most is None else [Atom(fits, "perhaps")] * (most - least)
        if len(atoms) > MOST:
            raise Unclear
        is_first = False
    if opened:
        raise Unclear
    return atoms, groups


def never(char: str) -> bool:
    """False: the test of what no character passes."""
    return False


def _sign(pattern: str, index: int) -> bool:
    return pattern.startswith((r"\+", r"\?"), index)


def _times(pattern: str, index: int) -> tuple[int, int | None, int]:
    """How often the atom before is there, None for any number, and where the pattern goes on."""
    bounds = _BOUNDS.match(pattern, index)
    if bounds:
        least = int(bounds[1])
        most = least if bounds[2] is None else int(bounds[3]) if bounds[3] else None
        found: tuple[int, int | None, int] = (least, most, bounds.end())
    elif pattern[index : index + 1] == "*":
        found = (0, None, index + 1)
    elif _sign(pattern, index):
        found = (1, None, index + 2) if pattern[index + 1] == "+" else (0, 1, index + 2)
    else:
        return 1, 1, index
    least, most, index = found
    if max(least, most or 0) > MOST or (most is not None and least > most):
        raise Unclear
    if pattern[index : index + 1] == "*" or _sign(pattern, index):
        raise Unclear
    if _BOUNDS.match(pattern, index):
        raise Unclear
    return found


def _character(pattern: str, index: int) -> tuple[Callable[[str], bool], int]:
    """What is like one character, and where the pattern goes on."""
    char = pattern[index]
    if char == ".":
        return (lambda _: True), index + 1
    if char == "[":
        return bracket(pattern, index)
    if char != "\\":
        return (lambda other: other == char), index + 1
    after = pattern[index + 1 : index + 2]
    if after in LETTERS:
        return LETTERS[after], index + 2
    if not after or after not in r".*[]^$\/+-:,=" or after in "+?":
        raise Unclear
    return (lambda other: other == after), index + 2


def bracket(pattern: str, index: int) -> tuple[Callable[[str], bool], int]:
    """What is like one character of [...], and where the pattern goes on. Raises Unclear."""
    at = index + 1
    negated = pattern[at : at + 1] == "^"
    at += negated
    first = at
    chars: set[str] = set()
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        named = re.compile(r"\[:(\w+):\]").match(pattern, at)
        if named:
            if named[1] not in _CLASSES:
                raise Unclear
            chars.update(_CLASSES[named[1]])
            at = named.end()
            continue
        if pattern.startswith(("[.", "[=", "[:"), at):
            raise Unclear
        char, last = pattern[at], pattern[at + 2 : at + 3]
        if pattern[at + 1 : at + 2] == "-" and last not in ("", "]"):
            if last == "[" or last < char or not _is_plain_range(char, last):
                raise Unclear
            chars.update(map(chr, range(ord(char), ord(last) + 1)))
            at += 3
        else:
            chars.add(char)
            at += 1
    if at >= len(pattern):
        raise Unclear
    return (lambda char: (char in chars) != negated), at + 1


def _is_plain_range(first: str, last: str) -> bool:
    """Whether it is the same in all languages."""
    return any(first in each and last in each for each in (string.digits, string.ascii_lowercase)) or (
        first in string.ascii_uppercase and last in string.ascii_uppercase
    )
