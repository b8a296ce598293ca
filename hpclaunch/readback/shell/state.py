"""The variables and functions of a shell at one moment.

What may or may not have happened is tried on a fork, and the forks are absorbed: a variable on which they
differ is unknown from there on.
"""

from collections.abc import Iterable, Iterator, MutableSet, Sequence

from msgspec import Struct, structs

from hpclaunch.readback.shell import keyed
from hpclaunch.readback.shell.errors import ReadOnly
from hpclaunch.readback.shell.parameters import is_name
from hpclaunch.readback.shell.patterns import matches
from hpclaunch.readback.shell.statements import Function
from hpclaunch.readback.shell.values import Unknown, Value

_MOST_REFERENCES = 8  # NAMEREF_MAX of bash's variables.h


class Array(Struct, frozen=True):
    """An array: values by index in its order, or where it is `keyed` (declare -A) by keys as they came.
    `whole`: it has no others."""

    items: dict[int | str, Value]
    whole: bool = True
    keyed: bool = False

    def in_order(self) -> list[tuple[int | str, Value]] | None:
        """Indexes or keys with their values as bash goes through them, None where that order is not known."""
        return keyed.in_order(self.items) if self.keyed else list(self.items.items())


class Variable(Struct, frozen=True):
    """A variable that the script has touched. None: it is unset. `fixed`: it is read-only, None where nobody
    knows. `refers`: it stands for the variable of that name (declare -n), "" for none yet; where nobody knows
    which one it is a pattern of names."""

    value: Value | Array | None
    exported: bool = False
    fixed: bool | None = False
    refers: str | None = None


class Outside(Struct, frozen=True):
    """Which variables the script may start with: all, or where `closed` those that match a pattern of
    `keep`."""

    closed: bool = False
    keep: tuple[str, ...] = ()

    def may_have(self, name: str) -> bool:
        """Whether a variable of that name may come from outside."""
        return not self.closed or any(matches(pattern, name) for pattern in self.keep)


class _OfAll:
    """What a state and all its forks have together: how often one of them was changed, and the names of all
    variables and functions that any of them ever had, and of the functions that were exported, and of the
    variables that were exported in one way that the script may go, and not in another. `refers`: any
    of them ever had a variable that stands for another."""

    __slots__ = ("changes", "exported", "functions", "marked", "perhaps", "refers", "variables")

    def __init__(self) -> None:
        self.changes = 0
        self.refers = False
        self.variables: set[str] = set()
        self.functions: set[str] = set()
        self.exported: set[str] = set()
        self.marked: set[str] = set()
        self.perhaps: set[str] = set()


class State:
    """A shell's state. A fork sees its parent's, and changes its own; where it `is_another` shell it has of
    the parent's functions only those that were exported."""

    __slots__ = (
        *("_functions", "_marks", "_of_all", "_parent", "_variables", "arguments", "is_another", "outside"),
        "unnamed",
    )

    def __init__(self, parent: "State | None" = None):
        self._parent = parent
        self.is_another = False
        self._of_all: _OfAll = parent._of_all if parent else _OfAll()
        self._variables: dict[str, Variable] = {}
        self._functions: dict[str, Function | None] = {}
        self._marks: dict[str, bool] = {}
        self.outside: Outside = parent.outside if parent else Outside()
        self.arguments: tuple[Value, ...] | None = parent.arguments if parent else None
        self.unnamed: tuple[Value, ...] = parent.unnamed if parent else ()

    @property
    def differs(self) -> bool:
        """Whether anything is other than in the state of which it is a fork."""
        parent = self._parent
        return (
            parent is None
            or bool(self._variables or self._functions or self._marks)
            or self.outside is not parent.outside
            or self.unnamed is not parent.unnamed
            or self.arguments is not parent.arguments
        )

    def fork(self) -> "State":
        """A state that starts as this one is."""
        return State(self)

    def get(self, name: str) -> Variable | None:
        """The variable, or the one that it stands for; None where the script has not touched it."""
        found = self.own(name) if name in self._of_all.variables else None
        if found is None or found.refers is None:
            return found
        target = self.target(name)
        if is_name(target):
            return self.own(target)
        return Variable((Unknown("either", name),) if target else None)

    def own(self, name: str) -> Variable | None:
        """The variable of that name itself, which may stand for another."""
        state: State | None = self
        while state is not None:
            found = state._variables.get(name)
            if found is not None:
                return found
            state = state._parent
        return None

    def target(self, name: str) -> str:
        """The name of the variable that this one stands for: its own for most. Where nobody knows which one
        that is, a pattern of names; "" where there is none yet."""
        if not self._of_all.refers:
            return name
        for _ in range(_MOST_REFERENCES):
            found = self.own(name)
            if found is None or found.refers is None:
                return name
            name = found.refers
        return "*"

    @property
    def revision(self) -> int:
        """Another number after each change."""
        return self._of_all.changes

    def unchanged(self, revision: int) -> None:
        """Say that all is again as it was at that revision."""
        self._of_all.changes = revision

    def set(self, name: str, variable: Variable) -> None:
        """Put the variable in the place of the one of that name, or of the one that this stands for."""
        of_all = self._of_all
        if of_all.refers:
            target = self.target(name)
            if not is_name(target):
                self._set_one_of(name, target, variable)
                return
            name = target
        of_all.changes += 1
        of_all.variables.add(name)
        self._variables[name] = variable

    def place(self, name: str, variable: Variable) -> None:
        """Put the variable in the place of the one of that name itself."""
        of_all = self._of_all
        of_all.changes += 1
        of_all.variables.add(name)
        of_all.refers |= variable.refers is not None
        self._variables[name] = variable

    def _set_one_of(self, name: str, pattern: str, variable: Variable) -> None:
        """Set a variable whose name is not known: all that it may be are unknown from here on. One that
        stands for none yet stands for the one that it is told."""
        if pattern:
            for each, found in self._all().items():
                if found.refers is None and matches(pattern, each):
                    self.forget(each)
        elif variable.value is not None and not isinstance(variable.value, Array):
            self.begin(name, variable.value)

    def restore(self, name: str, variable: Variable | None) -> None:
        """Put back what `get` gave before."""
        self._of_all.changes += 1
        if variable is None:
            self._variables.pop(name, None)
        else:
            self._variables[name] = variable

    def forget(self, name: str) -> None:
        """From here on the variable may have any value, where it is not read-only."""
        before = self.get(name)
        if before is None:
            self.set(name, Variable((Unknown("either", name),)))
        elif not before.fixed:
            self.set(name, Variable((Unknown("either", name),), before.exported, before.fixed))

    def check(self, name: str) -> None:
        """Raises ReadOnly for a variable that is."""
        before = self.get(name)
        if before is not None and before.fixed:
            raise ReadOnly(name)

    def change(self, name: str) -> None:
        """The variable gets a value that is not known. Raises ReadOnly."""
        self.check(name)
        self.forget(name)

    def assign(self, name: str, value: Value | Array | None) -> None:
        """Give the variable a value; exported stays exported, as do those that came from outside. Raises
        ReadOnly."""
        before = self.get(name)
        fixed: bool | None = False
        if before is not None:
            exported = before.exported or self.is_marked(name)
            fixed = before.fixed
            if fixed:
                raise ReadOnly(name)
            if fixed is None:
                value = (Unknown("either", name),)
        else:
            # Of a shell that may start with anything nobody tells; a name that it does not is the usual one.
            exported = self.is_marked(name) or (self.outside.closed and self.outside.may_have(name))
        self.set(name, Variable(value, exported and value is not None, fixed))

    def begin(self, name: str, value: Value) -> None:
        """Give the variable of a loop the value of a round: what stands for another one stands for this from
        then on. Raises ReadOnly."""
        found = self.own(name) if self._of_all.refers else None
        if found is None or found.refers is None:
            self.assign(name, value)
            return
        pattern = "".join(part if isinstance(part, str) else "*" for part in value)
        self.place(name, Variable(None, refers=pattern))

    def tell(self, name: str, value: Value) -> None:
        """Say more of the value that a variable has."""
        before = self.get(name)
        if before is None:
            self.assign(name, value)
        else:
            self.set(name, structs.replace(before, value=value))

    def be_another(self) -> None:
        """Be a shell that this one starts: nothing is read-only there, and no variable stands for another."""
        for name, variable in self._all().items():
            if variable.refers is not None:
                self.place(name, Variable(None))
            elif variable.fixed is not False:
                self.place(name, structs.replace(variable, fixed=False))

    def function(self, name: str) -> tuple[bool, Function | None]:
        """Whether there is such a function, and what it is: None where that depends on something unknown."""
        if name not in self._of_all.functions:
            return False, None
        state: State | None = self
        while state is not None:
            if name in state._functions:
                return True, state._functions[name]
            if state.is_another and name not in self._of_all.exported:
                return False, None
            state = state._parent
        return False, None

    def define(self, name: str, function: Function | None) -> None:
        """Define a function."""
        self._of_all.functions.add(name)
        self._functions[name] = function

    def export_function(self, name: str) -> None:
        """Other shells that the script starts have it from here on."""
        self._of_all.exported.add(name)

    def exported_functions(self) -> dict[str, Function]:
        """Those that other shells have which the script starts."""
        if not self._of_all.exported:
            return {}
        found = {name: self.function(name)[1] for name in sorted(self._of_all.exported)}
        return {name: function for name, function in found.items() if function is not None}

    def mark(self, name: str, exported: bool) -> None:
        """The variable is exported from here on, or no more, whether it has a value or not."""
        if exported:
            self._of_all.marked.add(name)
            self._of_all.perhaps.discard(name)
        if name in self._of_all.marked:
            self._marks[name] = exported

    def is_marked(self, name: str) -> bool:
        """Whether it was said to be exported."""
        state: State | None = self if name in self._of_all.marked else None
        while state is not None:
            if name in state._marks:
                return state._marks[name]
            state = state._parent
        return False

    def names(self) -> Iterator[str]:
        """The variables that the script has touched, in the order of their first appearance."""
        yield from self._all()

    def _all(self) -> dict[str, Variable]:
        """The variables by their names: a fork's own stand for its parent's."""
        chain: list[State] = []
        state: State | None = self
        while state is not None:
            chain.append(state)
            state = state._parent
        found: dict[str, Variable] = {}
        for each in reversed(chain):
            found.update(each._variables)
        return found

    @property
    def perhaps_exported(self) -> MutableSet[str]:
        """The variables that some way to here exported, and another did not."""
        return self._of_all.perhaps

    def exported(self) -> dict[str, Variable]:
        """The exported variables that the script has touched."""
        return {name: variable for name, variable in self._all().items() if variable.exported}

    def absorb(self, forks: Sequence["State"], or_none: bool) -> None:
        """Become what these forks of this state leave, one of which happened; with `or_none` perhaps none."""
        for name in dict.fromkeys(name for fork in forks for name in fork._variables):
            ends = [fork.own(name) for fork in forks]
            if or_none:
                ends.append(self.own(name))
            self.place(name, _either(name, ends))
            if len({end is not None and end.exported for end in ends}) > 1:
                self._of_all.perhaps.add(name)
        for name in dict.fromkeys(name for fork in forks for name in fork._functions):
            found = [fork.function(name) for fork in forks]
            if or_none:
                found.append(self.function(name))
            same = all(each[1] is found[0][1] for each in found)
            self._functions[name] = found[0][1] if same else None
        for name in dict.fromkeys(name for fork in forks for name in fork._marks):
            self._marks[name] = any(fork.is_marked(name) for fork in forks)
        states = [*forks, self] if or_none else forks
        if states:
            self.outside = _all_of(state.outside for state in states)
            unnamed = [state.unnamed for state in states]
            self.unnamed = max(unnamed, key=len)
            arguments = {state.arguments for state in states}
            self.arguments = arguments.pop() if len(arguments) == 1 else _EITHER_ARGUMENTS


_EITHER_ARGUMENTS: tuple[Value, ...] = ((Unknown("either", "@", splits=True),),)


def _either(name: str, ends: Sequence[Variable | None]) -> Variable:
    first = ends[0]
    if first is not None and all(end == first for end in ends):
        return first
    exported = any(end is not None and end.exported for end in ends)
    if any(end is not None and end.refers is not None for end in ends):
        return Variable(None, exported, refers="*")
    fixed = {end is not None and end.fixed for end in ends}
    return Variable((Unknown("either", name),), exported, fixed.pop() if len(fixed) == 1 else None)


def _all_of(outsides: Iterable[Outside]) -> Outside:
    """What may come from outside after one of these."""
    found = list(outsides)
    if any(not outside.closed for outside in found):
        return Outside()
    return Outside(True, tuple(dict.fromkeys(pattern for outside in found for pattern in outside.keep)))
