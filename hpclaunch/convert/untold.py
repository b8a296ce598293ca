"""What is said of a statement that no finding names: by what the reader of shell texts found it to be, and of
a command by its program."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert import other_starts
from hpclaunch.convert.draft import sayable, shown
from hpclaunch.convert.mapping.environment.sourced import OF_FILE
from hpclaunch.convert.programs.beside import PLUMBING, PREPARES, that
from hpclaunch.convert.programs.environments import LOADERS
from hpclaunch.convert.programs.layers import PER_GPU, STARTERS, layers
from hpclaunch.convert.programs.names import MAY_START, REMOTE
from hpclaunch.convert.programs.plain import IN_FRONT
from hpclaunch.convert.reading import Command, Statement
from hpclaunch.convert.shell.folder import FOLDERS
from hpclaunch.convert.walked import Walk
from hpclaunch.convert.words_of_statements import is_made_there, is_option, text_of, writes_a_file
from hpclaunch.readback.shell.pieces import Word
from hpclaunch.readback.shell.statements import (
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
from hpclaunch.values.conversion import Kind, Place

_WORDS = re.compile(r"[\w.:-]+")


class Told(Struct, frozen=True):
    """What became of a statement. `before` stands before its text."""

    kind: Kind
    before: str
    why: str
    todo: str = ""


_USED = Told("carried", "variables: ", "the commands that use them have their values")
_UNUSED = Told("without effect", "", "nothing that is launched uses it")
_BY_RANKS = Told("carried", "variables: ", OF_FILE)
_FOR_OUTPUT = Told(
    "left",
    "",
    "it starts a program and keeps what that prints, and no part of the job is made of it",
    "where it is a run make a job file of that program",
)
_PERHAPS = Told(
    "unread",
    "",
    "only a line that is not understood may use it",
    "see whether what that line starts needs it",
)
_PLUMBING = Told("without effect", "shell plumbing: ", "it has no effect on what is launched")
_STATE = Told("carried", "shell plumbing: ", "the commands behind it have their words as it leaves them")
_CONDITION = Told("carried", "conditions: ", "what depends on them is told where it stands")
_ROUNDS = Told("carried", "a loop: ", "what its rounds do is told where it stands")
_CALL = Told("carried", "a call: ", "what the function does is told where its commands stand")
_FOLLOWED = Told("carried", "", "what that script does is told where its commands stand")
_WRITES = Told("carried", "", "it writes a line of the script that is submitted, which is the job's")
_WRITES_ANOTHER = Told(
    "left", "", "it writes a line of the script of another job, and this one is not made of it"
)
_LEFT = Told(
    "left",
    "",
    "it is not part of what is launched, as far as this command knows",
    "if the job needs it, add it to setup, before_each or after",
)
_SET_UP = Told(
    "left",
    "",
    "the command, which is asked for, has to do it",
    "write it in front of the command: bash -lc '...; COMMAND'",
)
_ALIAS = Told(
    "left",
    "",
    "the command, which is asked for, may begin with it",
    "write in `command` what it stands for",
)
_STARTS_RANKS = Told(
    "left",
    "",
    "it starts ranks of its own, and this job is not made of it",
    "where it is the run leave out what is, or give what decides between them with --env, and convert again",
)
_STARTS_THERE = Told(
    "left",
    "",
    "it starts processes on another machine, and the job starts the ranks of all its nodes itself",
    "where they are none of this run make a job file of them too",
)
_MADE_TODO = "look at this line yourself: give what it sets by --env, and add what it starts to the job"
_MADE = Told("unread", "", "what it makes of its words is known only where it runs", _MADE_TODO)
_EXPORTS = Told(
    "left", "", "which variables it hands on to the ranks is known only where it runs", _MADE_TODO
)
_IS_SOURCED = Told("without effect", "", "its text is among the files, and read where it is sourced")
_UMASK = Told(
    "left",
    "",
    "srun handed it on: it is in the modes of the files that ranks make",
    "where others need those files, let the command begin with it",
)
_FOLDER = Told("carried", "", "it is the folder in which the commands behind it stand")
_FOLLOWING = "it submits another job, and a job's own shell submits none"
_AGAIN = Told(
    "left",
    "",
    _FOLLOWING,
    "where the script submits itself write `chain` in the job file: so many links, each after the other",
)
_ANOTHER = Told(
    "left",
    "",
    _FOLLOWING,
    "make a job file of that script too, write depends_on: [THIS JOB'S FILE] in it (it waits until this one "
    "has ended well; when: afterany, in any way), and `hpclaunch submit` both",
)
_BESIDE = Told(
    "left",
    "",
    _FOLLOWING,
    "make a job file of that script too; where one waits for the other write depends_on: [THE OTHER'S FILE] "
    "in the one that waits",
)
_REQUEUE = Told(
    "left",
    "",
    "it puts the job itself back, and in a step of a job file it would do so at each start",
    "write `chain` in the job file: so many links, each after one that its time limit ended",
)
_TRAPPED = Told(
    "left",
    "",
    "it runs where the script ends or is told a signal, and no step of a job is made of it",
    "if the job needs it, add it to after, which runs at each end",
)
_HANDED = Told("left", "", "it hands the variable on to the ranks: see what is said of its value")
_NOT_REACHED = Told(
    "without effect", "", "the script does not come to it with the values that its variables have"
)
# "No command given to execute" (libsrun/opt.c of Slurm's sources).
_NO_COMMAND = Told(
    "left",
    "",
    "it has no command behind its options, and starts nothing",
    "write what it is to start, and convert again",
)
_MAY_START = Told(
    "unread",
    "",
    "it may start ranks, and is no way of starting them that is known",
    "where it is the run write the command without what stands before it, and convert again",
)
_MAY_START_FILE = Told("unread", "", other_starts.WHY, other_starts.TODO)
_HOSTS = Told("replaced", "", "the scheduler knows the hosts of a job")
_IN_COMMAND = Told("carried", "", "the text of the function is in the command that calls it")
_FILE = Told(
    "left",
    "",
    "it writes a file, and the job does not",
    "where ranks read that file, keep it beside the job file or write it in setup",
)
_REQUEUES = frozenset(("requeue", "requeuehold"))
_OF_TRAPS = PLUMBING | {"kill"}
_HELPS = PREPARES | that("enters", "words", "texts", "edits", "fetches", "builds", "compiles", "ends")
_CONDITIONAL = (Test, If, Case, Loop)
_TESTS = frozenset(("[", "test"))
_SHELLS_OWN = frozenset(("command", "builtin"))  # they start the command that is behind them


def what_became(statement: Statement, walk: Walk) -> Told:
    """What is said of it."""
    part = statement.part
    if walk.is_handed_on(statement):
        return _IN_COMMAND
    if _gives(part) and not walk.gives(statement.place) and walk.passes_by(statement):
        return _NOT_REACHED
    if _gives(part) and any(map(_submits_for_output, walk.commands(statement.place))):
        return _BESIDE
    if isinstance(part, Declaration):
        return _declared(part, statement.place, walk)
    if isinstance(part, _CONDITIONAL):
        return _CONDITION
    if not isinstance(part, Simple):
        if isinstance(part, For) and (part.name in walk.used or walk.repeats(statement.place)):
            return _ROUNDS
        return _PLUMBING  # a sum, or the line of a compound command, whose parts are told themselves
    if not part.words and not part.assignments:
        return _by_output(part)
    if not part.words:
        became = _given((each.name for each in part.assignments), statement.place, walk)
        runs = became == _UNUSED and any(map(_runs_for_output, walk.commands(statement.place)))
        return _FOR_OUTPUT if runs else became
    program = _program(statement, part.words, walk)
    if walk.follows(statement.place) and all(
        each.program != program for each in walk.commands(statement.place)
    ):
        return _FOLLOWED
    if program in walk.functions:
        return _CALL
    if walk.no_run and program in LOADERS:
        return _SET_UP
    told = _BY_PROGRAM.get(program)
    if told is not None:
        return told(statement, part, walk)
    if program in _TESTS:
        return _CONDITION
    if program in PLUMBING and walk.writes_script(statement.place):
        return _WRITES
    if program in PLUMBING and walk.writes_script(statement.place, of_another=True):
        return _WRITES_ANOTHER
    if program in PLUMBING and walk.feeds(statement.place, program):
        return _LEFT
    if program == "read":
        return _read(part, statement.place, walk)
    if program in PLUMBING:
        return _FILE if walk.writes_with_others(statement.place, program) else _by_output(part)
    if walk.passes_by(statement):
        return _NOT_REACHED
    its = [each for each in walk.commands(statement.place) if each.program == program]
    inner = [layers(each.words) for each in its]
    if program == "srun" and inner and all(len(found) == 2 and not found[-1].words for found in inner):
        return _NO_COMMAND
    if program in REMOTE and any(MAY_START.search(" ".join(map(known_parts, each.words))) for each in its):
        return _STARTS_THERE
    if any(found[-1].words and any(layer.program in PER_GPU for layer in found) for found in inner):
        return _STARTS_RANKS
    is_known = program in _HELPS or program in STARTERS
    if not is_known and walk.may_start_another(statement):
        return _MAY_START_FILE
    read = [each.stdin or () for each in its]
    texts = (statement.written, *map(known_parts, read))
    return _MAY_START if not is_known and any(map(MAY_START.search, texts)) else _LEFT


def _submits_for_output(command: Command) -> bool:
    """Whether it is NUMBER=$(sbatch ...)."""
    return command.program == "sbatch" and command.within == "output"


def _runs_for_output(command: Command) -> bool:
    """Whether it is a program of the user's own in NAME=$(FOLDER/PROGRAM ...)."""
    words = layers(command.words)[-1].words if command.within == "output" else ()
    return bool(words) and "/" in as_text(words[0]) and program_of(words) not in _HELPS | PLUMBING


def is_made(statement: Statement, walk: Walk) -> bool:
    """Whether it runs what is known only where it runs."""
    return what_became(statement, walk) == _MADE


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
        return _EXPORTS
    if part.command != "export" and len(words) == len(part.arguments):
        return _PLUMBING  # no value
    names = [each.name if isinstance(each, Assignment) else each.written for each in part.arguments]
    if exports and len(words) == len(part.arguments) and not walk.left.isdisjoint(names):
        return _HANDED
    return _given(names, place, walk)


def _given(names: Iterable[str], place: Place, walk: Walk) -> Told:
    its = set(names)
    if not walk.used.isdisjoint(its):
        return _USED
    if walk.is_of_ranks(place):
        return _BY_RANKS
    unused = _STATE if "IFS" in its else _UNUSED
    return unused if walk.perhaps.isdisjoint(its) else _PERHAPS


def _read(part: Simple, place: Place, walk: Walk) -> Told:
    """A `read`, which gives the variables behind its options what is in a line."""
    became = _given((known(text_of(word)) or "" for word in part.words[1:]), place, walk)
    return _by_output(part) if became == _UNUSED else became


def _by_output(part: Simple) -> Told:
    """A command that changes nothing, but for what it writes."""
    return _FILE if any(map(writes_a_file, part.redirections)) else _PLUMBING


def _source(statement: Statement, part: Simple, walk: Walk) -> Told:
    each = walk.sourced(statement.place)
    if each is not None and each.file:
        return _IS_SOURCED
    path = each.name[-1] if each is not None and each.name else ""
    name = path.rpartition("/")[2] if isinstance(path, str) and "/" in path else ""
    file = "this file" if not name or name in statement.written else shown(sayable(name))
    return Told("left", "", f"{file} was not given", "give it beside the others")


def _eval(statement: Statement, part: Simple, walk: Walk) -> Told:
    if walk.gives(statement.place):
        return _STATE
    return _MADE if any(map(is_made_there, part.words)) else _PLUMBING


def _set(statement: Statement, part: Simple, walk: Walk) -> Told:
    """`set` and `shift`, which give the script its arguments anew, and `unset`."""
    program, *words = (known(text_of(word)) or "" for word in part.words)
    names = {each.partition("[")[0] for each in words}
    changes = {"set": "--" in names, "shift": True}.get(program, not walk.used.isdisjoint(names))
    return _STATE if changes else _by_output(part)


def _alias(statement: Statement, part: Simple, walk: Walk) -> Told:
    return _ALIAS if walk.no_run and walk.expands_aliases and len(part.words) > 1 else _PLUMBING


def _unless_it_tells(became: Told) -> Callable[[Statement, Simple, Walk], Told]:
    def told(statement: Statement, part: Simple, walk: Walk) -> Told:
        tells = all(is_option(text_of(word)) for word in part.words[1:])
        return _by_output(part) if tells else became

    return told


def _exec(statement: Statement, part: Simple, walk: Walk) -> Told:
    return _PLUMBING if len(part.words) == 1 else _LEFT  # its redirections are those of what follows


def _sbatch(statement: Statement, part: Simple, walk: Walk) -> Told:
    if walk.follows(statement.place):
        return _FOLLOWED
    names = ("$0", statement.place.file.rpartition("/")[2])
    return _AGAIN if any(name in statement.written for name in names) else _ANOTHER


def _scontrol(statement: Statement, part: Simple, walk: Walk) -> Told:
    if _requeues(map(text_of, part.words)):
        return _REQUEUE
    asked = [known(text_of(word)) for word in part.words[1:3]]
    return _HOSTS if asked in (["show", "hostnames"], ["show", "hostname"]) else _LEFT


def _requeues(words: Iterable[Value]) -> bool:
    return any(known(word) in _REQUEUES for word in words)


def _trap(statement: Statement, part: Simple, walk: Walk) -> Told:
    its = [each for each in walk.commands(statement.place) if each.signals]
    if any(each.program == "scontrol" and _requeues(each.words) for each in its):
        return _REQUEUE
    is_more = any(each.program not in _OF_TRAPS and each.program not in walk.functions for each in its)
    if is_more:
        return _TRAPPED
    return _PLUMBING if walk.functions.isdisjoint(_WORDS.findall(statement.written)) else _CALL


_BY_PROGRAM: Mapping[str, Callable[[Statement, Simple, Walk], Told]] = {
    "source": _source,
    ".": _source,
    "eval": _eval,
    "alias": _alias,
    "umask": _unless_it_tells(_UMASK),
    "nvcc": _unless_it_tells(_LEFT),  # --version, or it compiles
    "exec": _exec,
    "sbatch": _sbatch,
    "scontrol": _scontrol,
    "trap": _trap,
    **dict.fromkeys(FOLDERS, lambda statement, part, walk: _FOLDER),
    **dict.fromkeys(("set", "shift", "unset"), _set),
}
