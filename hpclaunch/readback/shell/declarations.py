"""Variables that the shell's own commands declare, with their attributes: declare, typeset, local, export and
readonly (bash's manual, "Shell Builtin Commands")."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from hpclaunch.readback.shell import references
from hpclaunch.readback.shell.errors import ReadOnly
from hpclaunch.readback.shell.parameters import is_name
from hpclaunch.readback.shell.pieces import Word
from hpclaunch.readback.shell.state import Array, Variable
from hpclaunch.readback.shell.statements import Assignment
from hpclaunch.readback.shell.values import Unknown, Value, join, known, shown

# Attributes by which a value is computed, or its letters are changed.
_KINDS = frozenset("iul")

if TYPE_CHECKING:
    from hpclaunch.readback.shell.evaluate import Shell


def declare(shell: "Shell", command: str, arguments: Sequence[Assignment | Word]) -> None:
    """declare, typeset, local, export, readonly. Raises Unreadable."""
    flags, rest = _flags(arguments)
    local = bool(shell.locals) and (
        command == "local" or (command in ("declare", "typeset") and "g" not in flags)
    )
    exports: bool | None = True if command == "export" or "x" in flags else None
    if "+x" in flags or (exports and "n" in flags):
        exports = False
    if set(flags) & set("fFp"):
        if exports and "f" in flags:
            for argument in rest:
                shell.state.export_function(argument.written)
        elif shell.output is not None:
            shell.output.append(Unknown("output", ""))
        names = [argument.written for argument in rest]
        of_functions = bool(names) and bool(set(flags) & set("fF"))
        shell.status = all(shell.state.function(name)[0] for name in names) if of_functions else None
        return
    if "n" in flags and command != "export":
        references.declare(shell, rest, local)
        return
    if "+n" in flags:
        references.end(shell, rest)
    fixes = command == "readonly" or "r" in flags
    if kinds := frozenset(flags) & _KINDS:
        for argument in rest:
            name = argument.name if isinstance(argument, Assignment) else argument.written
            shell.kinds[name] = min(kinds)
    for argument in rest:
        try:
            if isinstance(argument, Assignment):
                declare_one(shell, argument.name, local, exports)
                shell.assign(argument, keyed="A" in flags, exports=exports)
            else:
                for value in shell.expander.fields(argument):
                    _declare_value(shell, value, local, exports)
                    if "A" in flags:
                        _declare_keyed(shell, known(value) or "")
        except ReadOnly:
            shell.status = False  # and the others count all the same
        if fixes:
            _fix(shell, argument)


def _fix(shell: "Shell", argument: Assignment | Word) -> None:
    """Make variables read-only."""
    if isinstance(argument, Assignment):
        names = [argument.name]
    else:
        names = [shown(value).partition("=")[0] for value in shell.expander.fields(argument)]
    for name in filter(is_name, names):
        before = shell.state.get(name)
        if before is None:
            before = Variable((Unknown("variable", name),) if shell.state.outside.may_have(name) else None)
        shell.state.set(name, structs.replace(before, fixed=True))


def _declare_keyed(shell: "Shell", name: str) -> None:
    """declare -A NAME: its keys are text, from the first one on."""
    variable = shell.state.get(name)
    if is_name(name) and not isinstance(variable and variable.value, Array):
        shell.state.assign(name, Array({}, keyed=True))


def _declare_value(shell: "Shell", value: Value, local: bool, exports: bool | None) -> None:
    """A word that an expansion gave: NAME, NAME=value, or what is not known."""
    first = value[0] if value else ""
    if isinstance(first, str) and is_name(first) and len(value) == 1:
        declare_one(shell, first, local, exports)
        return
    name, equals, text = first.partition("=") if isinstance(first, str) else ("", "", "")
    if equals and is_name(name):
        declare_one(shell, name, local, exports)
        shell.put(name, join([text, *value[1:]]))
        declare_one(shell, name, False, exports)
    elif exports:
        shell.state.unnamed = (*shell.state.unnamed, value)
        shell.sets_unknown("export", value)
    else:
        shell.note(f"a variable with a name that the script does not tell: {shown(value)}")


def declare_one(shell: "Shell", name: str, local: bool, exports: bool | None) -> None:
    """The attributes of a variable: `local` to the function, exported or not (None: as it was). Raises
    ReadOnly: nothing is local to a function that is read-only outside of all."""
    state = shell.state
    if local and name not in shell.locals[-1]:
        before = state.own(name)
        if before is not None and before.fixed and not any(name in each for each in shell.locals):
            raise ReadOnly(name)
        shell.locals[-1][name] = before
        state.place(name, Variable(None, exported=bool(before and before.exported)))
    if exports is None:
        return
    shell.declared(name, exports)
    before = state.get(name)
    if before is None:
        if not state.outside.may_have(name):
            state.set(name, Variable(None, exported=exports))
        elif not exports:
            state.set(name, Variable((Unknown("variable", name),), exported=False))
        return
    if before.exported is not exports:
        state.set(name, Variable(before.value, exports, before.fixed))


def _flags(arguments: Sequence[Assignment | Word]) -> tuple[list[str], list[Assignment | Word]]:
    flags: list[str] = []
    for index, argument in enumerate(arguments):
        if argument.written == "--":
            return flags, list(arguments[index + 1 :])
        if not re.fullmatch(r"[-+][A-Za-z]+", argument.written):
            return flags, list(arguments[index:])
        letters = argument.written[1:]
        flags += letters if argument.written[0] == "-" else [f"+{letter}" for letter in letters]
    return flags, []
