"""What is said of a statement that no finding names: by what the reader of shell texts found it to be, and of
a command by its program."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from hpclaunch.convert import lines_told
from hpclaunch.convert.draft import sayable, shown
from hpclaunch.convert.lines_told import Told
from hpclaunch.convert.programs.beside import PLUMBING, PREPARES, that
from hpclaunch.convert.programs.environments import LOADERS, leaves
from hpclaunch.convert.programs.layers import MPI, PER_GPU, STARTERS, Layer, layers
from hpclaunch.convert.programs.names import MAY_START, REMOTE
from hpclaunch.convert.programs.plain import IN_FRONT
from hpclaunch.convert.reading import Command, Statement
from hpclaunch.convert.shell.folder import FOLDERS
from hpclaunch.convert.walked import Walk
from hpclaunch.convert.words_of_statements import is_made_there, is_option, text_of, writes_a_file
from hpclaunch.readback.shell import arithmetic
from hpclaunch.readback.shell.pieces import Word
from hpclaunch.readback.shell.statements import (
    Arithmetic,
    Assignment,
    Case,
    Declaration,
    For,
    If,
    Loop,
    Simple,
    Test,
)
from hpclaunch.readback.shell.values import Value, known, known_parts, program_of
from hpclaunch.readback.shell.values import shown as as_text
from hpclaunch.values.conversion import Place

_WORDS = re.compile(r"[\w.:-]+")
_REQUEUES = frozenset(("requeue", "requeuehold"))
_OF_TRAPS = PLUMBING | {"kill"}
_HELPS = PREPARES | that("enters", "words", "texts", "edits", "fetches", "builds", "compiles", "ends")
_CONDITIONAL = (Test, If, Case, Loop)
_ENDS = frozenset(("exit", "break", "continue"))
_SHELLS_OWN = frozenset(("command", "builtin"))  # they start the command that is behind them


def what_became(statement: Statement, walk: Walk) -> Told:
    """What is said of it."""
    part = statement.part
    if walk.is_of_another_job(statement.place):
        return lines_told.OF_ANOTHER
    if walk.is_handed_on(statement):
        return lines_told.IN_COMMAND
    if _gives(part) and not walk.gives(statement.place) and walk.passes_by(statement):
        return lines_told.NOT_REACHED
    if _gives(part) and any(map(_submits_for_output, walk.commands(statement.place))):
        return lines_told.FOLLOWED if walk.follows(statement.place) else lines_told.BESIDE
    if isinstance(part, Declaration):
        return _declared(part, statement.place, walk)
    if isinstance(part, _CONDITIONAL):
        return lines_told.CONDITION
    if not isinstance(part, Simple):
        if isinstance(part, For) and (part.name in walk.used or walk.repeats(statement.place)):
            return lines_told.ROUNDS
        if isinstance(part, Arithmetic) and (names := _changed(part)):
            became = _given(names, statement.place, walk)
            return lines_told.PLUMBING if became == lines_told.UNUSED else became
        # The line of a compound command, whose parts are told themselves.
        return lines_told.PLUMBING
    if not part.words and not part.assignments:
        return _by_output(part)
    if not part.words:
        became = _given((each.name for each in part.assignments), statement.place, walk)
        runs = became == lines_told.UNUSED and any(map(_runs_for_output, walk.commands(statement.place)))
        return lines_told.FOR_OUTPUT if runs else became
    program = _program(statement, part.words, walk)
    if walk.follows(statement.place) and all(
        each.program != program for each in walk.commands(statement.place)
    ):
        return lines_told.FOLLOWED
    if program in walk.functions:
        return lines_told.CALL
    if walk.no_run and program in LOADERS:
        return lines_told.SET_UP
    if leaves(tuple(map(text_of, part.words))):
        return lines_told.LEAVES
    told = _BY_PROGRAM.get(program)
    if told is not None:
        return told(statement, part, walk)
    if program in PLUMBING:
        return _of_plumbing(program, part, statement.place, walk)
    return _of_other(program, statement, walk)


def _of_plumbing(program: str, part: Simple, place: Place, walk: Walk) -> Told:
    if walk.writes_script(place):
        return lines_told.WRITES
    if walk.writes_script(place, of_another=True):
        return lines_told.WRITES_ANOTHER
    if walk.writes_unread_script(place):
        return lines_told.WRITES_UNREAD
    if walk.feeds(place, program):
        return lines_told.LEFT
    if program in _ENDS and any(each.conditions for each in walk.commands(place) if each.program == program):
        return lines_told.ENDS
    if program == "read":
        return _read(part, place, walk)
    return lines_told.FILE if walk.writes_with_others(place, program) else _by_output(part)


def _of_other(program: str, statement: Statement, walk: Walk) -> Told:
    """Of a program that may start ranks, or be a part of the job."""
    if walk.passes_by(statement):
        return lines_told.NOT_REACHED
    its = [each for each in walk.commands(statement.place) if each.program == program]
    inner = [layers(each.words) for each in its]
    if program == "srun" and inner and all(len(found) == 2 and not found[-1].words for found in inner):
        return lines_told.NO_COMMAND
    if program in REMOTE and any(MAY_START.search(" ".join(map(known_parts, each.words))) for each in its):
        return lines_told.STARTS_THERE
    if any(map(_starts_ranks, inner)):
        return lines_told.STARTS_RANKS
    is_known = program in _HELPS or program in STARTERS
    if not is_known and walk.may_start_another(statement):
        return lines_told.MAY_START_FILE
    read = [each.stdin or () for each in its]
    texts = (statement.written, *map(known_parts, read))
    return lines_told.MAY_START if not is_known and any(map(MAY_START.search, texts)) else lines_told.LEFT


def _starts_ranks(found: Sequence[Layer]) -> bool:
    """Whether it starts a process for each GPU, or ranks of MPI of what is a run by its program."""
    if not found[-1].words:
        return False
    by = {layer.program for layer in found}
    is_run = program_of(found[-1].words) not in _HELPS
    return not by.isdisjoint(PER_GPU) or (is_run and not by.isdisjoint(MPI))


def _submits_for_output(command: Command) -> bool:
    """Whether it is NUMBER=$(sbatch ...)."""
    return command.program == "sbatch" and command.within == "output"


def _runs_for_output(command: Command) -> bool:
    """Whether it is a program of the user's own in NAME=$(FOLDER/PROGRAM ...)."""
    words = layers(command.words)[-1].words if command.within == "output" else ()
    return bool(words) and "/" in as_text(words[0]) and program_of(words) not in _HELPS | PLUMBING


def is_made(statement: Statement, walk: Walk) -> bool:
    """Whether it runs what is known only where it runs."""
    return what_became(statement, walk) == lines_told.MADE


def _gives(part: object) -> bool:
    """Whether it is there to give variables a value."""
    if isinstance(part, Declaration):
        return any(isinstance(each, Assignment) for each in part.arguments)
    return isinstance(part, Simple) and bool(part.assignments) and not part.words


def program_of_statement(statement: Statement) -> str:
    """The program of a command as it is written, "" for another statement and for one that is not told."""
    part = statement.part
    return program_of([text_of(part.words[0])]) if isinstance(part, Simple) and part.words else ""


def _program(statement: Statement, words: Sequence[Word], walk: Walk) -> str:
    """What the command starts in the end; "" where nothing tells it."""
    values = tuple(map(text_of, words))
    while len(values) > 1 and known(values[0]) in _SHELLS_OWN and not is_option(values[1]):
        values = values[1:]
    first = program_of(values)
    if first in IN_FRONT:
        inner = next(each for each in layers(values) if each.program not in IN_FRONT)
        by_layer = inner.program.partition(" ")[0]
        return by_layer or (program_of(inner.words) if inner.words else first)
    if first or known(values[0]) is not None:
        return first
    there = {each.program for each in walk.commands(statement.place)}
    return there.pop() if len(there) == 1 else ""


def _declared(part: Declaration, place: Place, walk: Walk) -> Told:
    words = [each for each in part.arguments if isinstance(each, Word)]
    options = "".join(each.written for each in words if each.written.startswith("-"))
    exports = part.command == "export" or "x" in options
    if exports and any(map(is_made_there, words)):
        return lines_told.EXPORTS
    if part.command != "export" and len(words) == len(part.arguments):
        return lines_told.PLUMBING  # no value
    names = [each.name if isinstance(each, Assignment) else each.written for each in part.arguments]
    if exports and len(words) == len(part.arguments) and not walk.left.isdisjoint(names):
        return lines_told.HANDED
    return _given(names, place, walk)


def _given(names: Iterable[str], place: Place, walk: Walk) -> Told:
    its = set(names)
    if not walk.used.isdisjoint(its):
        return lines_told.USED
    if walk.is_of_ranks(place):
        return lines_told.BY_RANKS
    unused = lines_told.STATE if "IFS" in its else lines_told.UNUSED
    return unused if walk.perhaps.isdisjoint(its) else lines_told.PERHAPS


def _changed(part: Arithmetic) -> set[str]:
    """The variables that (( )) or `let` gives numbers."""
    return {name for each in part.expressions for name in arithmetic.changed(each.written)}


def _read(part: Simple, place: Place, walk: Walk) -> Told:
    """A `read`, which gives the variables behind its options what is in a line."""
    became = _given((known(text_of(word)) or "" for word in part.words[1:]), place, walk)
    return _by_output(part) if became == lines_told.UNUSED else became


def _by_output(part: Simple) -> Told:
    """A command that changes nothing, but for what it writes."""
    return lines_told.FILE if any(map(writes_a_file, part.redirections)) else lines_told.PLUMBING


def _source(statement: Statement, part: Simple, walk: Walk) -> Told:
    each = walk.sourced(statement.place)
    if each is not None and each.file:
        return lines_told.IS_SOURCED
    path = each.name[-1] if each is not None and each.name else ""
    name = path.rpartition("/")[2] if isinstance(path, str) and "/" in path else ""
    file = "this file" if not name or name in statement.written else shown(sayable(name))
    return Told("left", "", f"{file} was not given", "give it beside the others")


def _eval(statement: Statement, part: Simple, walk: Walk) -> Told:
    if walk.gives(statement.place):
        return lines_told.STATE
    return lines_told.MADE if any(map(is_made_there, part.words)) else lines_told.PLUMBING


def _set(statement: Statement, part: Simple, walk: Walk) -> Told:
    """`set` and `shift`, which give the script its arguments anew, and `unset`."""
    program, *words = (known(text_of(word)) or "" for word in part.words)
    names = {each.partition("[")[0] for each in words}
    changes = {"set": "--" in names, "shift": True}.get(program, not walk.used.isdisjoint(names))
    return lines_told.STATE if changes else _by_output(part)


def _alias(statement: Statement, part: Simple, walk: Walk) -> Told:
    return (
        lines_told.ALIAS
        if walk.no_run and walk.expands_aliases and len(part.words) > 1
        else lines_told.PLUMBING
    )


def _unless_it_tells(became: Told) -> Callable[[Statement, Simple, Walk], Told]:
    def told(statement: Statement, part: Simple, walk: Walk) -> Told:
        tells = all(is_option(text_of(word)) for word in part.words[1:])
        return _by_output(part) if tells else became

    return told


def _umask(statement: Statement, part: Simple, walk: Walk) -> Told:
    if walk.stays_in_subshell(statement.place):
        return lines_told.PLUMBING  # of files that commands beside it make
    return _unless_it_tells(lines_told.UMASK)(statement, part, walk)


def _exec(statement: Statement, part: Simple, walk: Walk) -> Told:
    # Its redirections are those of what follows.
    return lines_told.PLUMBING if len(part.words) == 1 else lines_told.LEFT


def _sbatch(statement: Statement, part: Simple, walk: Walk) -> Told:
    if walk.follows(statement.place):
        return lines_told.FOLLOWED
    names = ("$0", statement.place.file.rpartition("/")[2])
    return lines_told.AGAIN if any(name in statement.written for name in names) else lines_told.ANOTHER


def _scontrol(statement: Statement, part: Simple, walk: Walk) -> Told:
    if _requeues(map(text_of, part.words)):
        return lines_told.REQUEUE
    asked = [known(text_of(word)) for word in part.words[1:3]]
    return lines_told.HOSTS if asked in (["show", "hostnames"], ["show", "hostname"]) else lines_told.LEFT


def _requeues(words: Iterable[Value]) -> bool:
    return any(known(word) in _REQUEUES for word in words)


def _trap(statement: Statement, part: Simple, walk: Walk) -> Told:
    its = [each for each in walk.commands(statement.place) if each.signals]
    if any(each.program == "scontrol" and _requeues(each.words) for each in its):
        return lines_told.REQUEUE
    is_more = any(each.program not in _OF_TRAPS and each.program not in walk.functions for each in its)
    if is_more:
        return lines_told.TRAPPED
    return (
        lines_told.PLUMBING
        if walk.functions.isdisjoint(_WORDS.findall(statement.written))
        else lines_told.CALL
    )


_BY_PROGRAM: Mapping[str, Callable[[Statement, Simple, Walk], Told]] = {
    "source": _source,
    ".": _source,
    "eval": _eval,
    "alias": _alias,
    "umask": _umask,
    "nvcc": _unless_it_tells(lines_told.LEFT),  # --version, or it compiles
    "exec": _exec,
    "sbatch": _sbatch,
    "scontrol": _scontrol,
    "trap": _trap,
    **dict.fromkeys(FOLDERS, lambda statement, part, walk: lines_told.FOLDER),
    **dict.fromkeys(("[", "test"), lambda statement, part, walk: lines_told.CONDITION),
    **dict.fromkeys(("set", "shift", "unset"), _set),
}
