"""Why a script of which no line is known to start anything is refused."""

import re
from collections.abc import Iterable, Iterator, Sequence

from hpclaunch.convert.mapping.around import beyond
from hpclaunch.convert.mapping.container import enroot
from hpclaunch.convert.mapping.slurm.starts import ended
from hpclaunch.convert.mapping.words.made import either_of
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, GPU_MODULES, REMOTE, STEPS, any_of
from hpclaunch.convert.reading import Command, ShellReading, Statement
from hpclaunch.readback.shell.statements import Function
from hpclaunch.readback.shell.values import Unknown, Value, base_name, known, shown
from hpclaunch.values.conversion import Place

_NOTHING = "nothing in it starts ranks by a launcher that is known here: no srun, mpirun, docker or other"
_FIRST = re.compile(r"(?:sudo\s+)?(?:\$\{?(\w+)\}?|(\S+))\s+\S")
_STARTER = re.compile(rf"(?<![\w.-]){any_of(BY_MPI, BY_TORCH)}(?=\s)")
_NAMED = re.compile(rf"(?<![\w.-]){any_of(STEPS, BY_MPI, BY_TORCH)}(?![\w.-])")
_PREPARES = re.compile(r"(?:sudo\s+)?\S*\s+(?:build|login|logs|images|ps|pull|push|rm|rmi|stop|tag)\b")
_MODULE = 4  # words of a Python before the module's name: its options, and -m
_ITS_TEXT = "write that text into a script, and give that"
_OF_SLURM = "where it does, write what sbatch was given into the script (#SBATCH -N 1), and convert again"
_ITS_PROGRAM = "write into that line which program it is, and convert again"
_ITS_WORDS = "convert again with --args '...', the words that stood behind the script's name"
_BY_ENV = "convert again with --env NAME=VALUE for what decides the way"
_CALLER = "give the script that calls it, and this one in front of it"


def said(reading: ShellReading) -> tuple[str, str, Sequence[Place]]:
    """The reason, what to do, and the lines that it is about, none where it is the script as a whole."""
    end = ended.before_the_run(reading)
    if end is not None:
        return *ended.said(end, reading), ()
    unread = next((each for each in reading.unclear if each.unread), None)
    if unread is not None:
        return f"nothing that was read of it starts ranks. {unread.place}: {unread.text}", "", ()
    several = beyond.started_by_variable(reading) or beyond.started_in_rounds(reading)
    if several is not None:
        may_be, places = several
        todo = _ITS_WORDS if reading.asks and reading.arguments is None else ""
        return f"{places[0]}: what starts there is not determined: {may_be}", todo, places
    for command in reading.starting:
        over = next((name for word in command.words if (name := base_name(word)) in REMOTE), "")
        if over and any(layer.program == "ssh" for layer in layers(command.words)):
            starter = _STARTER.search(" ".join(map(shown, (*command.words, command.stdin or ()))))
            if starter is not None:
                why = f"{command.place}: what {over} starts on other hosts is a text of their shells, and "
                return f"{why}{starter[0]} in it is not read", _ITS_TEXT, (command.place,)
            return f"{command.place}: what {over} starts on other hosts is no launcher known here", "", ()
    unknown = beyond.started_by_unknown(reading)
    if unknown is not None:
        command, name = unknown
        why = f"{command.place}: what {command.brief()} starts is not told, as nothing gives {name}"
        return why, f"convert again with --env {name}='...'", (command.place,)
    doubted = _with_program_in_doubt(reading)
    if doubted is not None:
        first = doubted.words[0]
        is_told = either_of(reading, first) or f"{shown(first)} is known only where the script runs"
        of_arguments = any(isinstance(each, Unknown) and each.kind == "argument" for each in first)
        why = f"{doubted.place}: what starts there is not determined: {is_told}"
        return why, _ITS_WORDS if of_arguments else _ITS_PROGRAM, (doubted.place,)
    uncalled = _in_a_function(reading)
    if uncalled is not None:
        place, name = uncalled
        why = f"{place}: what starts a launch is in the function {name}, which no line calls"
        return why, _CALLER, (place,)
    passed = _in_another_way(reading)
    if passed is not None:
        why = f"{passed}: with what is given the script does not come to what starts a launch there"
        return why, _ITS_WORDS if reading.asks else _BY_ENV, (passed,)
    started = None if reading.directives else next(filter(_is_by_enroot, reading.commands), None)
    if started is not None:
        why = f"{started.place}: enroot starts a container, and no line tells that Slurm starts the script"
        return why, _OF_SLURM, (started.place,)
    by_words = beyond.started_by_arguments(reading) if reading.arguments is None else None
    if by_words is not None:
        why = f"{by_words.place}: what starts there is told by the words behind the script's name alone"
        return why, _ITS_WORDS, (by_words.place,)
    return _NOTHING, "", ()


def _is_by_enroot(command: Command) -> bool:
    """Whether it is a command in a container of Enroot's, which is the run of a script for Slurm alone."""
    its = layers(command.words) if command.program == "enroot" else ()
    is_started = any(each.program == enroot.PROGRAM and each.words for each in its)
    return is_started and (bool(its[-1].words) or enroot.is_shell_of_image(command, its))


def _with_program_in_doubt(reading: ShellReading) -> Command | None:
    """The last command of which the program is not told, but that starts a launcher's module of Python, or
    that what finds the program looks for a launcher ($(which mpiexec_mpt || which mpiexec))."""
    looks_for: dict[Value, bool] = {}
    for command in reversed(reading.commands):
        first = command.words[0] if len(command.words) > 1 else ()
        if command.within or command.signals or not first or known(first) is not None:
            continue
        if first not in looks_for:
            looks_for[first] = any(map(_NAMED.search, _made_of(reading, first)))
        words = [known(each) for each in command.words[1 : _MODULE + 2]]
        if looks_for[first] or ("-m" in words and not set(GPU_MODULES).isdisjoint(words)):
            return command
    return None


def _made_of(reading: ShellReading, value: Value) -> Iterable[str]:
    """The texts that a value comes from."""
    yield shown(value)
    for part in value:
        if isinstance(part, Unknown):
            yield from (shown(each.value) for each in reading.given(part.name))


def _in_a_function(reading: ShellReading) -> tuple[Place, str] | None:
    """The line of a launcher to which the script does not come, and the function that it is in."""
    within = ("", 0, "")
    for each in _not_come_to(reading):
        if isinstance(each.part, Function):
            within = (each.place.file, each.place.line + each.part.written.count("\n"), each.part.name)
        elif each.place.file == within[0] and each.place.line <= within[1] and _starts(reading, each):
            return each.place, within[2]
    return None


def _in_another_way(reading: ShellReading) -> Place | None:
    """The line of a launcher to which the script does not come for what decides it."""
    others = (each for each in _not_come_to(reading) if not isinstance(each.part, Function))
    return next(
        (each.place for each in others if _starts(reading, each) and not _PREPARES.match(each.written)), None
    )


def _not_come_to(reading: ShellReading) -> Iterator[Statement]:
    """The statements to which the script does not come, and functions."""
    come_to = {(each.place.file, each.place.line) for each in reading.commands}
    for each in reading.statements:
        if isinstance(each.part, Function) or (each.place.file, each.place.line) not in come_to:
            yield each


def _starts(reading: ShellReading, statement: Statement) -> bool:
    found = _FIRST.match(statement.written)
    return found is not None and not beyond.STARTERS.isdisjoint(_programs(reading, found[1], found[2]))


def _programs(reading: ShellReading, variable: str | None, word: str | None) -> Iterable[str]:
    """The program that a command begins with, or those that a variable is given."""
    values = [shown(each.value) for each in reading.given(variable)] if variable else [word or ""]
    return (first.rpartition("/")[2] for value in values for first in value.split()[:1])
