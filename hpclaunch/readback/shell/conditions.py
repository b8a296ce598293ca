"""[[ ... ]] and [ ... ]: true, false, or not known (bash's manual, "Bash Conditional Expressions")."""

import re
from collections.abc import Callable, Sequence

from hpclaunch.readback.shell import extglob
from hpclaunch.readback.shell.pieces import Word, given
from hpclaunch.readback.shell.values import Value, known

NUMBERS = {
    "-eq": int.__eq__,
    "-ne": int.__ne__,
    "-lt": int.__lt__,
    "-le": int.__le__,
    "-gt": int.__gt__,
    "-ge": int.__ge__,
}
_COMPARISONS = frozenset(("=", "==", "!=", "=~", "<", ">", "-nt", "-ot", "-ef", *NUMBERS))
_DEEPEST = 40


class Condition:
    """Reads the words of [[ ]], and as text the operators between them. `value` expands a word, `pattern` one
    as a pattern (None: not known), `number` evaluates arithmetic, `matches` tells whether a pattern is like a
    text (None: not known), and `expression` whether the regular one is that a word is; it is asked only where
    bash looks at it, and told whether that is sure. What is no condition is not known."""

    def __init__(
        self,
        value: Callable[[Word], Value],
        pattern: Callable[[Word], str | None],
        number: Callable[[Word], int | None],
        matches: Callable[[str, str], bool | None] = extglob.matches,
        expression: Callable[[Word, str | None, bool], bool | None] | None = None,
    ):
        self._value = value
        self._pattern = pattern
        self._number = number
        self._matches = matches
        self._expression = expression
        self._looks: bool | None = True  # whether bash looks at what is read
        self._words: Sequence[str | Word] = ()
        self._at = 0

    def holds(self, words: Sequence[str | Word]) -> bool | None:
        """Whether the condition holds."""
        self._words, self._at = words, 0
        result = self._any(0)
        return result if self._at == len(words) else None

    def _next(self, *words: str) -> bool:
        if self._at < len(self._words) and self._words[self._at] in words:
            self._at += 1
            return True
        return False

    def _any(self, depth: int) -> bool | None:
        results, looks = [self._all(depth)], self._looks
        while self._next("||", "-o"):
            self._looks = _behind(self._looks, results[-1], goes_on=False)
            results.append(self._all(depth))
        self._looks = looks
        return True if True in results else None if None in results else False

    def _all(self, depth: int) -> bool | None:
        results, looks = [self._one(depth)], self._looks
        while self._next("&&", "-a"):
            self._looks = _behind(self._looks, results[-1], goes_on=True)
            results.append(self._one(depth))
        self._looks = looks
        return False if False in results else None if None in results else True

    def _one(self, depth: int) -> bool | None:
        if depth > _DEEPEST:
            self._at = len(self._words)
            return None
        negated = False
        while len(self._words) - self._at > 1 and self._next("!"):
            negated = not negated
        if self._next("("):
            result = self._any(depth + 1)
            self._next(")")
        else:
            result = self._primary()
        return None if result is None else result != negated

    def _primary(self) -> bool | None:
        rest = self._words[self._at : self._at + 3]
        if len(rest) > 2 and isinstance(rest[1], str) and rest[1] in _COMPARISONS:
            self._at += 3
            return self._compared(_word(rest[0]), rest[1], _word(rest[2]))
        if len(rest) > 1 and isinstance(rest[0], str) and len(rest[0]) == 2 and rest[0][0] == "-":
            self._at += 2
            return self._is_empty(_word(rest[1]), rest[0]) if rest[0] in ("-z", "-n") else None
        self._at += 1
        return self._is_empty(_word(rest[0]), "-n") if rest else None

    def _is_empty(self, word: Word, operator: str) -> bool | None:
        value = self._value(word)
        text = known(value)
        if text is None:
            return operator == "-n" if any(isinstance(part, str) for part in value) else None
        return (text == "") == (operator == "-z")

    def _compared(self, left: Word, operator: str, right: Word) -> bool | None:
        if operator in NUMBERS:
            one, other = self._number(left), self._number(right)
            return None if one is None or other is None else NUMBERS[operator](one, other)
        text = known(self._value(left))
        if operator == "=~":
            if self._expression is None or self._looks is False:
                return None
            return self._expression(right, text, self._looks is True)
        if operator in ("=", "==", "!="):
            pattern = self._pattern(right)
            if text is None or pattern is None:
                return None
            alike = self._matches(pattern, text)
            return None if alike is None else alike == (operator != "!=")
        return None


def _behind(looks: bool | None, result: bool | None, goes_on: bool) -> bool | None:
    """Whether bash looks at what stands behind && or ||, where it goes on with such a result."""
    if looks is False or result is (not goes_on):
        return False
    return None if result is None else looks


def as_pattern(expression: str | None) -> str | None:
    """A regular expression that is only text, or the start or end of one, as a pattern for all of it."""
    plain = re.fullmatch(r"(\^?)([\w/:, -]*)(\$?)", expression or "", re.ASCII)
    if expression is None or not plain:
        return None
    return ("" if plain[1] else "*") + plain[2] + ("" if plain[3] else "*")


def _word(part: str | Word) -> Word:
    """What looks like an operator, where a word is."""
    return given((part,), part) if isinstance(part, str) else part
