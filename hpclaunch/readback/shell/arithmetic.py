"""Bash's arithmetic on whole numbers (bash's manual, "Shell Arithmetic")."""

import re
import string
from collections.abc import Callable

# Text of a variable, or of NAME[INDEX]: "" where it is unset, None where it is not known.
ValueOf = Callable[[str], str | None]
# What a variable, or NAME[INDEX], gets. Raises ValueError where that is not followed.
Put = Callable[[str, int], None]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9][0-9a-zA-Z@_#]*)"
    r"|(?P<name>[A-Za-z_]\w*(?:\[[^\[\]]*\])?)"
    r"|(?P<operator>\*\*|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|[-+*/%<>&|^!~?:()=,]))"
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
_ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))
_CHANGES = re.compile(
    r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)
_LONGEST = 400
_DIGITS = string.digits + string.ascii_lowercase + string.ascii_uppercase + "@_"


def evaluate(source: str, value_of: ValueOf, put: Put | None = None) -> int | None:
    """The number, or None where a variable's text is not known or it is no arithmetic. Without `put` it is
    not known either where something is changed; with it some of that may be done by then."""
    if len(source) > _LONGEST or (put is None and changed(source)):
        return None
    try:
        return _Reader(source, value_of, put).whole()
    except (ValueError, ZeroDivisionError, RecursionError):
        return None


def is_wrong(source: str, value_of: ValueOf) -> bool:
    """Whether bash complains that there is no number where one has to be: (( $x > 0 )) with an empty x, or
    what is none: (( 08 ))."""
    try:
        if len(source) <= _LONGEST and not changed(source):
            _Reader(source, value_of).whole()
    except _NoNumber:
        return True
    except (ValueError, ZeroDivisionError, RecursionError):
        return False
    return False


def changed(source: str) -> set[str]:
    """The variables that it assigns to."""
    if "=" not in source and "++" not in source and "--" not in source:
        return set()
    return {found[1] or found[2] for found in _CHANGES.finditer(source)}


class _NoNumber(ValueError):
    """An operator stands where a number has to be, or nothing, or what is no number."""


class _Reader:
    """Works the number out as it reads. `_idle` counts what is around that is read and does not count, as
    what stands behind 0 && is."""

    def __init__(self, source: str, value_of: ValueOf, put: Put | None = None, depth: int = 0):
        self._tokens = _tokens(source)
        self._value_of = value_of
        self._put = put
        self._depth = depth
        self._idle = 0

    def whole(self) -> int:
        """The number that all of it is; 0 for nothing."""
        if self._tokens[0][0] == "end":
            return 0
        result = self._list()
        if self._tokens[0][0] != "end":
            raise ValueError(self._tokens[0][1])
        return result

    def _take(self, *operators: str) -> str:
        kind, text = self._tokens[0]
        if kind == "operator" and text in operators:
            del self._tokens[0]
            return text
        return ""

    def _list(self) -> int:
        result = self._assignment()
        while self._take(","):
            result = self._assignment()
        return result

    def _assignment(self) -> int:
        kind, name = self._tokens[0]
        operator = self._tokens[1][1] if kind == "name" else ""
        if operator not in _ASSIGNMENTS:
            return self._choice()
        del self._tokens[:2]
        # What is added to is looked at before what stands behind it.
        before = self._of(name) if operator != "=" else 0
        number = self._assignment()
        if not self._idle:
            number = _wrapped(_apply(operator[:-1], before, number)) if operator != "=" else number
            self._give(name, number)
        return number

    def _choice(self) -> int:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        yes = self._unless(not condition, self._list)
        if not self._take(":"):
            raise ValueError("?")
        no = self._unless(bool(condition), self._choice)
        return yes if condition else no

    def _unless(self, idle: bool, read: Callable[[], int]) -> int:
        self._idle += idle
        number = read()
        self._idle -= idle
        return number

    def _binary(self, least: int) -> int:
        """What operators of this level, and of those that bind closer, make of what follows."""
        left = self._power()
        while True:
            kind, operator = self._tokens[0]
            level = _LEVEL.get(operator, -1) if kind == "operator" else -1
            if level < least:
                return left
            del self._tokens[0]
            decided = (operator == "&&" and not left) or (operator == "||" and bool(left))
            self._idle += decided
            right = self._binary(level + 1)
            self._idle -= decided
            left = 0 if self._idle else _wrapped(_apply(operator, left, right))

    def _power(self) -> int:
        base = self._unary()
        if not self._take("**"):
            return base
        exponent = self._power()
        if self._idle or not 0 <= exponent < 64:
            raise ValueError("**")  # of what does not count bash complains too
        return _wrapped(base**exponent)

    def _unary(self) -> int:
        step = self._take("++", "--")
        if step and self._tokens[0][0] == "name":
            return self._stepped(self._tokens.pop(0)[1], step)
        if step:
            raise ValueError(step)
        operator = self._take("-", "+", "!", "~")
        if operator:
            operand = self._unary()
            return {"-": -operand, "+": operand, "!": int(not operand), "~": ~operand}[operator]
        if self._take("("):
            inner = self._list()
            if not self._take(")"):
                raise ValueError("(")
            return inner
        kind, text = self._tokens.pop(0)
        if kind == "number":
            return _number(text)
        if kind != "name":
            raise _NoNumber(text)
        step = self._take("++", "--")
        if step:
            after = self._stepped(text, step)
            return after - 1 if step == "++" else after + 1
        return self._of(text)

    def _stepped(self, name: str, step: str) -> int:
        number = _wrapped(self._of(name) + (1 if step == "++" else -1))
        if not self._idle:
            self._give(name, number)
        return number

    def _give(self, name: str, number: int) -> None:
        if self._put is None:
            raise ValueError(name)
        self._put(name, number)

    def _of(self, name: str) -> int:
        if self._idle:
            return 0
        value = self._value_of(name)
        if value is None or self._depth > 8 or len(value) > _LONGEST or changed(value):
            raise ValueError(name)
        return _Reader(value, self._value_of, None, self._depth + 1).whole()


def _tokens(source: str) -> list[tuple[str, str]]:
    """What the text consists of. ++ and -- are two signs where no variable stands beside them."""
    tokens: list[tuple[str, str]] = []
    index, source = 0, source.rstrip()
    while index < len(source):
        found = _TOKEN.match(source, index)
        if not found or found.lastgroup is None:
            raise ValueError(source)
        kind, text = found.lastgroup, found[found.lastgroup]
        index = found.end()
        if text in ("++", "--"):
            follows = _TOKEN.match(source, index)
            is_step = (tokens[-1:] and tokens[-1][0] == "name") or (follows and follows["name"])
            if not is_step:
                tokens.append((kind, text[0]))
                index -= 1
                continue
            if tokens[-1:] and tokens[-1][0] == "number":
                raise ValueError(source)
        tokens.append((kind, text))
    return [*tokens, ("end", "")]


def _number(text: str) -> int:
    """Decimal, octal (010), hexadecimal (0x1f, and 0x for 0), or of a base up to 64 (2#101)."""
    base, sign, digits = text.partition("#")
    if sign:
        if base[0] == "0" or not base.isdecimal() or not 2 <= int(base) <= len(_DIGITS):
            raise _NoNumber(text)
        return _wrapped(_of_base(digits, int(base)))
    if text[:2] in ("0x", "0X"):
        return _wrapped(_of_base(text[2:] or "0", 16))
    return _wrapped(_of_base(text, 8 if text[0] == "0" else 10))


def _of_base(digits: str, base: int) -> int:
    number = 0
    for each in digits if base > 36 else digits.lower():
        digit = _DIGITS.find(each)
        if not 0 <= digit < base:
            raise _NoNumber(digits)
        number = number * base + digit
    if not digits:
        raise _NoNumber(digits)
    return number


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
