"""declare -n: variables that stand for others (bash's manual, "Shell Parameters")."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hpclaunch.readback.shell.parameters import is_name
from hpclaunch.readback.shell.pieces import Word
from hpclaunch.readback.shell.state import Array, Variable
from hpclaunch.readback.shell.statements import Assignment
from hpclaunch.readback.shell.values import Unknown, Value, known, shown

if TYPE_CHECKING:
    from hpclaunch.readback.shell.evaluate import Shell

_ELEMENT = re.compile(r"([A-Za-z_])(\w*)\[.*\]", re.ASCII | re.DOTALL)


def declare(shell: "Shell", arguments: Sequence[Assignment | Word], local: bool) -> None:
    """declare -n, local -n: NAME=OTHER, or NAME, which stands for the one that is its value."""
    for argument in arguments:
        if isinstance(argument, Assignment):
            _refer(shell, argument.name, shell.expander.value(argument.value), local)
            continue
        for word in shell.expander.fields(argument):
            name, equals, _ = (known(word) or "").partition("=")
            own = shell.state.own(name)
            if own is not None and own.refers is not None and not local and not equals:
                continue
            value = own.value if own is not None and not local else ()
            text = (known(word) or "")[len(name) + 1 :] if equals else None
            if text is not None:
                value = (text,) if text else ()
            _refer(shell, name, () if value is None or isinstance(value, Array) else value, local)


def end(shell: "Shell", arguments: Sequence[Assignment | Word]) -> None:
    """declare +n NAME: its value is the name of the one that it stood for."""
    for argument in arguments:
        name = argument.name if isinstance(argument, Assignment) else argument.written
        own = shell.state.own(name)
        if own is not None and own.refers is not None:
            told = is_name(own.refers) or not own.refers
            shell.state.place(name, Variable((own.refers,) if told and own.refers else ()))
            if not told:
                shell.state.forget(name)


def _refer(shell: "Shell", name: str, value: Value, local: bool) -> None:
    text, state = known(value), shell.state
    if not is_name(name):
        shell.note(f"a variable stands for {shown(value)}, whose own name the script does not tell")
        shell.status = None
        return
    if text == name and not any(name in each for each in shell.locals):
        return  # bash goes past it, to the variable outside of all functions
    if local:
        shell.locals[-1].setdefault(name, state.own(name))
    refers = _named(shell, name, value)
    if text == name:
        # That one is not the local one of another function, and none of them is known from here on.
        for frame in shell.locals:
            frame[name] = Variable((Unknown("either", name),))
        refers = "*"
    state.place(name, Variable(None, refers=refers))


def _named(shell: "Shell", name: str, value: Value) -> str:
    """The name that the value is, or a pattern of those that it may be."""
    text = known(value)
    if text is None:
        shell.note(f"{name} stands for a variable whose name the script does not tell: {shown(value)}")
        return "".join(part if isinstance(part, str) else "*" for part in value).partition("[")[0] + "*"
    element = _ELEMENT.fullmatch(text)
    return f"[{element[1]}]{element[2]}" if element else text
