"""Aliases: the first word of a command that is read after the line of the alias. In a script bash expands
them only after `shopt -s expand_aliases` (bash's manual, "Aliases")."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from hpclaunch.convert.programs.names import interpreter
from hpclaunch.convert.shell import shopt
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.statements import Group, Simple
from hpclaunch.readback.shell.values import Value, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_NAME = re.compile(r"[\w.@%:+-]+", re.ASCII)
_LONGEST = 5000
# POSIX's shell expands them in each script (XCU 2.3.1; bash's manual, "Bash POSIX Mode"), and so do those of
# Korn and zsh (zshoptions(1), ALIASES).
_ALWAYS = frozenset(("sh", "dash", "ash", "ksh", "mksh", "zsh"))


class Alias(Struct, frozen=True):
    """What stands for a word, from the line after its own on, up to `last`: a line is read as a whole."""

    text: str
    line: int
    last: int | None = None


def are_expanded(text: str) -> bool:
    """Whether the shell of a script expands them from its first line on."""
    return interpreter(text) in _ALWAYS


class Names(set[str]):
    """Those that are expanded just now: none is within itself."""

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        """Have the name among them, while it lasts."""
        self.add(name)
        try:
            yield
        finally:
            self.discard(name)


def note(shell: "Walker", words: Sequence[Value]) -> None:
    """Keep what `alias` and `unalias` say: they are expanded where shopt says so before or later."""
    shell.status = True
    if shell.context.conditions or shopt.is_perhaps(shell, shopt.ALIASES):
        if shopt.ALIASES in shell.options:
            shell.note("what an alias stands for is not followed where it depends on a condition")
        return
    forgets = known(words[0]) == "unalias"
    for word in words[1:]:
        text = known(word)
        name, equals, value = (text or "").partition("=")
        if forgets and text == "-a":
            for each in list(shell.aliases):
                _forget(shell, each)
        elif forgets:
            _forget(shell, name)
        elif text is None or (equals and (not _NAME.fullmatch(name) or value[-1:] in (" ", "\t"))):
            shell.note("what an alias stands for is not followed")
        elif equals:
            # A compound command is read to its end before it begins.
            shell.aliases[name] = Alias(value, max(shell.line, shell.read_up_to))


def _forget(shell: "Walker", name: str) -> None:
    if name in shell.aliases:
        shell.aliases[name] = structs.replace(shell.aliases[name], last=shell.line)


def _is_read_under(shell: "Walker", alias: Alias, line: int) -> bool:
    """Whether a line is read while the alias is there. What another file says of it was said before."""
    name = shell.files.name
    begun = alias.line < line or name(alias.line) != name(line)
    ended = alias.last is not None and (alias.last < line or name(alias.last) != name(line))
    return begun and not ended


def expanded(shell: "Walker", statement: Simple) -> Group | None:
    """The commands that stand for one whose first word is an alias, None for any other."""
    if shopt.ALIASES not in shell.options or not statement.words or statement.assignments:
        return None
    name = statement.words[0].written
    alias = shell.aliases.get(name)
    if alias is None or name in shell.expanding or not _is_read_under(shell, alias, statement.line):
        return None
    if not statement.written.startswith(name) or len(statement.written) > _LONGEST:
        return None
    line = shell.line
    try:
        return shell.parsed(alias.text + statement.written[len(name) :])
    except ScriptError as error:
        shell.note(f"the alias {name} makes no command: {error.message}")
        return None
    finally:
        shell.line = line
