"""What a regular expression for bytes tells of its matches before any is looked for: bytes that each has in
it, and places in a text that none can lie across. From such a place on, a search finds what one from the
beginning finds there.

The expression is taken apart by the parser of `re` itself, which is no part of the documented library
(`sre_parse`, from Python 3.11 on `re._parser`). What is not known of its parts is taken for anything.
"""

import importlib
import re
import string
import sys
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

_PARSER = "re._parser" if sys.version_info >= (3, 11) else "sre_parse"
REACH = 65_536  # bytes among which a place is looked for


def _set(found: Iterable[int]) -> int:
    """Bit N is for the byte N."""
    return sum(1 << each for each in set(found))


_ALL = _set(range(256))
_UPPER, _LOWER = (_set(map(ord, letters)) for letters in (string.ascii_uppercase, string.ascii_lowercase))
_CLASSES = {
    f"CATEGORY_{name}": _set(each for each in range(256) if re.match(text, bytes([each])))
    for name, text in {
        "DIGIT": rb"\d",
        "NOT_DIGIT": rb"\D",
        "SPACE": rb"\s",
        "NOT_SPACE": rb"\S",
        "WORD": rb"\w",
        "NOT_WORD": rb"\W",
    }.items()
}


class Shape(Struct, frozen=True):
    """Each match has `literal` in it. `after` has for each byte the set of those that may follow it within a
    match; () where that is not known."""

    literal: bytes = b""
    after: tuple[int, ...] = ()

    def before(self, data: Any, at: int) -> int:
        """The last place up to `at` that no match in `data` lies across; 0 where none is near."""
        if self.after:
            start = max(0, at - REACH)
            text = data[start : at + 1]
            for index in range(len(text) - 1, 0, -1):
                if not self.after[text[index - 1]] >> text[index] & 1:
                    return int(start + index)
        return 0


def shape_of(pattern: "re.Pattern[bytes]") -> Shape:
    """What is known of the matches of a pattern, perhaps nothing."""
    if pattern.flags & re.LOCALE:
        return Shape()
    text: Any = pattern.pattern
    try:
        items = importlib.import_module(_PARSER).parse(text, re.MULTILINE)
        literal = b"" if pattern.flags & re.IGNORECASE else max(_Literals(items).runs, key=len)
        return Shape(literal, _Walk(pattern.flags, items).after())
    except Exception:  # another Python may have it elsewhere, or otherwise
        return Shape()


class _Walk:
    """Which bytes may follow which: of each part of an expression it finds whether it may be empty, and the
    sets of the first and the last bytes of what it matches. Of several it takes more rather than fewer."""

    def __init__(self, flags: int, items: Any):
        self._any = _ALL if flags & re.DOTALL else _ALL & ~(1 << ord("\n"))
        self._after = [0] * 256
        self._sequence(items)

    def after(self) -> tuple[int, ...]:
        return tuple(self._after)

    def _sequence(self, items: Any) -> tuple[bool, int, int]:
        is_empty, first, last = True, 0, 0
        for item in items:
            may_be_empty, begins, ends = self._item(*item)
            self._link(last, begins)
            first |= begins if is_empty else 0
            last = ends | (last if may_be_empty else 0)
            is_empty = is_empty and may_be_empty
        return is_empty, first, last

    def _item(self, operator: Any, value: Any) -> tuple[bool, int, int]:
        name = operator.name
        if name in ("AT", "ASSERT", "ASSERT_NOT"):
            return True, 0, 0
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, _, items = value
            is_empty, first, last = self._sequence(items)
            self._link(last, first)
            return is_empty or least == 0, first, last
        if name == "ATOMIC_GROUP":
            return self._sequence(value)
        if name == "SUBPATTERN":
            _, added, removed, items = value
            return self._anything() if added or removed else self._sequence(items)
        if name == "BRANCH":
            parts = [self._sequence(items) for items in value[1]]
            return any(part[0] for part in parts), _union(parts, 1), _union(parts, 2)
        if name not in ("ANY", "LITERAL", "NOT_LITERAL", "IN"):
            return self._anything()
        found = self._one(name, value)
        found |= (found & _UPPER) << 32 | (found & _LOWER) >> 32  # (?i) may hold
        return False, found, found

    def _anything(self) -> tuple[bool, int, int]:
        self._link(_ALL, _ALL)
        return True, _ALL, _ALL

    def _one(self, name: str, value: Any) -> int:
        """The set of what stands for one byte."""
        if name == "ANY":
            return self._any
        if name == "LITERAL":
            return 1 << int(value)
        if name == "NOT_LITERAL":
            return _ALL & ~(1 << int(value))
        if name == "RANGE":
            return _set(range(value[0], value[1] + 1))
        if name == "CATEGORY":
            return _CLASSES[value.name]
        members = [(each.name, what) for each, what in value]
        found = 0
        for each, what in members:
            found |= self._one(each, what) if each != "NEGATE" else 0
        return _ALL & ~found if members[0][0] == "NEGATE" else found

    def _link(self, last: int, first: int) -> None:
        for byte in range(256) if last and first else ():
            if last >> byte & 1:
                self._after[byte] |= first


def _union(parts: list[tuple[bool, int, int]], index: int) -> int:
    found = 0
    for part in parts:
        found |= int(part[index])
    return found


class _Literals:
    """Bytes that stand side by side in each match: all of one of `runs`."""

    def __init__(self, items: Any):
        self.runs = [b""]
        self._sequence(items)

    def _sequence(self, items: Any) -> None:
        for operator, value in items:
            if operator.name == "LITERAL":
                self.runs[-1] += bytes([value])
            elif operator.name == "SUBPATTERN" and not value[1]:
                self._sequence(value[3])
            elif operator.name not in ("AT", "ASSERT", "ASSERT_NOT"):  # these are between two bytes
                self.runs.append(b"")
