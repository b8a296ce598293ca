"""What a walk finds of values: what each variable was given, and on which lines."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from hpclaunch.convert.reading import Assigned, Assumed, Command, Loop, Output, Setter, Source, Sourced
from hpclaunch.convert.shell.names import python, spaced
from hpclaunch.convert.shell.places import Files
from hpclaunch.readback.shell.evaluate import Shell
from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.statements import Assignment
from hpclaunch.readback.shell.values import Unknown, Value, shown, variable_alone
from hpclaunch.values.conversion import Place

# Characters of values that count no more: of a text that grows by a word in each of thousands of lines, the
# earlier ones would take gigabytes.
_MOST_KEPT = 16 << 20
# What is made of a command looks at all its text and at its environment several times: of five megabytes it
# takes seconds. Short variables are counted by their number.
PER_STEP = 50
_LONG = 2000
# Whoever starts a script has these, and exports them: so is a new value of one.
_OF_LOGIN = frozenset(("PATH", "HOME", "USER", "LOGNAME", "SHELL"))


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
    shells: tuple[int, ...] = ()


class Values(Shell):
    """Keeps the values that were found. `context` is what surrounds the command that is walked."""

    def __init__(self, sources: Sequence[Source]):
        super().__init__(())
        self.files = Files(sources)
        self.context = Context()
        self.commands: list[Command] = []
        self.sourced: list[Sourced] = []
        self.assigned: list[Assigned] = []
        self.assumed: list[Assumed] = []
        self.wanted: dict[str, dict[Place, None]] = {}
        self.messages: set[Place] = set()  # where a line is shown to who looks on, and nothing is made of it
        # Variables that are exported where the script's own shell begins with them alone, and who reads them.
        self.handed: dict[str, Place] = {}
        self._copies: dict[str, set[Place]] = {}  # where another variable got its value, and no more
        self.passed: dict[str, Place] = {}  # exported by a line before they have a value
        self.taken: dict[str, Place] = {}  # for set by a test, as other lines read them and nobody gave them
        self.required: set[str] = set()
        self.late: set[str] = set()  # of these, which were taken for unset before
        self.setters: list[Setter] = []
        self._last: dict[str, int] = {}
        self._kept = 0
        self._exports: tuple[State | None, int, tuple[tuple[str, Value], ...]] = (None, 0, ())
        # What is exported without the assignments in front of a command, while these count.
        self._outer: tuple[tuple[str, Value], ...] | None = None

    @property
    def place(self) -> Place:
        """Where the walk is."""
        return self.files.place(self.line)

    def want(self, name: str) -> None:
        """Say that a value of this variable is asked for here, and that nobody gave one."""
        self.wanted.setdefault(name, {})[self.place] = None

    def assign(self, assignment: Assignment, keyed: bool = False, exports: bool | None = None) -> None:
        """What the script had from outside was exported there, and is so with its new value too."""
        name = assignment.name
        from_outside = exports is None and self.state.get(name) is None
        super().assign(assignment, keyed, exports)
        self._note_copy(name)
        is_given = name in self.wanted or name in _OF_LOGIN
        after = self.state.get(name) if from_outside and is_given else None
        if after is not None and not isinstance(after.value, Array):
            self.state.set(name, structs.replace(after, exported=after.value is not None))
            if name in self.wanted and name not in self.required:
                self.handed[name] = next(iter(self.wanted[name]), self.place)

    def _note_copy(self, name: str) -> None:
        variable = self.state.get(name)
        value = variable.value if variable is not None else None
        copied = variable_alone(value) if isinstance(value, tuple) else ""
        if self.place in self.wanted.get(copied, ()):
            self._copies.setdefault(copied, set()).add(self.place)

    def is_only_copied(self, name: str) -> bool:
        """Whether nothing but other variables has asked for its value."""
        copies = self._copies.get(name, set())
        return bool(copies) and name not in self.required and copies.issuperset(self.wanted.get(name, ()))

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
            self._budget.spend(len(array) // 2)
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
                (len(self.commands), len(self.sourced)),
            )
        )

    def _forget_before(self, name: str) -> None:
        """Keep no more than the place of the variable's value before this one, where it is long and there
        were many like it."""
        index = self._last.get(name, len(self.assigned))
        if index >= len(self.assigned) or self.assigned[index].name != name:
            return
        before = self.assigned[index]
        self._kept += length(before.value)
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
        if not exports:
            self.passed.pop(name, None)
        elif self.state.get(name) is None:
            self.passed.setdefault(name, self.place)
        self.state.mark(name, exports)
        if exports and not self.context.conditions:
            self.handed.pop(name, None)
        index = self._last.get(name, len(self.assigned))
        if index < len(self.assigned) and self.assigned[index].name == name:
            self.assigned[index] = structs.replace(self.assigned[index], exported=exports)

    def sets_unknown(self, command: str, value: Value) -> None:
        if any(isinstance(part, Unknown) and part.kind in ("output", "input") for part in value[:1]):
            self.setters.append(Setter(self.place, command, shown(python(value))))

    def unset(self, name: str) -> None:
        self.passed.pop(name, None)
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
            long = sum(size for _, value in found if (size := length(value)) > _LONG)
            self._budget.spend(long // PER_STEP)
            self._exports = (self.state, self.state.revision, found)
        return found

    def _prefix(self, assignments: Sequence[Assignment]) -> tuple[tuple[str, Value], ...]:
        found = []
        for each in assignments:
            after = self.state.get(each.name)
            if after is not None and after.value is not None and not isinstance(after.value, Array):
                found.append((each.name, python(after.value)))
        return tuple(found)


def length(value: Value) -> int:
    """Characters of the value that are told."""
    if len(value) == 1 and isinstance(value[0], str):
        return len(value[0])
    return sum([len(part) for part in value if isinstance(part, str)])
