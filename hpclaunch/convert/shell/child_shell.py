"""What the script gives to another shell (bash -c TEXT, bash <<EOF, bash FILE, ./FILE), where that starts
ranks."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from hpclaunch.convert.programs import ssh
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import (
    BY_MPI,
    BY_TORCH,
    CONTAINERS,
    GIVES_TEXT,
    SHELLS,
    STEPS,
    SUBMITS,
    any_of,
)
from hpclaunch.convert.programs.plain import IN_FRONT, by_env, takes_away
from hpclaunch.convert.shell import remote_files, started_files
from hpclaunch.convert.shell.folder import OF_PROCESS
from hpclaunch.convert.shell.names import with_names
from hpclaunch.convert.shell.started_files import Script
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.positional import handed_on
from hpclaunch.readback.shell.reads import Input
from hpclaunch.readback.shell.state import Variable
from hpclaunch.readback.shell.statements import Function, Group
from hpclaunch.readback.shell.values import IfSet, Names, Unknown, Value, base_name, join, known, known_parts

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_STARTS = re.compile(rf"(?:^|[\s;&|(/`\"']){any_of(STEPS, BY_MPI, BY_TORCH)}(?=[\s;\"']|$)")
# What is in a file among the sources is no text for a container that it starts.
_STARTS_IN_FILE = re.compile(
    rf"(?:^|[\s;&|(/`\"']){any_of(STEPS, BY_MPI, BY_TORCH, CONTAINERS)}(?=[\s;\"']|$)"
)
_IN_FRONT = IN_FRONT | {"sudo"}
_PERHAPS = _IN_FRONT | {*SHELLS}
# What hands the environment on, where a program of another machine or container may get it as it is.
_HAND_ON = IN_FRONT | {*STEPS, "bash", "xargs", "parallel"}
_KEEPS_BACK = re.compile(r"--export=(?!ALL\b)")
_BASH = "bash"  # another shell has no functions from its environment
_NAMES = re.compile(r"[\w.:-]+")
_PER_STEP = 50
_PER_NAME = 5
_LONGEST = 100_000
_DEEPEST = 5


def walked(shell: "Walker", words: Sequence[Value]) -> bool:
    """Walk the text of a shell that starts ranks, as `eval` does, in a shell of its own: it has what is
    exported, and nothing of what it is given comes back. False for any other command."""
    first = known(words[0]) if words else None
    if first in ssh.TABLES:
        return _submitted(shell, words) or _over_hosts(shell, words)
    if first and "/" not in first and first not in _PERHAPS:
        return False
    its = layers(words)
    if all(each.program in _IN_FRONT for each in its[:-1]):
        words = its[-1].words
    found = _script(shell, words)
    if found is None:
        return False
    text, unknown = _with_names(shell, found.text)
    if len(text) > _LONGEST or shell.children >= _DEEPEST:
        return False
    if (
        not (_STARTS_IN_FILE if found.name else _STARTS).search(text)
        and not remote_files.names_one(shell, found.text, _STARTS)
        and not (base_name(words[0]) == _BASH and _STARTS.search(_written(_functions_for(shell, text))))
    ):
        return False
    place = shell.place
    with found.lines(shell):
        try:
            body = shell.parse(found.name) if found.name else shell.parsed(text)
        except ScriptError:
            return False
        if found.name or found.first:
            shell.followed[place] = found.name
        given, removed = by_env(its, shell.environment())
        if any(map(takes_away, its)):
            removed = {name for name, _ in shell.environment()} - OF_PROCESS
        _walk(shell, body, unknown, found.arguments, given, removed)
    return True


def _submitted(shell: "Walker", words: Sequence[Value]) -> bool:
    """Walk what ssh has a login node submit: the job is that of sbatch, and not of the script around ssh.
    False where it submits nothing that can be read."""
    remote = ssh.read(words)[1]
    given = shell.input
    value: Value | None
    arguments: Sequence[Value] = ()
    if remote and base_name(remote[0]) not in SHELLS:
        value = ssh.joined(remote)
    else:
        value, arguments = _text(remote, given.text) or (None, ())
    if value is given.text:
        given = Input("")
    if value is None:
        return False
    text, unknown = _with_names(shell, value)
    if not SUBMITS.search(text) or len(text) > _LONGEST or shell.children >= _DEEPEST:
        return False
    try:
        body = shell.parsed(text)
    except ScriptError:
        return False
    exported = frozenset(name for name, _ in shell.environment())
    shell.spend(len(exported) // _PER_NAME)
    with shell.within(background=False):
        _walk(shell, body, unknown, tuple(arguments), {}, exported, given)
    return True


def _over_hosts(shell: "Walker", words: Sequence[Value]) -> bool:
    """Walk what ssh starts on hosts where that is a script among the sources which starts ranks: it has
    nothing of what is exported here (sshd(8), "LOGIN PROCESS"). False where it is none."""
    found = remote_files.of(shell, words, _STARTS)
    if found is None or shell.children >= _DEEPEST:
        return False
    value, script = found
    text, unknown = _with_names(shell, value if script is None else script.text)
    if len(text) > _LONGEST:
        return False
    place = shell.place
    exported = frozenset(name for name, _ in shell.environment())
    with shell.within(loops=remote_files.loops(shell, words), background=False):
        if script is None:
            try:
                body = shell.parsed(text)
            except ScriptError:
                return False
            _walk(shell, body, unknown, (), {}, exported)
            return True
        with script.lines(shell):
            try:
                body = shell.parse(script.name)
            except ScriptError:
                return False
            shell.followed[place] = script.name
            _walk(shell, body, unknown, script.arguments, {}, exported)
    return True


def _with_names(shell: "Walker", value: Value) -> tuple[str, dict[str, Unknown | IfSet | Names]]:
    """As `with_names`: a variable of this shell, such as that of a loop, need not be one of the other's."""
    return with_names(value, lambda name: shell.state.get(name) is not None)


def _script(shell: "Walker", words: Sequence[Value]) -> Script | None:
    """What a shell is given with these words."""
    is_shell = bool(words) and base_name(words[0]) in SHELLS
    found = _text(words, shell.input.text) if is_shell else None
    return Script(found[0], tuple(found[1])) if found else started_files.of(shell, words)


def _walk(
    shell: "Walker",
    body: Group,
    unknown: Mapping[str, Unknown | IfSet | Names],
    arguments: tuple[Value, ...],
    given: Mapping[str, Value],
    removed: Collection[str],
    reads: Input | None = None,
) -> None:
    """Walk what another shell is given: it has what is exported, and nothing of it comes back. `unknown` are
    names that stand for parts of its text, `given` what env in front of it exports, `removed` what that
    takes away, and `reads` what its own commands read."""
    before = shell.state
    shell.unnamed |= unknown
    with shell.as_another():
        shell.input = reads or shell.input
        state = shell.state
        for name in list(before.names()):
            variable = before.own(name)
            kept = variable is None or variable.value is None or variable.exported or name in OF_PROCESS
            if not kept or name in removed:
                state.set(name, Variable(None))
        for name, value in given.items():
            state.set(name, Variable(value, exported=True))
        for name, part in unknown.items():
            state.set(name, Variable((part,)))
        state.arguments = handed_on(arguments, before.arguments)
        shell.apart(body)


def with_functions(shell: "Walker", words: list[Value]) -> list[Value]:
    """The words of a command that hands its environment on to `bash -c TEXT`: the functions that the script
    exports, and that the text calls, stand in front of it. Others that the shell has would be missed."""
    if not shell.state.exported_functions():
        return words
    options = [known(word) or "" for word in words]
    if base_name(words[0]) not in _HAND_ON or any(map(_KEEPS_BACK.match, options)):
        return words
    for index in range(len(words) - 2):
        if base_name(words[index]) != _BASH or not GIVES_TEXT.fullmatch(options[index + 1]):
            continue
        functions = _functions_for(shell, known_parts(words[index + 2]))
        if functions:
            shell.note_functions(functions)
            text = join([_written(functions), *words[index + 2]])
            return [*words[: index + 2], text, *words[index + 3 :]]
    return words


def _functions_for(shell: "Walker", text: str) -> list[Function]:
    """The exported functions that a text names, and those that these name."""
    exported = shell.state.exported_functions()
    found: list[Function] = []
    waiting = [text] if exported else []
    while waiting:
        for name in _NAMES.findall(waiting.pop()):
            function = exported.pop(name, None)
            if function is not None and function.written:
                found.append(function)
                waiting.append(function.written)
                shell.spend(len(function.written) // _PER_STEP)
    return found


def _written(functions: Sequence[Function]) -> str:
    return "".join(f"{each.name}() {each.written}\n" for each in functions)


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
