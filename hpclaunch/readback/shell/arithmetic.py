"""Bash's arithmetic on whole numbers (bash's manual, "Shell Arithmetic"), as far as it changes nothing."""

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|[0-9]+)|(?P<name>[A-Za-z_]\w*(?:\[[^\[\]]*\])?)"
    r"|(?P<operator>\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^!~?:()]))"
)
_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_LEVEL = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_CHANGES = re.compile(
    r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)
_LONGEST = 400


def evaluate(source: str, value_of: Callable[[str], str | None]) -> int | None:
    """The number, or None where a variable's text is not known, something is changed, or it is no arithmetic.
    `value_of` gives the text of a variable, or of NAME[INDEX], "" where it is unset."""
    if len(source) > _LONGEST or changed(source):
        return None
    try:
        return _Reader(source, value_of).whole()
    except (ValueError, ZeroDivisionError, RecursionError):
        return None


def lacks_operand(source: str, value_of: Callable[[str], str | None]) -> bool:
    """Whether bash complains that there is no number where one has to be: (( $x > 0 )) with an empty x."""
    try:
        if len(source) <= _LONGEST and not changed(source):
            _Reader(source, value_of).whole()
    except _NoOperand:
        return True
    except (ValueError, ZeroDivisionError, RecursionError):
        return False
    return False


def changed(source: str) -> set[str]:
    """The variables that it assigns to."""
    if "=" not in source and "++" not in source and "--" not in source:
        return set()
    return {found[1] or found[2] for found in _CHANGES.finditer(source)}


class _NoOperand(ValueError):
    """An operator stands where a number has to be, or nothing."""


class _Reader:
    def __init__(self, source: str, value_of: Callable[[str], str | None], depth: int = 0):
        self._tokens: list[tuple[str, str]] = []
        self._value_of = value_of
        self._depth = depth
        index = 0
        source = source.rstrip()
        while index < len(source):
            found = _TOKEN.match(source, index)
            if not found or found.lastgroup is None:
                raise ValueError(source)
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            index = found.end()
        self._tokens.append(("end", ""))

    def whole(self) -> int:
        """The number that all of it is; 0 for nothing."""
        if self._tokens[0][0] == "end":
            return 0
        result = self._choice()
        if self._tokens[0][0] != "end":
            raise ValueError(self._tokens[0][1])
        return result

    def _take(self, *operators: str) -> str:
        kind, text = self._tokens[0]
        if kind == "operator" and text in operators:
            del self._tokens[0]
            return text
        return ""

    def _choice(self) -> int:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        yes = self._choice()
        if not self._take(":"):
            raise ValueError("?")
        no = self._choice()
        return yes if condition else no

    def _binary(self, least: int) -> int:
        """What operators of this level, and of those that bind closer, make of what follows."""
        left = self._power()
        while True:
            kind, operator = self._tokens[0]
            level = _LEVEL.get(operator, -1) if kind == "operator" else -1
            if level < least:
                return left
            del self._tokens[0]
            left = _wrapped(_apply(operator, left, self._binary(level + 1)))

    def _power(self) -> int:
        base = self._unary()
        if not self._take("**"):
            return base
        exponent = self._power()
        if not 0 <= exponent < 64:
            raise ValueError("**")
        return _wrapped(base**exponent)

    def _unary(self) -> int:
        operator = self._take("-", "+", "!", "~")
        if operator:
            operand = self._unary()
            return {"-": -operand, "+": operand, "!": int(not operand), "~": ~operand}[operator]
        if self._take("("):
            inner = self._choice()
            if not self._take(")"):
                raise ValueError("(")
            return inner
        kind, text = self._tokens.pop(0)
        if kind == "number":
            return _wrapped(int(text, 16 if text[1:2] in ("x", "X") else 8 if text[0] == "0" else 10))
        if kind != "name":
            raise _NoOperand(text)
        value = self._value_of(text)
        if value is None or self._depth > 8 or len(value) > _LONGEST or changed(value):
            raise ValueError(text)
        return _Reader(value, self._value_of, self._depth + 1).whole()


def _apply(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    if operator in ("<<", ">>"):
        right &= 63
        return left << right if operator == "<<" else left >> right
    return {
        "||": int(bool(left or right)),
        "&&": int(bool(left and right)),
        "|": left | right,
        "^": left ^ right,
        "&": left & right,
        "==": int(left == right),
        "!=": int(left != right),
        "<": int(left < right),
        ">": int(left > right),
        "<=": int(left <= right),
        ">=": int(left >= right),
        "+": left + right,
        "-": left - right,
        "*": left * right,
    }[operator]


def _wrapped(number: int) -> int:
    """As 64 bits have it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
