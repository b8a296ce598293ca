"""What a walk finds, as it goes: commands with what surrounds them, and values with their lines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from msgspec import Struct, structs

from hpclaunch.convert.programs.beside import PLUMBING
from hpclaunch.convert.programs.layers import STARTERS
from hpclaunch.convert.reading import (
    Assigned,
    Assumed,
    Command,
    Loop,
    Output,
    Setter,
    Source,
    Sourced,
    Unclear,
)
from hpclaunch.convert.shell.folder import gone_to
from hpclaunch.convert.shell.names import as_given, python, spaced, used, uses_of, with_program
from hpclaunch.convert.shell.places import Files
from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.budget import Budget
from hpclaunch.readback.shell.evaluate import Shell
from hpclaunch.readback.shell.flow import Flow
from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.statements import Arithmetic, Assignment, Function, Simple, Statement, Test
from hpclaunch.readback.shell.values import IfSet, Names, Unknown, Value, known, program_of, shown
from hpclaunch.values.conversion import Place

# Some six microseconds each: with two seconds at most for the syntax of a megabyte, and one for what is made
# of it, nobody waits for five. A megabyte of settings takes ninety thousand.
_MOST = 100_000
# For what stands behind lines that were too much, and how often there may be such lines.
_TO_GO_ON = 20_000
_MOST_TIMES = 3
_MOST_CONDITIONS = 60
# Characters of values that count no more: of a text that grows by a word in each of thousands of lines, the
# earlier ones would take gigabytes.
_MOST_KEPT = 16 << 20
# What is made of a command looks at all its text and at its environment several times: of five megabytes it
# takes seconds. Short variables are counted by their number.
_PER_STEP = 50
_LONG = 2000


_ENDS_AT_FAILURE = frozenset(("e", "errexit"))
_MAY_FAIL = (Simple, Arithmetic, Test)
_OF_A_LINE = 8  # variables that are assumed


class Context(Struct, frozen=True):
    """What surrounds a command: see `Command`."""

    loops: tuple[Loop, ...] = ()
    conditions: tuple[str, ...] = ()
    function: str = ""
    pipeline: tuple[int, int] = (0, 1)
    background: bool = False
    unnoticed: bool = False
    within: str = ""
    writes: tuple[Output, ...] = ()


class _Within(AbstractContextManager[None]):
    """A walk with something else around its commands, while it lasts."""

    __slots__ = ("_before", "_context", "_recorder")

    def __init__(self, recorder: "Recorder", context: Context):
        self._recorder, self._context = recorder, context

    def __enter__(self) -> None:
        self._before, self._recorder.context = self._recorder.context, self._context

    def __exit__(self, *_: object) -> None:
        self._recorder.context = self._before


class Recorder(Shell):
    """Keeps what was found."""

    def __init__(self, sources: Sequence[Source]):
        super().__init__(())
        self.files = Files(sources)
        self.context = Context()
        self.commands: list[Command] = []
        self.assigned: list[Assigned] = []
        self.assumed: list[Assumed] = []
        self.wanted: dict[str, dict[Place, None]] = {}
        self.required: set[str] = set()
        self.sourced: list[Sourced] = []
        self.setters: list[Setter] = []
        self.unclear: list[Unclear] = []
        self.subshells: list[Place] = []
        self.asked: dict[Place, None] = {}  # where the script's own arguments are asked for
        self._budget = Budget(_MOST)
        self._renewed = 0
        self._ended = False  # by `set -e`
        self._functions: tuple[str, ...] = ()  # that the next command has in its text
        self._current: Simple | None = None
        self._last: dict[str, int] = {}
        self.script = ""  # the source that is submitted: nobody sources it
        self.options: set[str] = set()  # of `set` and shopt
        self.excused = 0  # conditions around what is walked: `set -e` does not end the script there
        self.most: int | None = None  # commands, see `walk.read`
        self._counted = self._others = 0
        self._kept = 0
        # What the names stand for that texts for other shells have for what is not known.
        self.unnamed: dict[str, Unknown | IfSet | Names] = {}
        self._exports: tuple[State | None, int, tuple[tuple[str, Value], ...]] = (None, 0, ())
        # What is exported without the assignments in front of a command, while these count.
        self._outer: tuple[tuple[str, Value], ...] | None = None

    @property
    def place(self) -> Place:
        """Where the walk is."""
        return self.files.place(self.line)

    @property
    def current_program(self) -> str:
        """The first word of the command that is read, as it is written."""
        words = self._current.words if self._current is not None else ()
        return words[0].written if words else ""

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

    def spend(self, amount: int) -> None:
        """Count work. Raises ScriptError where it is too much."""
        self._budget.spend(amount)

    def goes_on(self) -> bool:
        """Count from the start, after lines that were too much; False where that was done too often."""
        self._renewed += 1
        self._budget.renew(_TO_GO_ON)
        return self._renewed <= _MOST_TIMES

    def want(self, name: str) -> None:
        """Say that a value of this variable is asked for here, and that nobody gave one."""
        self.wanted.setdefault(name, {})[self.place] = None

    def assign(self, assignment: Assignment, keyed: bool = False, exports: bool | None = None) -> None:
        """What the script had from outside was exported there, and is so with its new value too."""
        name = assignment.name
        from_outside = exports is None and self.state.get(name) is None
        super().assign(assignment, keyed, exports)
        after = self.state.get(name) if from_outside and name in self.wanted else None
        if after is not None and not isinstance(after.value, Array):
            self.state.set(name, structs.replace(after, exported=after.value is not None))

    def require(self, names: Sequence[str], since: int) -> None:
        """Say that the script goes on only with these: they are not taken for unset, as was assumed."""
        self.assumed[since:] = [each for each in self.assumed[since:] if each.name not in names]
        for name in names:
            self.want(name)
            self.required.add(name)

    def assume(self, name: str, default: Value) -> None:
        """Say that a variable that nobody gave is taken for unset here."""
        if name in self.wanted and name not in self.required:
            del self.wanted[name]
        found = Assumed(name, self.place, python(default))
        if found not in self.assumed[-20:]:
            self.assumed.append(found)

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
        """Whether there are more commands than `most`, but for those of the shell. Ask it between statements:
        one may take back what it found."""
        if self.most is None or len(self.commands) <= self.most:
            return False
        for index in range(self._counted, len(self.commands)):
            self._others += program_of(self.commands[index].words) not in PLUMBING
        self._counted = len(self.commands)
        return self._others > self.most

    def note_assigned(self, name: str, uses: tuple[str, ...], default: bool) -> None:
        """Note the value that the variable has now, or the one that it stands for."""
        name = self.state.target(name)
        after = self.state.get(name)
        if after is None or after.value is None:
            return
        array = None
        value: Value = ()
        if isinstance(after.value, Array):
            ordered = after.value.in_order()
            values = after.value.items.values() if ordered is None else [each for _, each in ordered]
            array = tuple(map(python, values))
            value = spaced(array)
            self.spend(len(array) // 2)
        else:
            value = python(after.value)
        self._forget_before(name)
        self._last[name] = len(self.assigned)
        context = self.context
        self.assigned.append(
            Assigned(
                name,
                value,
                self.place,
                after.exported,
                default,
                array,
                uses,
                context.conditions,
                context.loops,
            )
        )

    def _forget_before(self, name: str) -> None:
        """Keep no more than the place of the variable's value before this one, where it is long and there
        were many like it."""
        index = self._last.get(name, len(self.assigned))
        if index >= len(self.assigned) or self.assigned[index].name != name:
            return
        before = self.assigned[index]
        self._kept += _length(before.value)
        if self._kept > _MOST_KEPT:
            value: Value = (Unknown("either", name),)
            self.assigned[index] = structs.replace(before, value=value, array=None)

    def note_changed(self, names: Iterable[str]) -> None:
        """Note that a round of a loop makes something else of these, such as by ((i++))."""
        for name in names:
            after = self.state.get(name)
            value: Value = (Unknown("either", name),)
            if after is None or after.value != value:
                continue
            context = self.context
            place = context.loops[-1].place if context.loops else self.place
            self.assigned.append(
                Assigned(name, value, place, after.exported, False, None, (name,), loops=context.loops)
            )

    def declared(self, name: str, exports: bool) -> None:
        self.state.mark(name, exports)
        index = self._last.get(name, len(self.assigned))
        if index < len(self.assigned) and self.assigned[index].name == name:
            self.assigned[index] = structs.replace(self.assigned[index], exported=exports)

    def sets_unknown(self, command: str, value: Value) -> None:
        if any(isinstance(part, Unknown) and part.kind in ("output", "input") for part in value[:1]):
            self.setters.append(Setter(self.place, command, shown(python(value))))

    def unset(self, name: str) -> None:
        self.state.mark(name, exported=False)

    def environment(self) -> tuple[tuple[str, Value], ...]:
        """The exported variables, as things stand; the same object as long as nothing changes."""
        if self._outer is not None:
            return self._outer
        state, revision, found = self._exports
        if state is not self.state or revision != self.state.revision:
            exported = self.state.exported()
            self._budget.spend(len(exported) // 5)
            found = tuple(
                (name, python(variable.value))
                for name, variable in exported.items()
                if variable.value is not None and not isinstance(variable.value, Array)
            )
            long = sum(length for _, value in found if (length := _length(value)) > _LONG)
            self._budget.spend(long // _PER_STEP)
            self._exports = (self.state, self.state.revision, found)
        return found

    def _prefix(self, assignments: Sequence[Assignment]) -> tuple[tuple[str, Value], ...]:
        found = []
        for each in assignments:
            after = self.state.get(each.name)
            if after is not None and after.value is not None and not isinstance(after.value, Array):
                found.append((each.name, python(after.value)))
        return tuple(found)

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
        self.spend(1 + sum(map(_length, words)) // _PER_STEP)
        statement = self._current
        written = statement.written if statement else ""
        last = statement.last if statement and statement.line == self.line else 0
        prefix = self._prefix(statement.assignments) if statement and statement.assignments else ()
        context = self.context
        program = (known(words[0]) or "").rpartition("/")[2] if words else ""
        starts = program in STARTERS or not program
        self.commands.append(
            Command(
                self.files.place(self.line, last),
                tuple([with_program(python(word)) for word in words]),
                outside(as_given(written, self.unnamed)),
                prefix,
                self.environment() if starts else (),
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
            )
        )
        self._functions = ()


def _length(value: Value) -> int:
    if len(value) == 1 and isinstance(value[0], str):
        return len(value[0])
    return sum([len(part) for part in value if isinstance(part, str)])
