"""Numbers that (( )) and `let` give variables."""

import re
from typing import TYPE_CHECKING

from msgspec import structs

from hpclaunch.readback.shell import arithmetic, pieces
from hpclaunch.readback.shell.pieces import Word
from hpclaunch.readback.shell.state import Array
from hpclaunch.readback.shell.statements import Assignment
from hpclaunch.readback.shell.values import known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_GIVES = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)", re.ASCII)


def given_anew(expression: Word) -> Assignment | None:
    """NAME=$((EXPRESSION)) for NAME = EXPRESSION, where that has no NAME in it and changes nothing else: it
    gives the same in each round of a loop. None for any other expression."""
    its = [each for each in expression.pieces if each != pieces.Literal("", True)]
    first = its[0] if its else None
    found = _GIVES.match(first.text) if isinstance(first, pieces.Literal) else None
    if found is None or not isinstance(first, pieces.Literal):
        return None
    name = found[1]
    is_alone = len(re.findall(rf"(?<!\w){name}(?!\w)", expression.written)) == 1
    if not is_alone or arithmetic.changed(expression.written) != {name}:
        return None
    rest = structs.replace(first, text=first.text[found.end() :])
    written = expression.written.partition("=")[2].strip().removesuffix('"')
    number = pieces.Arithmetic(Word((rest, *its[1:]), written), True)
    return Assignment(name, None, False, Word((number,), f"$(({written}))"), None, f"{name}=$(({written}))")


def give(shell: "Walker", assignment: Assignment) -> int | None:
    """Give the variable the number, and tell it; None where it is not known."""
    shell.assign(assignment)
    variable = shell.state.get(assignment.name)
    value = variable.value if variable is not None else None
    text = None if value is None or isinstance(value, Array) else known(value)
    return int(text) if text and text.lstrip("-").isdecimal() else None
