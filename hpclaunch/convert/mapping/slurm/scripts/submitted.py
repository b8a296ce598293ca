"""Scripts inside of scripts: `sbatch --wrap="..."`, `sbatch <<EOF`, and a file that the script wrote; the
same of qsub, bsub and the like, where the script asks no scheduler itself."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from posixpath import normpath
from typing import TypeVar

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch import export
from hpclaunch.convert.mapping.slurm.numbers.sizes import sizes
from hpclaunch.convert.mapping.slurm.scripts import lines_of_texts
from hpclaunch.convert.mapping.slurm.starts import alone
from hpclaunch.convert.mapping.words.texts import is_here
from hpclaunch.convert.programs import srun
from hpclaunch.convert.programs.beside import PREPARES
from hpclaunch.convert.programs.layers import MPI, PER_GPU, STARTERS, layers
from hpclaunch.convert.programs.names import OTHER_SUBMITTERS, STEPS
from hpclaunch.convert.programs.slurm_variables import NAMES
from hpclaunch.convert.reading import Assigned, Command, Directive, Output, ShellReading, Source, Sourced
from hpclaunch.convert.shell import folder, walk
from hpclaunch.convert.shell.folder import FOLDERS
from hpclaunch.convert.shell.names import STANDS, with_names
from hpclaunch.convert.shell.written_files import STDIN
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import IfSet, Names, Part, Unknown, Value, join, known, program_of, shown
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

_Timed = TypeVar("_Timed", Assigned, Sourced)
_STANDS = re.compile(rf"\$\{{{STANDS}\d+\}}")
_VALUE = re.compile(r"\$\{\w+\}")
_OF_SUBMITTER = (
    "it is of the job that submits this one: sbatch reads the lines of the script that it is given, and "
    "no others"
)
_OTHERS = (
    "the same line submits it too, with other values, and this file is that of its last call",
    "make a job file for it too: convert again without the later calls, or give what differs with --set",
)


def unwrapped(reading: ShellReading, parts: walk.Parts = ()) -> ShellReading:
    """The reading of the script that an sbatch command is given, behind that command. What stood around it
    ran where it was submitted. The reading itself where no sbatch has a script in it. `parts` are variables
    that Slurm gives one of several jobs."""
    writers = _Writers(reading)
    for command in reversed(reading.of("sbatch")):
        given, place, wrapped = _given(writers, command)
        if given:
            if _is_of_a_run(reading):
                return reading
            found = _read(reading, command, given, place, parts, whole=not wrapped)
            return found if found is not None else reading
    if reading.directives or any(True for _ in reading.of("sbatch")):
        return reading
    for command in reversed(reading.of(*OTHER_SUBMITTERS)):
        place = command.place
        if command.script is not None:
            place = structs.replace(place, line=0, last=0)
        given = command.script or command.stdin
        found = _read(reading, command, given, place, parts, whole=True) if given else None
        if found is not None and found.directives:
            return found
    return reading


def _given(writers: "_Writers", command: Command) -> tuple[Value | None, Place, bool]:
    """The script that an sbatch command is given, None for none; where it stands, on line 0 where each of its
    lines is where it stands itself; and whether it is of --wrap."""
    layer, rest = srun.read(command.words)
    wrap = layer.option("wrap")
    if wrap is not None:
        return wrap.value, command.place, True
    if not rest or known(rest[0]) in STDIN:
        return command.stdin, command.place, False
    if command.script is not None:
        return command.script, structs.replace(command.place, line=0, last=0), False
    writer = writers.of(rest[0], command)
    return (None, command.place, False) if writer is None else (writer.stdin, writer.place, False)


def _is_of_a_run(reading: ShellReading) -> bool:
    """Whether the script is a job's with a run of its own, and submits another job beside it."""
    if not any(each.system == "SBATCH" for each in reading.directives):
        return False
    return bool(alone.commands(reading)) or any(map(_starts_ranks, reading.of(*STARTERS)))


def _starts_ranks(command: Command) -> bool:
    its = layers(command.words)
    programs = {layer.program for layer in its}
    return program_of(its[-1].words) not in PREPARES and not (
        programs.isdisjoint((*STEPS, *MPI, *PER_GPU)) or command.within
    )


def say_submitter(reading: ShellReading, draft: Draft) -> None:
    """Say what the lines of a script ask for that submits the one that the job is made of."""
    its = [each for each in reading.directives if each.system == "SBATCH" and each.words]
    if its and (unwrapped(reading) is not reading or alone.only_submits(reading)):
        places = tuple(each.place for each in its)
        what = "; ".join(f"#SBATCH {' '.join(each.words)}" for each in its)
        draft.say("left", places, what, why=_OF_SUBMITTER)


def say_others(reading: ShellReading, draft: Draft) -> None:
    """Say the other scripts that the same line submits, in other calls of its function: a job file is that of
    the last."""
    if reading.directives:
        return
    writers = _Writers(reading)
    found = [(each, given[0]) for each in reading.of("sbatch") if (given := _given(writers, each))[0]]
    if not found:
        return
    taken, text = found[-1]
    own = shown(text or ()).splitlines()
    others = [shown(given or ()) for each, given in found[:-1] if each.place == taken.place]
    for other in dict.fromkeys(each for each in others if each.splitlines() != own):
        lines = [each.strip() for each in other.splitlines() if each not in own]
        draft.say("left", (taken.place,), f"another job: {'; '.join(lines)}", why=_OTHERS[0], todo=_OTHERS[1])


class _Writers:
    """The commands that write files, by the names of these: a script may submit thousands."""

    def __init__(self, reading: ShellReading):
        self._commands = reading.commands

    def of(self, path: Value, before: Command) -> Command | None:
        """The last command before another one that writes a here-document to the file of this name; None
        where another one adds to it."""
        at = self._at.get(id(before), 0)
        for number, outputs in reversed(self._by_name.get(_named(path, before.folder), ())):
            if number >= at:
                continue
            command = self._commands[number]
            if any(each.append for each in outputs):
                return None
            if command.program == "cat" and len(command.words) == 1 and command.stdin is not None:
                return command
        return None

    @cached_property
    def _at(self) -> dict[int, int]:
        return {id(each): number for number, each in enumerate(self._commands)}

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[int, list[Output]]]]:
        found: dict[str, list[tuple[int, list[Output]]]] = {}
        for number, command in enumerate(self._commands):
            by_name: dict[str, list[Output]] = {}
            for each in command.writes:
                by_name.setdefault(_named(each.path, each.folder_of(command)), []).append(each)
            for name, outputs in by_name.items():
                found.setdefault(name, []).append((number, outputs))
        return found


def written_by(reading: ShellReading, path: Value, before: Command) -> Command | None:
    """The last command before another one that writes a here-document to the file of this name."""
    return _Writers(reading).of(path, before)


def _named(path: Value, here: Value) -> str:
    return normpath(shown(folder.path_from(here or folder.SUBMITTED, path) if path else path))


def _index(reading: ShellReading, command: Command) -> int:
    return next((index for index, each in enumerate(reading.commands) if each is command), 0)


def _read(
    reading: ShellReading, command: Command, given: Value, place: Place, more: walk.Parts, *, whole: bool
) -> ShellReading | None:
    """`whole`: the text is a script, with lines of its own. `place` is where it stands, as of `_given`."""
    text, unknown = with_names(tuple(_of_loop(part, command) for part in given))
    text = _with_lines_of_sbatch(text) if whole else text
    parts = (*unknown.items(), *more)
    first = place.line
    if whole:
        own = next((each.text for each in reading.sources if each.name == place.file), "")
        first, text = lines_of_texts.placed(own, place, given, text)
    source = Source(place.file, "\n" * (first - 1) + text)
    handed = dict(_exported(command, text))
    exported = {name: value for name, each in handed.items() if (value := known(each)) is not None}
    # What --export keeps back is empty there, and not what the shell of who submits has; a login has its own.
    kept_back = (name for name, _ in command.environment if name not in handed)
    exported |= {name: "" for name in kept_back if name not in export.OF_LOGIN}
    inner = _with_own_names(_joined(reading, command, source, exported, parts, whole=whole), unknown)
    numbers = {name: str(value) for name, value in sizes(inner).numbers.items()} if inner else {}
    if inner is None or not numbers:
        return inner
    again = _joined(reading, command, source, {**exported, **numbers}, parts, whole=whole)
    return _with_own_names(again, unknown)


def _with_lines_of_sbatch(text: str) -> str:
    """The text with each line that is nothing but a value as one of #SBATCH, where more of these follow it: a
    script that puts a line together writes it there, and sbatch reads on to the first command (sbatch(1))."""
    lines = text.split("\n")
    waiting: list[int] = []
    for number, line in enumerate(lines):
        if _VALUE.fullmatch(line.strip()):
            waiting.append(number)
        elif line.startswith("#SBATCH"):
            for each in waiting:
                lines[each] = f"#SBATCH {lines[each].strip()}"
            waiting.clear()
        elif line.strip()[:1] not in ("", "#"):
            break
    return "\n".join(lines)


def _with_own_names(
    inner: ShellReading | None, unknown: Mapping[str, Unknown | IfSet | Names]
) -> ShellReading | None:
    """The reading with what is not known of its lines as the script around it names that."""
    if inner is None or not unknown:
        return inner

    def own(word: str) -> str:
        for name, part in unknown.items():
            word = word.replace(f"${{{name}}}", shown((part,)))
        return word

    directives = tuple(
        structs.replace(each, words=tuple(map(own, each.words))) if "$" in "".join(each.words) else each
        for each in inner.directives
    )
    statements = tuple(
        structs.replace(each, written=own(each.written)) if STANDS in each.written else each
        for each in inner.of_submitted
    )
    return structs.replace(inner, directives=directives, of_submitted=statements)


def _of_loop(part: Part, command: Command) -> Part:
    """What a loop around sbatch puts into the text is another value in each round: no submitter's shell has
    it for the job."""
    is_of_loop = isinstance(part, Unknown) and part.name in {each.variable for each in command.loops}
    return Unknown("input", f"${{{part.name}}}") if isinstance(part, Unknown) and is_of_loop else part


def _joined(
    reading: ShellReading,
    command: Command,
    source: Source,
    environment: dict[str, str],
    parts: walk.Parts,
    *,
    whole: bool,
) -> ShellReading | None:
    inner = _walked(source, tuple(environment.items()), parts, _words(command))
    if inner is None:
        return None
    place = command.place
    handed = _handed_on(command, source)
    its = (
        structs.replace(each, environment=_with(handed, each), folder=_from(command.folder, each.folder))
        for each in inner.commands
    )
    commands = tuple(each if whole else structs.replace(each, place=place) for each in its)
    own = (each for each in inner.assigned if not each.place.file.startswith("--env "))
    at = _index(reading, command)
    folders = [each for each in reading.commands[:at] if each.program in FOLDERS and command.folder]
    count = len(folders) + 1
    assigned = tuple(_later(each, count) for each in own)
    return structs.replace(
        reading,
        commands=(*folders, structs.replace(command, stdin=None), *commands),
        # What the script around it asks for is the job that submits this one: sbatch reads the lines of the
        # script that it is given (sbatch(1), DESCRIPTION).
        directives=tuple(_as_written(each, parts) for each in inner.directives),
        assigned=(
            *(_later(each, -each.behind[0]) for each in reading.assigned),
            *(assigned if whole else (structs.replace(a, place=place) for a in assigned)),
        ),
        assumed=(*reading.assumed, *inner.assumed) if whole else reading.assumed,
        wanted={**_moved(inner.wanted, None if whole else place), **reading.wanted},
        sourced=(
            *(_later(each, -each.behind[0]) for each in reading.sourced if each.behind[0] <= at),
            *(_later(each, count) for each in inner.sourced),
        ),
        followed=(*reading.followed, place),
        of_submitted=inner.statements if whole else (),
        passed={**(inner.passed if whole else dict.fromkeys(inner.passed, place)), **reading.passed},
        required=reading.required | inner.required,
    )


def _words(command: Command) -> tuple[Value, ...] | None:
    """What stands behind the script's name, None for nothing: the operator may have it submitted with words
    of his own. Other schedulers take them for options."""
    if command.program != "sbatch":
        return None
    rest = srun.read(command.words)[1]
    return tuple(tuple(_of_loop(part, command) for part in word) for word in rest[1:]) or None


def _as_written(directive: Directive, parts: walk.Parts) -> Directive:
    """A line of #SBATCH with what the script that wrote it puts in, where a name stands for that."""
    if not any(STANDS in word for word in directive.words):
        return directive
    names = {f"${{{name}}}": " ".join(shown((part,)).split()) for name, part in parts}
    words = (_STANDS.sub(lambda found: names.get(found[0], found[0]), word) for word in directive.words)
    return structs.replace(directive, words=tuple(words))


def _later(each: _Timed, count: int) -> _Timed:
    """It, behind so many commands more."""
    return structs.replace(each, behind=(each.behind[0] + count, each.behind[1]))


def _from(submitted: Value, folder: Value) -> Value:
    """The folder of a command of a script that was submitted in another one, which Slurm tells it."""
    if not submitted or not folder:
        return submitted or folder
    return join([*submitted, *folder[1:]]) if is_here(folder[0]) else folder


def _handed_on(command: Command, source: Source) -> dict[str, Value]:
    """What the shell that submits exports, and of which it is not known what it is: sbatch hands it on
    (sbatch(1), --export), and the walk through the script has known values alone."""
    exported = ((name, value) for name, value in _exported(command, source.text) if known(value) is None)
    return {name: value for name, value in exported if not _unset(name).search(source.text)}


def _exported(command: Command, script: str) -> Iterator[tuple[str, Value]]:
    """What the job has of what is exported to the command that submits, in front of it and by its --export
    too. No shell that submits is in the job, and has Slurm's variables of it."""
    option = srun.read(command.words)[0].option("export")
    there = {**dict(command.environment), **dict(command.prefix)}
    handed = export.of_submission(None if option is None else option.value or (), there, script)
    for name, value in export.handed_to_job(handed, there).items():
        yield name, tuple(part for part in value if not (isinstance(part, Unknown) and part.name in NAMES))


def _unset(name: str) -> re.Pattern[str]:
    return re.compile(rf"\bunset\b[^\n;&|]*\b{re.escape(name)}\b")


def _with(handed: dict[str, Value], command: Command) -> tuple[tuple[str, Value], ...]:
    own = dict(command.environment)
    return (*((name, value) for name, value in handed.items() if name not in own), *own.items())


@lru_cache(maxsize=4)  # a family that asks whether the script is its own is asked to convert it next
def _walked(
    source: Source,
    environment: tuple[tuple[str, str], ...],
    parts: walk.Parts,
    words: tuple[Value, ...] | None,
) -> ShellReading | None:
    try:
        return walk.read((source,), dict(environment), source.name, parts, words=words)
    except (ScriptError, InputError):
        return None


def _moved(wanted: dict[str, tuple[Place, ...]], place: Place | None) -> dict[str, tuple[Place, ...]]:
    return wanted if place is None else dict.fromkeys(wanted, (place,))
