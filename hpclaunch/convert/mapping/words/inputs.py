"""What a command reads from its standard input, as a text for /bin/sh has it."""

import shlex
from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.values import Value, known, program_of, shown

# These read nothing, so that a pipe or a file around them changes nothing.
_READ_NOTHING = that("says", "files", "caches") - {"rm", "mv"} | {"ln"}  # those two may ask for a yes
_NOTHING = "/dev/null"


class Given(Struct, frozen=True):
    """What stands before and after the command's words; `doubt` is what no text can stand for."""

    before: str = ""
    after: str = ""
    doubt: str = ""


def given(command: Command, words: Sequence[Value], *, inside: bool) -> Given:
    """The input of these words of the command. `inside`: they are run in a container,
    which has other files."""
    program = program_of(words)
    if program in _READ_NOTHING:
        return Given()
    if command.stdin is not None:
        text = known(command.stdin)
        if text is None:
            return Given(doubt=f"what it reads ({_short(command.stdin)})")
        return Given(before=f"printf %s {shlex.quote(text)} | ") if text else Given()
    if command.reads is None or known(command.reads) == _NOTHING:
        return Given()
    target = path(command.reads)
    if target is None or inside:
        where = "" if target is None else " on the host"
        return Given(doubt=f"what it reads{where} ({_short(command.reads)})")
    return Given(after=f" < {shlex.quote(target)}")


def _short(value: Value) -> str:
    text = " ".join(shown(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
