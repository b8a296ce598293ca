"""What a walk finds of commands, as it goes: each with what surrounds it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from msgspec import structs

from hpclaunch.convert.programs.beside import PLUMBING, PREPARES
from hpclaunch.convert.programs.layers import STARTERS
from hpclaunch.convert.programs.plain import IN_FRONT, behind_env
from hpclaunch.convert.reading import (
    OF_SHELL,
    Assigned,
    Command,
    Source,
    Unclear,
)
from hpclaunch.convert.shell.folder import gone_to
from hpclaunch.convert.shell.names import as_given, python, used, uses_of, with_program
from hpclaunch.convert.shell.values import PER_STEP, Context, Values, length
from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.budget import Budget
from hpclaunch.readback.shell.flow import Flow
from hpclaunch.readback.shell.statements import Arithmetic, Function, Simple, Statement, Test
from hpclaunch.readback.shell.values import IfSet, Names, Unknown, Value, known, program_of
from hpclaunch.values.conversion import Place

# Some six microseconds each: with two seconds at most for the syntax of a megabyte, and one for what is made
# of it, nobody waits for five. A megabyte of settings takes ninety thousand.
_MOST = 100_000
# For what stands behind lines that were too much, and how often there may be such lines.
_TO_GO_ON = 20_000
_MOST_TIMES = 3
_MOST_CONDITIONS = 60


_ENDS_AT_FAILURE = frozenset(("e", "errexit"))
_MAY_FAIL = (Simple, Arithmetic, Test)
_OF_A_LINE = 8  # variables that are assumed
# What is done beside a run, and is never one: what is exported to it is not asked for.
_NEVER_THE_RUN = PLUMBING | PREPARES
_SHOWS = frozenset(("echo", "printf"))


class _Within(AbstractContextManager[None]):
    """A walk with something else around its commands, while it lasts."""

    __slots__ = ("_before", "_context", "_recorder")

    def __init__(self, recorder: "Recorder", context: Context):
        self._recorder, self._context = recorder, context

    def __enter__(self) -> None:
        self._before, self._recorder.context = self._recorder.context, self._context

    def __exit__(self, *_: object) -> None:
        self._recorder.context = self._before


class Recorder(Values):
    """Keeps what was found."""

    def __init__(self, sources: Sequence[Source]):
        super().__init__(sources)
        self.unclear: list[Unclear] = []
        self.subshells: list[Place] = []
        self.followed: dict[Place, str] = {}  # where a script is started that is walked, "" for no source
        self.asked: dict[Place, None] = {}  # where the script's own arguments are asked for
        self._budget = Budget(_MOST)
        self._renewed = 0
        self._ended = False  # by `set -e`
        self._functions: tuple[str, ...] = ()  # that the next command has in its text
        self._current: Simple | None = None
        self.script = ""  # the source that is submitted: nobody sources it
        self.options: set[str] = set()  # of `set` and shopt
        self.excused = 0  # conditions around what is walked: `set -e` does not end the script there
        self.most: int | None = None  # commands, see `walk.read`
        self._counted = self._others = self._shells = 0
        # What the names stand for that texts for other shells have for what is not known.
        self.unnamed: dict[str, Unknown | IfSet | Names] = {}
        self.given = 0  # such names that the script itself has, as it is the text of another one

    @property
    def current_program(self) -> str:
        """The first word of the command that is read, as it is written."""
        words = self._current.words if self._current is not None else ()
        return words[0].written if words else ""

    @property
    def current(self) -> Simple | None:
        """The command that is read."""
        return self._current

    def note(self, text: str) -> None:
        self.unclear.append(Unclear(self.place, outside(text)))

    def failed(self, statement: Statement) -> None:
        if not self.options & _ENDS_AT_FAILURE or self.excused or not isinstance(statement, _MAY_FAIL):
            return
        around = self.context
        assumes = any(each.place == self.place for each in self.assumed[-_OF_A_LINE:])
        apart = around.within or around.pipeline[1] > 1 or around.background or around.function
        if self._ended or assumes or apart or around.conditions or around.loops:
            return
        self._ended = True
        self.note(f"`set -e` ends the script here, since this fails: {statement.written}")

    def perhaps_left(self, status: bool | None) -> bool | None:
        return None

    def excuse(self, way: Callable[[], Flow]) -> Flow:
        """Go a way whose failure is a condition."""
        self.excused += 1
        try:
            return way()
        finally:
            self.excused -= 1

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Look at words once more than the script does: what they change is as before."""
        before = self.state
        self.state = before.fork()
        try:
            yield
        finally:
            self.state = before

    def apart(self, statement: Statement) -> None:
        self._shells += 1
        with self.within(shells=(*self.context.shells, self._shells)):
            super().apart(statement)

    def spend(self, amount: int) -> None:
        """Count work. Raises ScriptError where it is too much."""
        self._budget.spend(amount)

    def goes_on(self) -> bool:
        """Count from the start, after lines that were too much; False where that was done too often."""
        self._renewed += 1
        self._budget.renew(_TO_GO_ON)
        return self._renewed <= _MOST_TIMES

    def within(self, **changes: Any) -> AbstractContextManager[None]:
        """Walk with something else around the commands."""
        return _Within(self, structs.replace(self.context, **changes))

    def unnoticed(self, unnoticed: bool) -> AbstractContextManager[None]:
        """Walk what changes nothing where it fails, or not."""
        return (
            _Within(self, self.context)
            if unnoticed == self.context.unnoticed
            else self.within(unnoticed=unnoticed)
        )

    def on(self, condition: str, way: Callable[[], Flow]) -> Callable[[], Flow]:
        """A way that is gone on a condition."""
        self.spend(8)
        said = outside(as_given(condition, self.unnamed))
        conditions = (*self.context.conditions, f"{self.place}: {said}")

        def gone() -> Flow:
            before = self.context
            self.context = structs.replace(before, conditions=conditions[-_MOST_CONDITIONS:])
            try:
                return way()
            finally:
                self.context = before

        return gone

    def perhaps(self, why: str, ways: Sequence[Callable[[], Flow]], or_none: bool) -> Flow:
        return self.tried([self.on(why, way) for way in ways], or_none)

    def has_enough(self) -> bool:
        """Whether there are more commands than `most`, but for those of the shell, with which they may be
        OF_SHELL times as many, or more variables. Ask it between statements: one may take back what it
        found."""
        if self.most is None:
            return False
        if len(self._last) > self.most:
            return True
        if len(self.commands) <= self.most:
            return False
        if len(self.commands) > OF_SHELL * self.most:
            return True
        for index in range(self._counted, len(self.commands)):
            self._others += program_of(self.commands[index].words) not in PLUMBING
        self._counted = len(self.commands)
        return self._others > self.most

    def note_functions(self, functions: Sequence[Function]) -> None:
        """Note that the command that is recorded next has these in a text of its own: their lines are told as
        those of a variable are."""
        for each in functions:
            name, lines = f"{each.name}()", each.written.count("\n")
            place = self.files.place(each.line, each.line + lines if lines else 0)
            if not any(known.place == place for known in self.assigned if known.name == name):
                self.assigned.append(Assigned(name, (), place))
            self._functions += (name,)

    def record(self, words: Sequence[Value]) -> None:
        """Note a command with these words."""
        self.spend(1 + sum(map(length, words)) // PER_STEP)
        statement = self._current
        written = statement.written if statement else ""
        last = statement.last if statement and statement.line == self.line else 0
        prefix = self._prefix(statement.assignments) if statement and statement.assignments else ()
        context = self.context
        program = program_of(words) if words and known(words[0]) is not None else ""
        may_run = program in STARTERS or program not in _NEVER_THE_RUN
        if self._is_message(program, words):
            self.messages.add(self.place)
        its = tuple([with_program(python(word)) for word in words])
        exported = self.environment() if may_run else ()
        if program in IN_FRONT:
            exported, prefix = behind_env(its, exported, prefix)
        self.commands.append(
            Command(
                self.files.place(self.line, last),
                its,
                outside(as_given(written, self.unnamed)),
                prefix,
                exported,
                None if self.input.text is None else python(self.input.text),
                None if self.input.source is None else python(self.input.source),
                context.writes,
                context.pipeline,
                context.background,
                context.loops,
                context.conditions,
                context.function,
                context.unnoticed,
                context.within,
                (*(used(written) if statement is None else uses_of(statement)), *self._functions),
                python(gone_to(self.state)),
                context.shells,
            )
        )
        self._functions = ()

    def _is_message(self, program: str, words: Sequence[Value]) -> bool:
        """Whether a command shows its words, or cat its here-document, and nothing else has them."""
        around = self.context
        shows = program in _SHOWS or (program == "cat" and len(words) == 1 and self.input.text is not None)
        return shows and not (around.writes or around.within or around.pipeline[1] > 1)
