"""A text that the script gives to another shell (bash -c TEXT, bash <<EOF), where that starts ranks."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, SHELLS, STEPS, any_of
from hpclaunch.convert.programs.plain import by_env
from hpclaunch.convert.shell.names import with_names
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.state import Variable
from hpclaunch.readback.shell.statements import Group
from hpclaunch.readback.shell.values import IfSet, Names, Unknown, Value, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_STARTS = re.compile(rf"(?:^|[\s;&|(/`\"']){any_of(STEPS, BY_MPI, BY_TORCH)}(?=[\s;\"']|$)")
_AROUND = frozenset(("nohup", "timeout", "nice", "time", "stdbuf", "env", "setsid", "ionice", "unbuffer"))
_PERHAPS = _AROUND.union(SHELLS)
_LONGEST = 100_000
_DEEPEST = 5


def walked(shell: "Walker", words: Sequence[Value]) -> bool:
    """Walk the text of a shell that starts ranks, as `eval` does, in a shell of its own: it has what is
    exported, and nothing of what it is given comes back. False for any other command."""
    first = known(words[0]) if words else None
    if first and first.rpartition("/")[2] not in _PERHAPS:
        return False
    its = layers(words)
    if all(each.program in _AROUND for each in its[:-1]):
        words = its[-1].words
    if not words or (known(words[0]) or "").rpartition("/")[2] not in SHELLS:
        return False
    found = _text(words, shell.input.text)
    if found is None:
        return False
    value, arguments = found
    text, unknown = with_names(value)
    if len(text) > _LONGEST or not _STARTS.search(text) or shell.children >= _DEEPEST:
        return False
    line = shell.line
    try:
        body = shell.parsed(text)
    except ScriptError:
        shell.line = line
        return False
    try:
        given, removed = by_env(its, shell.environment())
        _walk(shell, body, unknown, tuple(arguments), given, removed)
    finally:
        shell.line = line
    return True


def _walk(
    shell: "Walker",
    body: Group,
    unknown: Mapping[str, Unknown | IfSet | Names],
    arguments: tuple[Value, ...],
    given: Mapping[str, Value],
    removed: Collection[str],
) -> None:
    """Walk what another shell is given: it has what is exported, and nothing of it comes back. `unknown` are
    names that stand for parts of its text, `given` what env in front of it exports, and `removed` what that
    takes away."""
    before = shell.state
    shell.unnamed |= unknown
    with shell.as_another():
        state = shell.state
        for name in list(before.names()):
            variable = before.own(name)
            kept = variable is None or variable.value is None or variable.exported
            if not kept or name in removed:
                state.set(name, Variable(None))
        for name, value in given.items():
            state.set(name, Variable(value, exported=True))
        for name, part in unknown.items():
            state.set(name, Variable((part,)))
        state.arguments = arguments
        shell.apart(body)


def _text(words: Sequence[Value], stdin: Value | None) -> tuple[Value, Sequence[Value]] | None:
    """The text and its arguments after $0, None for a script or a shell without a text."""
    index = 1
    while index < len(words):
        option = known(words[index])
        if option is None or option[:1] not in ("-", "+"):
            return None
        index += 1
        if option in ("-s", "-"):
            break
        if "c" in option and not option.startswith("--"):
            return (words[index], words[index + 2 :]) if index < len(words) else None
        if option.endswith("o"):
            index += 1
    return None if stdin is None else (stdin, ())
