"""The statements of a text with their lines, whether they are walked or not."""

from collections.abc import Callable
from typing import Any

from hpclaunch.readback.shell.statements import (
    AndOr,
    Arithmetic,
    Case,
    Coprocess,
    Declaration,
    For,
    Function,
    Group,
    If,
    Loop,
    Not,
    Pipeline,
    Redirected,
    Simple,
    Statement,
    Subshell,
    Test,
)

Row = tuple[int, int, str]
_LONGEST = 60  # of the begin of a compound command
_ALONE = (Simple, Declaration, Test, Arithmetic)
# What a statement of each kind is itself, where it is more than those within it, and these in their order.
# A megabyte has some hundred thousand of them, and is looked at several times.
_HEADS: dict[type, Callable[[Any], str]] = {
    If: lambda each: "if",
    For: lambda each: f"for {each.name}",
    Loop: lambda each: "while" if each.condition else "for",
    Case: lambda each: f"case {each.word.written}",
    Function: lambda each: f"{each.name}()",
}
_PARTS: dict[type, Callable[[Any], tuple[Statement, ...]]] = {
    **dict.fromkeys(_ALONE, lambda each: ()),
    Group: lambda each: each.body,
    If: lambda each: tuple([part for branch in each.branches for part in branch if part is not None]),
    Pipeline: lambda each: each.parts,
    AndOr: lambda each: (each.first, *[part for _, part in each.others]),
    Case: lambda each: tuple([item.body for item in each.items]),
    Loop: lambda each: (each.body,) if each.condition is None else (each.condition, each.body),
    **dict.fromkeys((For, Function, Not, Subshell, Coprocess, Redirected), lambda each: (each.body,)),
}


def statements_of(statement: Statement) -> list[Statement]:
    """Each statement in it that is more than those within it, in their order: a compound command, before
    those within it, and all that have none."""
    found: list[Statement] = []
    waiting = [statement]
    while waiting:
        each = waiting.pop()
        if isinstance(each, _ALONE):
            found.append(each)
            continue
        if type(each) in _HEADS:
            found.append(each)
        waiting.extend(_PARTS[type(each)](each)[::-1])
    return found


def listed(statement: Statement) -> list[Row]:
    """First line, last line and text of each of them. A compound command is its first line."""
    return list(map(row_of, statements_of(statement)))


def row_of(each: Statement) -> Row:
    """First line, last line and text of a statement by itself, as `listed` has it."""
    if isinstance(each, _ALONE):
        return each.line, each.last, each.written
    return each.line, 0, own_text(each)


def own_text(statement: Statement) -> str:
    """The text of the statement itself: of a compound command its first line, "" for what is only those
    within it."""
    if isinstance(statement, _ALONE):
        return statement.written
    head = _HEADS.get(type(statement))
    return head(statement) if head else ""


def parts_of(statement: Statement) -> tuple[Statement, ...]:
    """The statements of which it consists, in their order."""
    return _PARTS[type(statement)](statement)


def text_of(statement: Statement) -> str:
    """A statement in one line, as it is written but for blanks."""
    if isinstance(statement, _ALONE):
        return statement.written
    if isinstance(statement, Group):
        return "; ".join(map(text_of, statement.body))
    if isinstance(statement, Pipeline):
        signs = (f" {operator} " for operator in (*statement.operators, *["|"] * len(statement.parts)))
        first, *others = map(text_of, statement.parts)
        return first + "".join(sign + other for sign, other in zip(signs, others, strict=False))
    if isinstance(statement, AndOr):
        return text_of(statement.first) + "".join(f" {op} {text_of(each)}" for op, each in statement.others)
    if isinstance(statement, Not):
        return f"! {text_of(statement.body)}"
    if isinstance(statement, Subshell):
        return f"({text_of(statement.body)})"
    if isinstance(statement, Redirected | Coprocess):
        return text_of(statement.body)
    return own_text(statement)


def name_of_output(body: Statement) -> tuple[str, int, int]:
    """What a $(...) is called that writes what is not known, and its first and last line where that is not
    all of it (0 where it is): of a compound command it is the begin."""
    if _is_told(body):
        return f"$({text_of(body)})", 0, 0
    rows = listed(body)
    last = max(max(first, last) for first, last, _ in rows)
    return f"$({_begin(body)} ...)", rows[0][0], last


def _is_told(statement: Statement) -> bool:
    """Whether its text in one line is all of it."""
    if isinstance(statement, _ALONE):
        return True
    whole = isinstance(statement, Group | Pipeline | AndOr | Not | Subshell | Redirected | Coprocess)
    return whole and all(map(_is_told, parts_of(statement)))


def _begin(statement: Statement) -> str:
    """The first of its commands as people know it again."""
    while isinstance(statement, Group | Pipeline | AndOr | Redirected | Subshell):
        statement = parts_of(statement)[0]
    if isinstance(statement, If):
        condition = statement.branches[0][0]
        text = f"if {text_of(condition)}" if condition is not None else "if"
    elif isinstance(statement, For):
        words = " ".join(word.written for word in statement.words or ())
        text = f"for {statement.name} in {words}" if words else f"for {statement.name}"
    elif isinstance(statement, Loop) and statement.condition is not None:
        text = f"while {text_of(statement.condition)}"
    else:
        text = text_of(statement)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
