"""Files that a script removes: a job that does not do all that the script did with them must keep them."""

from bisect import bisect_right
from collections import deque
from collections.abc import Container, Iterator, Sequence
from posixpath import normpath

from hpclaunch.convert.programs.beside import PLUMBING, PREPARES, that
from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.commands import BUILTINS
from hpclaunch.readback.shell.values import Value, program_of, shown

_REMOVES = frozenset(("rm", "rmdir", "unlink", "shred"))
_BUILDS = that("builds", "compiles") | {"nvcc"}
_STEPS = that("scripts")
_SCRIPTS = (".sh", ".py")
_MAKES_NOTHING = PLUMBING | PREPARES | that("shell", "enters", "words", "ends") | _STEPS | frozenset(BUILTINS)
_MOST = 500  # commands before it that are looked at
_TODO = "see what the job leaves there, and add it to {} where that may go"


class Removing:
    """What the job has not of all that the script does with its files. `steps` are the ids of commands that
    srun starts."""

    def __init__(self, commands: Sequence[Command], run: Command, steps: Container[int]):
        self._run = {normpath(text) for word in run.words if (text := shown(word))}
        self._at = {id(each): number for number, each in enumerate(commands)}
        end = self._at.get(id(run), 0)
        self._own = [n for n, each in enumerate(commands[:end]) if id(each) not in steps and _may_make(each)]
        self._commands = commands
        self._taken: Command | None = None
        self._left: deque[Command] = deque(maxlen=_MOST)

    def add(self, command: Command | None) -> None:
        """A command that the job has not."""
        if command is not None and command is not self._taken and command.program not in PLUMBING:
            self._left.append(command)

    def take(self, command: Command) -> None:
        """The job has this command in another way."""
        self._taken = command

    def why(self, command: Command, words: Sequence[Value], key: str) -> tuple[str, str]:
        """Why a job has no such step, and what to do; "" where it has one, and for what removes nothing."""
        if program_of(words) not in _REMOVES:
            return "", ""
        targets = [shown(word) for word in words[1:] if not shown(word).startswith("-")]
        behind = bisect_right(self._own, self._at[id(command)])
        if behind < len(self._own):
            line = self._commands[self._own[behind]].place.line
            why = f"line {line} may make anew what it removes, and the job does not do that"
            return why, _TODO.format(key)
        used = next((each for each in self._left if self._uses(each, targets)), None)
        if used is None:
            return "", ""
        why = f"it removes what line {used.place.line} has to do with, and the job does not do that"
        return why, _TODO.format(key)

    def _uses(self, command: Command, targets: Sequence[str]) -> bool:
        """Whether it names what is removed, or builds the program of the run, where that is removed."""
        if command.program in _BUILDS and any(normpath(target) in self._run for target in targets):
            return True
        return any(_is_in(path, target) for path in _paths(command) for target in targets)


def _may_make(command: Command) -> bool:
    """Whether it is a program of which nobody knows what it writes."""
    program = command.program
    if program.endswith(_SCRIPTS):
        return False  # it is a step of the job
    return bool(program) and program not in _MAKES_NOTHING and not (command.within or command.signals)


def _paths(command: Command) -> Iterator[str]:
    yield from (shown(word) for word in command.words[1:])


def _is_in(path: str, folder: str) -> bool:
    """Whether it is the folder or in it, as far as both are told."""
    path, folder = (each.removesuffix("/*").rstrip("/") for each in (path, folder))
    return bool(folder) and (path == folder or path.startswith(f"{folder}/"))
