"""What `expr` writes and whether it succeeds (POSIX, "expr"; the keywords are those of GNU coreutils 9.5,
src/expr.c).

The text is that of a shell inside: bytes. What depends on a language, or on how bytes make characters, is not
known.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from hpclaunch.convert.shell.basic_regex import Unclear, matched

_INTEGER = re.compile(r"-?[0-9]+")
_NOTHING = re.compile(r"-?0+|")  # what counts as false
_LONGEST = 1000  # characters of a number: what grows beyond is none
_MOST = 200  # words
_COMPARES: dict[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    "=": lambda order: order == 0,
    "==": lambda order: order == 0,
    "!=": lambda order: order != 0,
    ">=": lambda order: order >= 0,
    ">": lambda order: order > 0,
}
_KEYWORDS = {"match": 2, "substr": 3, "index": 2, "length": 1}


class _Wrong(Exception):
    """expr complains, and its status is 2."""


@lru_cache(maxsize=1000)  # what it writes and whether it succeeds are asked apart
def expr(words: Sequence[str]) -> tuple[str, bool] | None:
    """What it writes, "" where it complains, and whether it succeeds; None where that is not known."""
    words = words[1:] if words and words[0] == "--" else words
    plain = all(word.isascii() and len(word) <= _LONGEST for word in words)
    if not plain or len(words) > _MOST or list(words) in (["--help"], ["--version"]):
        return None
    try:
        value = _Reader(words).whole()
    except _Wrong:
        return "", False
    except (Unclear, RecursionError):
        return None
    return f"{value}\n", not _NOTHING.fullmatch(value)


class _Reader:
    def __init__(self, words: Sequence[str]):
        self._words = words
        self._at = 0

    def whole(self) -> str:
        """The value that all words are."""
        value = self._either()
        if self._at < len(self._words):
            raise _Wrong
        return value

    def _next(self, *words: str) -> str:
        if self._at < len(self._words) and self._words[self._at] in words:
            self._at += 1
            return self._words[self._at - 1]
        return ""

    def _word(self) -> str:
        if self._at >= len(self._words):
            raise _Wrong
        self._at += 1
        return self._words[self._at - 1]

    def _either(self) -> str:
        left = self._both()
        while self._next("|"):
            # What stands behind a value that counts is read and not computed: a fault there is none.
            right = self._quietly(self._both) if _counts(left) else self._both()
            left = left if _counts(left) else right if _counts(right) else "0"
        return left

    def _both(self) -> str:
        left = self._compared()
        while self._next("&"):
            right = self._compared() if _counts(left) else self._quietly(self._compared)
            left = left if _counts(left) and _counts(right) else "0"
        return left

    def _quietly(self, read: Callable[[], str]) -> str:
        """What is not computed: faults of numbers are none, and those of words are not told apart."""
        try:
            return read()
        except _Wrong:
            raise Unclear from None

    def _compared(self) -> str:
        left = self._sum()
        while operator := self._next(*_COMPARES):
            right = self._sum()
            if _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right):
                order = int(left) - int(right)
            elif operator in ("=", "==", "!="):
                order = int(left != right)
            else:
                raise Unclear  # what comes first depends on the language
            left = str(int(_COMPARES[operator](order)))
        return left

    def _sum(self) -> str:
        left = self._product()
        while operator := self._next("+", "-"):
            one, other = _number(left), _number(self._product())
            left = str(one + other if operator == "+" else one - other)
        return left

    def _product(self) -> str:
        left = self._match()
        while operator := self._next("*", "/", "%"):
            left = _number_text(_applied(operator, _number(left), _number(self._match())))
        return left

    def _match(self) -> str:
        left = self._keyword()
        while self._next(":"):
            left = _matches(left, self._keyword())
        return left

    def _keyword(self) -> str:
        if self._next("+"):
            return self._word()
        name = self._next(*_KEYWORDS)
        if name:
            return _FUNCTIONS[name](*[self._keyword() for _ in range(_KEYWORDS[name])])
        if self._next("("):
            value = self._either()
            if not self._next(")"):
                raise _Wrong
            return value
        word = self._word()
        if word == ")":
            raise _Wrong
        return word


def _counts(value: str) -> bool:
    return not _NOTHING.fullmatch(value)


def _number(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise _Wrong
    return int(text)


def _number_text(number: int) -> str:
    if number.bit_length() > 3 * _LONGEST:
        raise Unclear
    return str(number)


def _applied(operator: str, left: int, right: int) -> int:
    if operator == "*":
        return left * right
    if not right:
        raise _Wrong
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if operator == "/" else left - quotient * right


def _matches(text: str, pattern: str) -> str:
    found = matched(text, pattern)
    if found.has_group:
        return text[found.group[0] : found.group[1]] if found.end >= 0 else ""
    return str(max(found.end, 0))


def _substr(text: str, first: str, length: str) -> str:
    if not (_INTEGER.fullmatch(first) and _INTEGER.fullmatch(length)):
        return ""
    start, count = int(first), int(length)
    return text[start - 1 : start - 1 + count] if start > 0 and count > 0 else ""


def _index(text: str, characters: str) -> str:
    return str(next((number for number, each in enumerate(text, 1) if each in characters), 0))


def _length(text: str) -> str:
    return str(len(text))


_FUNCTIONS: dict[str, Callable[..., str]] = {
    "match": _matches,
    "substr": _substr,
    "index": _index,
    "length": _length,
}
