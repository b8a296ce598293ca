"""The variables and functions of a shell at one moment.

What may or may not have happened is tried on a fork, and the forks are absorbed: a variable on which they
differ is unknown from there on.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from hpclaunch.readback.shell import keyed
from hpclaunch.readback.shell.patterns import matches
from hpclaunch.readback.shell.statements import Statement
from hpclaunch.readback.shell.values import Unknown, Value


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
    """A variable that the script has touched. None: it is unset."""

    value: Value | Array | None
    exported: bool = False


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
    variables and functions that any of them ever had, and of the functions that were exported."""

    __slots__ = ("changes", "exported", "functions", "variables")

    def __init__(self) -> None:
        self.changes = 0
        self.variables: set[str] = set()
        self.functions: set[str] = set()
        self.exported: set[str] = set()


class State:
    """A shell's state. A fork sees its parent's, and changes its own; where it `is_another` shell it has of
    the parent's functions only those that were exported."""

    __slots__ = (
        *("_functions", "_of_all", "_parent", "_variables", "arguments", "is_another", "outside"),
        "unnamed",
    )

    def __init__(self, parent: "State | None" = None):
        self._parent = parent
        self.is_another = False
        self._of_all: _OfAll = parent._of_all if parent else _OfAll()
        self._variables: dict[str, Variable] = {}
        self._functions: dict[str, Statement | None] = {}
        self.outside: Outside = parent.outside if parent else Outside()
        self.arguments: tuple[Value, ...] | None = parent.arguments if parent else None
        self.unnamed: tuple[Value, ...] = parent.unnamed if parent else ()

    @property
    def differs(self) -> bool:
        """Whether anything is other than in the state of which it is a fork."""
        parent = self._parent
        return (
            parent is None
            or bool(self._variables or self._functions)
            or self.outside is not parent.outside
            or self.unnamed is not parent.unnamed
            or self.arguments is not parent.arguments
        )

    def fork(self) -> "State":
        """A state that starts as this one is."""
        return State(self)

    def get(self, name: str) -> Variable | None:
        """The variable, None where the script has not touched it."""
        if name not in self._of_all.variables:
            return None
        state: State | None = self
        while state is not None:
            found = state._variables.get(name)
            if found is not None:
                return found
            state = state._parent
        return None

    @property
    def revision(self) -> int:
        """Another number after each change."""
        return self._of_all.changes

    def unchanged(self, revision: int) -> None:
        """Say that all is again as it was at that revision."""
        self._of_all.changes = revision

    def set(self, name: str, variable: Variable) -> None:
        """Put the variable in the place of the one of that name."""
        self._of_all.changes += 1
        self._of_all.variables.add(name)
        self._variables[name] = variable

    def restore(self, name: str, variable: Variable | None) -> None:
        """Put back what `get` gave before."""
        self._of_all.changes += 1
        if variable is None:
            self._variables.pop(name, None)
        else:
            self._variables[name] = variable

    def forget(self, name: str) -> None:
        """From here on the variable may have any value."""
        before = self.get(name)
        self.set(name, Variable((Unknown("either", name),), bool(before and before.exported)))

    def assign(self, name: str, value: Value | Array | None) -> None:
        """Give the variable a value; exported stays exported, as do those that came from outside."""
        before = self.get(name)
        if before is not None:
            exported = before.exported
        else:
            # Of a shell that may start with anything nobody tells; a name that it does not is the usual one.
            exported = self.outside.closed and self.outside.may_have(name)
        self.set(name, Variable(value, exported and value is not None))

    def function(self, name: str) -> tuple[bool, Statement | None]:
        """Whether there is such a function, and its body: None where that depends on something unknown."""
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

    def define(self, name: str, body: Statement | None) -> None:
        """Define a function."""
        self._of_all.functions.add(name)
        self._functions[name] = body

    def export_function(self, name: str) -> None:
        """Other shells that the script starts have it from here on."""
        self._of_all.exported.add(name)

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

    def exported(self) -> dict[str, Variable]:
        """The exported variables that the script has touched."""
        return {name: variable for name, variable in self._all().items() if variable.exported}

    def absorb(self, forks: Sequence["State"], or_none: bool) -> None:
        """Become what these forks of this state leave, one of which happened; with `or_none` perhaps none."""
        for name in dict.fromkeys(name for fork in forks for name in fork._variables):
            ends = [fork.get(name) for fork in forks]
            if or_none:
                ends.append(self.get(name))
            self.set(name, _either(name, ends))
        for name in dict.fromkeys(name for fork in forks for name in fork._functions):
            bodies = [fork.function(name) for fork in forks]
            if or_none:
                bodies.append(self.function(name))
            same = all(body[1] is bodies[0][1] for body in bodies)
            self._functions[name] = bodies[0][1] if same else None
        states = [*forks, self] if or_none else forks
        if states:
            self.outside = _all_of(state.outside for state in states)
            unnamed = [state.unnamed for state in states]
            self.unnamed = max(unnamed, key=len)
            arguments = {state.arguments for state in states}
            self.arguments = arguments.pop() if len(arguments) == 1 else None


def _either(name: str, ends: Sequence[Variable | None]) -> Variable:
    first = ends[0]
    if first is not None and all(end == first for end in ends):
        return first
    exported = any(end is not None and end.exported for end in ends)
    return Variable((Unknown("either", name),), exported)


def _all_of(outsides: Iterable[Outside]) -> Outside:
    """What may come from outside after one of these."""
    found = list(outsides)
    if any(not outside.closed for outside in found):
        return Outside()
    return Outside(True, tuple(dict.fromkeys(pattern for outside in found for pattern in outside.keep)))
