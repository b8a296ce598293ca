"""The statements of a text with their lines, whether they are walked or not."""

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
_ALONE = (Simple, Declaration, Test, Arithmetic)


def listed(statement: Statement) -> list[Row]:
    """First line, last line and text of each statement, in their order. A compound command is its first
    line, and those within it follow."""
    found: list[Row] = []
    waiting = [statement]
    while waiting:
        each = waiting.pop()
        if isinstance(each, _ALONE):
            found.append((each.line, each.last, each.written))
        elif isinstance(each, Group):
            waiting.extend(each.body[::-1])
        else:
            row = _head(each)
            if row is not None:
                found.append(row)
            waiting.extend(parts_of(each)[::-1])
    return found


def _head(statement: Statement) -> Row | None:
    """The statement itself, None where it is only those within it."""
    if isinstance(statement, If):
        return statement.line, 0, "if"
    if isinstance(statement, For):
        return statement.line, 0, f"for {statement.name}"
    if isinstance(statement, Loop):
        return statement.line, 0, "while" if statement.condition else "for"
    if isinstance(statement, Case):
        return statement.line, 0, f"case {statement.word.written}"
    if isinstance(statement, Function):
        return statement.line, 0, f"{statement.name}()"
    return None


def parts_of(statement: Statement) -> tuple[Statement, ...]:
    """The statements of which it consists, in their order."""
    if isinstance(statement, Group):
        return statement.body
    if isinstance(statement, _ALONE):
        return ()
    if isinstance(statement, If):
        return tuple([part for branch in statement.branches for part in branch if part is not None])
    if isinstance(statement, Pipeline):
        return statement.parts
    if isinstance(statement, AndOr):
        return (statement.first, *(part for _, part in statement.others))
    if isinstance(statement, Case):
        return tuple(item.body for item in statement.items)
    if isinstance(statement, Loop) and statement.condition is not None:
        return (statement.condition, statement.body)
    return (statement.body,)


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
    head = _head(statement)
    return head[2] if head else ""
