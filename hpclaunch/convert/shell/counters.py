"""Loops of `while` and `until` that count: i=1; while [ $i -le 5 ]; do ...; i=$((i+1)); done, and what counts
in (( ))."""

import operator
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from hpclaunch.convert.shell.listing import listed, text_of
from hpclaunch.readback.shell import arithmetic
from hpclaunch.readback.shell.state import Array
from hpclaunch.readback.shell.statements import Group, Loop, Not, Statement
from hpclaunch.readback.shell.values import known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_MOST = 1000
_LONGEST = 200  # a condition of a counter has some words
_SIDE = r"\"?(?:\$\{?\w+(?::?-\w+)?\}?|\w+|-\d+)\"?"
_TEST = re.compile(
    rf"(?:\[\[?|test)\s+(?:(!)\s+)?({_SIDE})\s+-(lt|le|gt|ge|ne)\s+({_SIDE})(?:\s+\]\]?)?", re.ASCII
)
_ARITHMETIC = re.compile(rf"\(\(\s*()({_SIDE})\s*(<=?|>=?|!=)\s*({_SIDE})\s*\)\)", re.ASCII)
# while ((i++ < 3)), while ((n--)): the condition counts
_COUNTS = re.compile(
    rf"\(\(\s*(?:([A-Za-z_]\w*)(\+\+|--)|(\+\+|--)([A-Za-z_]\w*))\s*(?:(<=?|>=?|!=)\s*({_SIDE})\s*)?\)\)",
    re.ASCII,
)
_OPERATORS = (operator.lt, operator.le, operator.gt, operator.ge, operator.ne)
_HOLDS: dict[str, Callable[[int, int], bool]] = {
    **dict(zip(("lt", "le", "gt", "ge", "ne"), _OPERATORS, strict=True)),
    **dict(zip(("<", "<=", ">", ">=", "!="), _OPERATORS, strict=True)),
}
_VALUE = re.compile(r"\$?\{?([A-Za-z_]\w*)(?::?-(\w+))?\}?", re.ASCII)
_COMPUTES = re.compile(r"\(\(|\$\[|\blet\b|\bexpr\b")
_AROUND = re.compile(r"[\"`;]|\$(?=[({\[\w])|\b(?:let|expr)\b|^\s*:\s")
_PARENTHESES = str.maketrans("[]", "()")
_IN_BRACES = re.compile(r"\{(\w+)\}", re.ASCII)
_BY_ONE = re.compile(r"\s*(?:(\+\+|--)\s*(\w+)|(\w+)\s*(\+\+|--))\s*", re.ASCII)
_GIVES = re.compile(r"\s*([A-Za-z_]\w*)\s*([-+]?)=(?!=)(.*)", re.ASCII | re.DOTALL)
_TRIED = (0, 1, 5, 100)


def step(source: str, name: str, value_of: Callable[[str], str | None]) -> int:
    """What an expression of arithmetic adds to the variable, whatever that is, 0 where it does anything else.
    `value_of` gives the text of other variables."""
    by_one = _BY_ONE.fullmatch(source)
    if by_one:
        sign = by_one[1] or by_one[4]
        return (1 if sign == "++" else -1) if name in (by_one[2], by_one[3]) else 0
    gives = _GIVES.fullmatch(source)
    if not gives or gives[1] != name:
        return 0
    expression = f"{name} {gives[2]} ({gives[3]})" if gives[2] else gives[3]

    def after(before: int) -> int | None:
        return arithmetic.evaluate(expression, lambda each: str(before) if each == name else value_of(each))

    by = after(0) or 0
    return by if all(after(before) == before + by for before in _TRIED) else 0


def rounds(shell: "Walker", statement: Loop) -> tuple[str, range, bool] | None:
    """The counter of the loop, the numbers that it has in the rounds, and whether a round begins with the
    count, and does not end with it; None where it is no such loop."""
    text, sign = _condition(statement.condition)
    counts = _COUNTS.fullmatch(text)
    if counts:
        return _counted_by_condition(shell, statement, counts, sign)
    found = _TEST.fullmatch(text) or _ARITHMETIC.fullmatch(text)
    body = statement.body.body if isinstance(statement.body, Group) else ()
    if not found or len(body) < 2:
        return None
    for own, other, turned in ((found[2], found[4], False), (found[4], found[2], True)):
        name = _VALUE.fullmatch(own.strip('"'))
        if not name or name[2]:
            continue
        by = _by(body[-1], name[1])
        begins = not by
        by = by or _by(body[0], name[1])
        start, end = _number(shell, name[1]), _number(shell, other.strip('"'))
        if not by or start is None or end is None or _changes(statement.body, name[1]) != 1:
            continue
        holds = _HOLDS[found[3]]
        wanted = sign != bool(found[1])
        count = 0
        while count <= _MOST:
            value = start + count * by
            if holds(*((end, value) if turned else (value, end))) is not wanted:
                break
            count += 1
        if 0 < count <= _MOST:
            first = start + by if begins else start
            return name[1], range(first, first + count * by, by), begins
    return None


def _counted_by_condition(
    shell: "Walker", statement: Loop, counts: re.Match[str], sign: bool
) -> tuple[str, range, bool] | None:
    """The same of a loop whose condition counts: before it compares (++i) or after that (i++)."""
    name, by = counts[1] or counts[4], 1 if "++" in (counts[2], counts[3]) else -1
    start, end = _number(shell, name), _number(shell, (counts[6] or "0").strip('"'))
    if start is None or end is None or _changes(statement.body, name):
        return None
    holds = _HOLDS[counts[5] or "!="]
    first = start + by if counts[3] else start
    count = 0
    while count <= _MOST and holds(first + count * by, end) is sign:
        count += 1
    if not 0 < count <= _MOST:
        return None
    return name, range(start + by, start + by + count * by, by), False


def _condition(condition: Statement | None) -> tuple[str, bool]:
    """The text of the condition, and whether the loop goes on while it holds."""
    goes_on = True
    while isinstance(condition, Not) or (isinstance(condition, Group) and len(condition.body) == 1):
        if isinstance(condition, Not):
            goes_on, condition = not goes_on, condition.body
        else:
            condition = condition.body[0]
    text = text_of(condition).strip() if condition is not None else ""
    return (text if len(text) <= _LONGEST else ""), goes_on


def _number(shell: "Walker", text: str) -> int | None:
    if re.fullmatch(r"-?\d{1,9}", text):
        return int(text)
    named = _VALUE.fullmatch(text)
    variable = shell.state.get(named[1]) if named else None
    if variable is None or variable.value is None:
        text = (named[2] if named else "") or ""
    elif isinstance(variable.value, Array):
        return None
    else:
        text = known(variable.value) or ""
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else None


def _by(statement: Statement, name: str) -> int:
    """What the statement adds to the variable, 0 where it does anything else."""
    (row, *others) = [*listed(statement)] or [(0, 0, "")]
    written = row[2]
    if others or len(written) > _LONGEST or not _COMPUTES.search(written):
        return 0
    source = _IN_BRACES.sub(r"\1", _AROUND.sub(" ", written)).translate(_PARENTHESES).strip()
    while source.startswith("(") and source.endswith(")"):
        source = source[1:-1].strip()
    return step(source, name, lambda _: None)


def _changes(body: Statement, name: str) -> int:
    """How often the body gives the variable something."""
    word = re.escape(name)
    gives = re.compile(
        rf"(?<![-\w$.]){word}(?:\+\+|--|\s*[-+*/%]?=(?!=))|(?:\+\+|--){word}\b"
        rf"|\b(?:read|for|local|unset|getopts)\b[^;\n]*(?<![-$\w]){word}\b"
    )
    return sum(1 for text in _texts(body) for _ in gives.finditer(text))


def _texts(body: Statement) -> Iterator[str]:
    for _, _, text in listed(body):
        yield text
