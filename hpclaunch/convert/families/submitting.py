"""Commands that give a script to another scheduler than Slurm: qsub, bsub and the like."""

import re
from collections.abc import Sequence
from itertools import takewhile
from posixpath import basename, normpath

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping import other_schedulers
from hpclaunch.convert.mapping.around import rounds
from hpclaunch.convert.programs.names import OTHER_SUBMITTERS
from hpclaunch.convert.reading import Command, Directive, ShellReading
from hpclaunch.readback.shell.values import Value, known, shown

_SCRIPT = re.compile(r"^[^-].*\.(?:sh|bash|csh|pbs|job|sub|lsf|sge|qsub|bsub|cmd)$")
_SUBMITTED = "the script that it submits is read where the launcher writes it"


def put_options(whole: ShellReading, reading: ShellReading, system: str, draft: Draft) -> None:
    """The options of the command that submits what is read: they count more than the lines of its script."""
    written = {_path(each.path) for command in whole.commands for each in command.writes}
    for command in whole.of(*OTHER_SUBMITTERS):
        if command.place not in reading.followed:
            continue
        options = list(takewhile(lambda word: _path(word) not in written, command.words[1:]))
        draft.say("carried", (command.place,), command.brief(), why=_SUBMITTED)
        own = Directive(command.place, tuple(map(shown, options)), system)
        other_schedulers.put([own] if options else [], draft)
        rounds.say_rounds(command, draft)


def say_not_given(whole: ShellReading, reading: ShellReading, draft: Draft) -> None:
    """Say which scripts are submitted to other schedulers that are neither written here nor given."""
    given = {basename(each.name) for each in reading.sources}
    for command in whole.of(*OTHER_SUBMITTERS):
        script = next((text for word in _named(command) if _SCRIPT.search(text := known(word) or "")), "")
        if script and basename(script) not in given and command.place not in reading.followed:
            why = f"the lines of {script}, which it submits, tell what the job asks for and starts"
            draft.say("left", (command.place,), command.brief(), why=why, todo="give that file, too")


def _path(word: Value) -> str:
    return normpath(shown(word)) if word else ""


def _named(command: Command) -> Sequence[Value]:
    """What may be the script: a word, or the file that the command reads (bsub < FILE)."""
    return (*command.words[1:], *([command.reads] if command.reads else ()))
