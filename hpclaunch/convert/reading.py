"""What a walk through shell scripts finds: commands with what surrounds them, and where values come from.

A `Value` (readback/shell/values.py) is text with parts that the script does not tell. Nothing here is run.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, wraps
from itertools import islice
from typing import TypeVar

from msgspec import Struct, structs

from hpclaunch.convert.programs.layers import IMAGE_FILES, STARTERS
from hpclaunch.readback.shell.statements import Statement as Part
from hpclaunch.readback.shell.values import Value, known, program_of, shown
from hpclaunch.readback.slurm.options import Given, options
from hpclaunch.values.conversion import Place

# Of a chain of variables that is longer nobody reads the lines.
_MOST_USED = 200
_MOST_LINES = 1000  # of a subshell
# Commands but the shell's own, and variables; with the shell's own so many times as many. None has more.
MOST, OF_SHELL = 10_000, 3
# The function of a command that a trap has; the names of its signals stand behind.
TRAP = "trap"
ENDS = frozenset(("EXIT", "0"))  # trap's names of a shell's end

T = TypeVar("T")


class Source(Struct, frozen=True):
    """An input file. `to_fill_in` are variables that stand for what somebody fills in."""

    name: str
    text: str
    to_fill_in: frozenset[str] = frozenset()


class Loop(Struct, frozen=True):
    """A loop around a command. `count` is how often it runs, None where that is not known; `variable` its
    name, "" for none; `values` those that it goes through, as far as they are known; `over` the words or
    the condition as written. `hosts`: it is known to go through hosts. `first`: the number that it begins
    with, where each round has one more than the one before it and the last is not known. `by_body`: the body
    itself counts it, and how often it runs is known."""

    place: Place
    variable: str
    values: tuple[Value, ...]
    count: int | None
    over: str
    hosts: bool = False
    first: int | None = None
    by_body: bool = False


class Output(Struct, frozen=True):
    """A file that a command's output goes to, by a redirection or by `tee` in its pipeline. `folder` is that
    from which its path is meant, as of `Command`, None where it is the command's own."""

    path: Value
    append: bool
    descriptor: str
    tee: bool = False
    folder: Value | None = None

    def folder_of(self, command: "Command") -> Value:
        """The folder from which its path is meant, as an output of this command."""
        return command.folder if self.folder is None else self.folder


class Command(Struct, frozen=True, dict=True):
    """A command that would be run.

    `written` is its text; `prefix` the assignments in front of it; `environment` what is exported to it
    beside these, told of what may be the run or start it; `stdin` the text of a here-document, a here-string
    or a pipe, `reads` else the file that is its input, or an Unknown for what another command puts out;
    `pipeline` its place in a pipeline and how many commands that has; `conditions` those on which it depends
    that it is run, as text with their lines;
    `unnoticed`: that it fails changes nothing (`|| true`, in a condition, not the last of a pipeline without
    pipefail, in the background). `within` is "output" where it stands in $(...). `uses` are the variables
    that its text names. `folder` is where the script has gone to by then, () where it is still in the folder
    of submission, and `shells` are the subshells around it, each by a number. `script` is the text of the
    file that sbatch is given, where the script wrote it, each of its lines where it stands there.
    """

    place: Place
    words: tuple[Value, ...]
    written: str = ""
    prefix: tuple[tuple[str, Value], ...] = ()
    environment: tuple[tuple[str, Value], ...] = ()
    stdin: Value | None = None
    reads: Value | None = None
    writes: tuple[Output, ...] = ()
    pipeline: tuple[int, int] = (0, 1)
    background: bool = False
    loops: tuple[Loop, ...] = ()
    conditions: tuple[str, ...] = ()
    function: str = ""
    unnoticed: bool = False
    within: str = ""
    uses: tuple[str, ...] = ()
    folder: Value = ()
    shells: tuple[int, ...] = ()
    script: Value | None = None

    @cached_property
    def program(self) -> str:
        """The name of the program without its folder, "" where it is not known."""
        return program_of(self.words)

    @cached_property
    def signals(self) -> tuple[str, ...]:
        """Those of the trap that has the command, without SIG; nothing for a command of no trap."""
        first, *names = self.function.split() or [""]
        return tuple(name.removeprefix("SIG") for name in names) if first == TRAP else ()

    def brief(self, limit: int = 100) -> str:
        """Its text in one line, for people."""
        text = " ".join((self.written or " ".join(map(shown, self.words))).split())
        return text if len(text) <= limit else text[: limit - 3] + "..."


class Assigned(Struct, frozen=True):
    """A value that a variable was given. An array's is its words with spaces, and `array` has them.
    `default`: it counts only since nothing else was given (${X:-v}, : "${X:=v}"). `conditions` and `loops`
    are what it depends on, as of `Command`, and `behind` is as of `Sourced`."""

    name: str
    value: Value
    place: Place
    exported: bool = False
    default: bool = False
    array: tuple[Value, ...] | None = None
    uses: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    loops: tuple[Loop, ...] = ()
    behind: tuple[int, int] = (0, 0)


class Assumed(Struct, frozen=True):
    """${NAME:-default}, or a test of NAME, where nobody gave NAME: it was taken for unset."""

    name: str
    place: Place
    default: Value = ()


class Sourced(Struct, frozen=True):
    """`source NAME ARGUMENTS`. `file` is the input that it was found to be, "" for none: its text was not
    given. `written` is its text, `conditions` are those on which it is sourced, `behind` is how many commands
    and sources the walk had found before it, and `folder`, `shells` and `within` are as of `Command`."""

    place: Place
    name: Value
    file: str
    arguments: tuple[Value, ...] = ()
    written: str = ""
    conditions: tuple[str, ...] = ()
    behind: tuple[int, int] = (0, 0)
    folder: Value = ()
    shells: tuple[int, ...] = ()
    within: str = ""


class Setter(Struct, frozen=True):
    """`command` (eval or export) of what another one writes, as $(cat env.sh): it may set any variable. A
    line that was left out ("") may set those of its `names` alone."""

    place: Place
    command: str
    text: str
    names: tuple[str, ...] = ()


class Started(Struct, frozen=True):
    """A command of another input that starts the script, with the words behind the script's name and the
    variables in front of it. `is_bare`: the script has no other variables of that input's; `kept`: the names
    of those that it has of sbatch, None for all that are exported."""

    place: Place
    written: str
    words: tuple[Value, ...]
    prefix: tuple[tuple[str, Value], ...] = ()
    in_loop: bool = False
    is_bare: bool = False
    kept: frozenset[str] | None = None


class Directive(Struct, frozen=True, dict=True):
    """An #SBATCH line of the script that is submitted (or #PBS, #BSUB, #$: `system` tells)."""

    place: Place
    words: tuple[str, ...]
    system: str = "SBATCH"

    @cached_property
    def options(self) -> list[Given]:
        """Those of sbatch that it has. Each key of the job is looked for in all lines."""
        return options("sbatch", [(word,) for word in self.words])[0]


class Statement(Struct, frozen=True):
    """A statement of an input, for the account of what became of each line. `part` is what the reader of
    shell texts found it to be: of a compound command it has those within it, which are statements too."""

    place: Place
    written: str
    part: Part


class Unclear(Struct, frozen=True):
    """Something that the walk did not understand. `unread`: lines that it left out."""

    place: Place
    text: str
    unread: bool = False


class ShellReading(Struct, frozen=True, dict=True):
    """Everything that the walk found, in its order. `script` is the input that is submitted or run, the
    others are configuration (or sourced by it). `wanted` are variables that are used and that nobody gave.
    `beside` are inputs that are no launcher: lists of mounts and of cores. `arguments` are the script's, by
    the operator, None where nobody said it, `started` what else starts it, and `asks` the lines that ask for
    them. `followed` are lines that start a script whose text was walked. `of_points`: what it starts are
    points of a sweep, whose ranks have what Slurm tells the tasks of an array. `handed` are variables that
    are exported only where the submitter's shell has them, each with the line that reads it before the
    script gives it a value, `passed` those that a line exports before they have one, and `perhaps_exported`
    those on a condition. `of_submitted` are statements of a script in this one that is submitted, `at_end` is
    what the script exports at its end, `required` without what it ends, `taken` what tests take for set."""

    sources: tuple[Source, ...]
    script: str
    directives: tuple[Directive, ...] = ()
    commands: tuple[Command, ...] = ()
    assigned: tuple[Assigned, ...] = ()
    assumed: tuple[Assumed, ...] = ()
    wanted: dict[str, tuple[Place, ...]] = {}
    sourced: tuple[Sourced, ...] = ()
    statements: tuple[Statement, ...] = ()
    unclear: tuple[Unclear, ...] = ()
    beside: tuple[Source, ...] = ()
    subshells: tuple[Place, ...] = ()
    arguments: tuple[str, ...] | None = None
    asks: tuple[Place, ...] = ()
    started: tuple[Started, ...] = ()
    followed: tuple[Place, ...] = ()
    of_points: bool = False
    setters: tuple[Setter, ...] = ()
    handed: dict[str, Place] = {}
    passed: dict[str, Place] = {}
    perhaps_exported: frozenset[str] = frozenset()
    of_submitted: tuple[Statement, ...] = ()
    at_end: tuple[tuple[str, Value], ...] = ()
    required: frozenset[str] = frozenset()
    taken: dict[str, Place] = {}

    @cached_property
    def entered(self) -> frozenset[Place]:
        """The lines that start a script whose text is among the sources."""
        return frozenset((*self.followed, *(each.place for each in self.started)))

    def of(self, *programs: str) -> list[Command]:
        """The commands of these programs, in their order."""
        found = [index for program in programs for index in self._by_program.get(program, ())]
        return [self.commands[index] for index in sorted(found)]

    @cached_property
    def _by_program(self) -> dict[str, list[int]]:
        """The numbers of the commands of each program: each of those who look for one would go through all,
        and a megabyte has tens of thousands."""
        found: dict[str, list[int]] = {}
        for index, each in enumerate(self.commands):
            found.setdefault(program_of(each.words), []).append(index)
        return found

    def count(self, but: Collection[str]) -> int:
        """How many commands there are of other programs than these."""
        return sum(len(numbers) for program, numbers in self._by_program.items() if program not in but)

    @cached_property
    def starting(self) -> tuple[Command, ...]:
        """The commands that may start another program: of all others `layers` are one."""
        images = [program for program in self._by_program if program.endswith(IMAGE_FILES)]
        return tuple(self.of("", *STARTERS, *images))

    @cached_property
    def written(self) -> str:
        """The texts of all commands, each behind a line's end."""
        return "\n".join([each.written for each in self.commands])

    def is_apart(self, place: Place, run: Place) -> bool:
        """Whether what stands there is done in a subshell that ends before the run, or goes on beside it: it
        changes neither the shell that starts the run, nor ends it."""
        inside = self._subshells.get((place.file, place.line), ())
        return any(not (run.file == each.file and each.line <= run.line <= each.last) for each in inside)

    def is_in_subshell(self, place: Place, since: int = 0) -> bool:
        """Whether there is one on that line, around what stands there or beside it, that begins at line
        `since` or after it."""
        return any(each.line >= since for each in self._subshells.get((place.file, place.line), ()))

    def ends_apart(self, place: Place, run: Place, loop: Place) -> bool:
        """Whether an `exit` there ends no more than a subshell of a round of the loop, after the run."""
        inside = self._subshells.get((place.file, place.line), ())
        of_round = any(each.line >= loop.line for each in inside)
        return of_round and (place.line > run.line or self.is_apart(place, run))

    @cached_property
    def _subshells(self) -> dict[tuple[str, int], list[Place]]:
        """Those of each line; of a longer one the first lines."""
        found: dict[tuple[str, int], list[Place]] = {}
        for each in self.subshells:
            last = max(each.line, min(each.last, each.line + _MOST_LINES))
            for line in range(each.line, last + 1):
                found.setdefault((each.file, line), []).append(
                    structs.replace(each, last=max(each.last, each.line))
                )
        return found

    def last(self, name: str) -> Assigned | None:
        """What the variable was given last, None where nobody gave it anything."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Assigned]:
        return {each.name: each for each in self.assigned}

    def at(self, name: str, place: Place) -> Assigned | None:
        """What the variable was given last before a line, of the same file; else what it was given last."""
        found = self.given(name)
        last = found[-1] if found else None
        if last is None or last.place.file != place.file or last.place.line <= place.line:
            return last
        before = (
            each
            for each in islice(reversed(found), _MOST_USED)
            if each.place.file != place.file or each.place.line <= place.line
        )
        return next(before, last)

    def given(self, name: str) -> Sequence[Assigned]:
        """All that the variable was given, in its order."""
        return self._all_by_name.get(name, ())

    @cached_property
    def _all_by_name(self) -> dict[str, list[Assigned]]:
        found: dict[str, list[Assigned]] = {}
        for each in self.assigned:
            found.setdefault(each.name, []).append(each)
        return found

    def origin(
        self, command: Command, text: str = "", names: Sequence[str] | None = None
    ) -> tuple[Place, ...]:
        """The lines from which a command has this text: its own, and those of the variables that it uses,
        also by way of others, whose value is a part of the text. With "" those of all of them. `names` are
        the variables that its words with this text name, None where that is not told."""
        found = {command.place: None}
        for name, each in self._used(command.uses if names is None else names, command.place).items():
            value = known(each.value)
            if not text or (value and _stands_in(value, text)) or name in text:
                found[each.place] = None
        return tuple(found)

    def used_by(self, command: Command) -> Collection[str]:
        """The variables that the command names, also by way of others."""
        return self._used(command.uses, command.place)

    def _used(self, names: Sequence[str], place: Place) -> dict[str, Assigned]:
        found: dict[str, Assigned] = {}
        waiting = list(names)
        while waiting and len(found) < _MOST_USED:
            name = waiting.pop()
            each = self.at(name, place)
            if each is not None and name not in found:
                found[name] = each
                waiting += each.uses
        return found


def once(make: Callable[[ShellReading], T]) -> Callable[[ShellReading], T]:
    """A function of a reading whose value is made once for each, as a cached property is."""
    name = f"{make.__module__}.{make.__qualname__}"

    @wraps(make)
    def value(reading: ShellReading) -> T:
        made: dict[str, T] = reading.__dict__
        if name not in made:
            made[name] = make(reading)
        return made[name]

    return value


def _stands_in(value: str, text: str) -> bool:
    """Whether a text has the value in it; a short one, such as a number, as a word of its own."""
    if len(value) > 2:
        return value in text
    return re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", text) is not None
