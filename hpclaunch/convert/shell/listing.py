"""The statements of a text with their lines, whether they are walked or not."""

from collections.abc import Iterator

from hpclaunch.readback.shell.statements import (
    AndOr,
    Case,
    Coprocess,
    For,
    Function,
    Group,
    If,
    Loop,
    Not,
    Pipeline,
    Redirected,
    Statement,
    Subshell,
)


def listed(statement: Statement) -> Iterator[tuple[int, int, str]]:
    """First line, last line and text of each statement, in their order. A compound command is its first
    line, and those within it follow."""
    if isinstance(statement, Group):
        for each in statement.body:
            yield from listed(each)
    elif isinstance(statement, Pipeline):
        for each in statement.parts:
            yield from listed(each)
    elif isinstance(statement, AndOr):
        yield from listed(statement.first)
        for _, each in statement.others:
            yield from listed(each)
    elif isinstance(statement, Not | Subshell | Coprocess | Redirected):
        yield from listed(statement.body)
    elif isinstance(statement, Function):
        yield statement.line, 0, f"{statement.name}()"
        yield from listed(statement.body)
    elif isinstance(statement, If):
        yield statement.line, 0, "if"
        for condition, body in statement.branches:
            if condition is not None:
                yield from listed(condition)
            yield from listed(body)
    elif isinstance(statement, For):
        yield statement.line, 0, f"for {statement.name}"
        yield from listed(statement.body)
    elif isinstance(statement, Loop):
        yield statement.line, 0, "while" if statement.condition else "for"
        if statement.condition is not None:
            yield from listed(statement.condition)
        yield from listed(statement.body)
    elif isinstance(statement, Case):
        yield statement.line, 0, f"case {statement.word.written}"
        for item in statement.items:
            yield from listed(item.body)
    else:
        yield statement.line, statement.last, statement.written


def text_of(statement: Statement) -> str:
    """A statement in one line, as it is written but for blanks."""
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
    if isinstance(statement, If | For | Loop | Case | Function):
        return next(text for _, _, text in listed(statement))
    return statement.written
