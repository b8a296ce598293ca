"""${!NAME}, ${!NAME[@]} and ${NAME@OPERATOR} (bash's manual, "Shell Parameter Expansion")."""

import re
from typing import TYPE_CHECKING

from msgspec import structs

from hpclaunch.readback.shell import parameters
from hpclaunch.readback.shell.pieces import Parameter, given
from hpclaunch.readback.shell.state import Array
from hpclaunch.readback.shell.told import may_be_many
from hpclaunch.readback.shell.values import Unknown, Value, known

if TYPE_CHECKING:
    from hpclaunch.readback.shell.expand import Expander

# The operator that stands for ${!PREFIX*} and ${!PREFIX@}, which are names of variables.
NAMES = "!*"
_TARGET = re.compile(r"([A-Za-z_]\w*)(?:\[([^][$`\"\'\\]+)\])?|[0-9@*]", re.ASCII)
_PLAIN = re.compile(r"[ -~]*")


def resolved(expander: "Expander", expansion: Parameter) -> Parameter | list[Value]:
    """What ${!...} is: another parameter, or the indexes of an array."""
    untold: list[Value] = [(Unknown("either", f"!{expansion.name}", splits=bool(expansion.all_of)),)]
    if expansion.operator == NAMES:
        return untold
    if expansion.all_of:
        found = _indexes(expander, expansion)
        return untold if found is None else found
    own = expander.state.own(expansion.name)
    if own is not None and own.refers is not None and expansion.index is None:
        behind = expander.state.target(expansion.name)
        return [(behind,)] if parameters.is_name(behind) else untold
    named = structs.replace(expansion, before="", operator="", operand=None, by=None)
    values = expander.values(named)
    text = known(values[0]) if values else None
    target = _TARGET.fullmatch(text or "")
    if text is None or not target:
        return untold
    index = target[2] or ""
    all_of = index if index in ("@", "*") else ""
    word = given((index,), index) if index and not all_of else None
    return structs.replace(expansion, name=target[1] or text, before="", index=word, all_of=all_of)


def _indexes(expander: "Expander", expansion: Parameter) -> list[Value] | None:
    variable = expander.state.get(expansion.name)
    value = variable.value if variable is not None else None
    if not isinstance(value, Array):
        told = variable is not None and (value is None or known(value) is not None)
        return ([] if value is None else [("0",)]) if told else None
    order = value.in_order()
    if order is None or not value.whole or expansion.operator:
        return None
    # What is not told may be several elements, or none.
    if not value.keyed and any(may_be_many(each) for _, each in order):
        return None
    return [(str(key),) if str(key) else () for key, _ in order]


def changed(value: Value, expansion: Parameter) -> Value:
    """The value after ${NAME@OPERATOR}: quoted, or in other letters."""
    text = known(value)
    operator = expansion.operand.written if expansion.operand is not None else ""
    if text is None or operator not in ("Q", "U", "u", "L") or not _PLAIN.fullmatch(text):
        return (Unknown("either", expansion.name + expansion.rest),)
    if operator == "Q":
        return ("'" + text.replace("'", "'\\''") + "'",)
    change = {"U": "^^", "u": "^", "L": ",,"}[operator]
    new = parameters.transformed(change, text, "", "")
    return (new,) if new else ()
