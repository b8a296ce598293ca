"""What the variables and the arguments of a shell hold."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from msgspec import structs

from hpclaunch.readback.shell import arithmetic, parameters, pieces, positional
from hpclaunch.readback.shell.budget import Budget
from hpclaunch.readback.shell.fields import BLANKS
from hpclaunch.readback.shell.pieces import Parameter, Word
from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.told import may_be_many, surely_set
from hpclaunch.readback.shell.values import Part, Unknown, Value, known, shown

OF_ALL = frozenset("@*")
_LINES = re.compile(r"\$\(\s*(scontrol show hostnames?\b[^|)]*?)\s*\)")
_NO_NAME = frozenset("@*#0123456789")  # what no variable's name begins with


def _hosts(value: Value) -> str:
    """The command of hosts=( $(scontrol show hostnames) ), which writes a line for each, "" for another
    value."""
    part = value[0] if len(value) == 1 else ""
    several = isinstance(part, Unknown) and part.kind == "output" and part.splits
    found = _LINES.fullmatch(part.name) if isinstance(part, Unknown) and several else None
    return found[1] if found else ""


def _first_line(value: Value) -> Value:
    """The first element of these, where nothing else tells it."""
    hosts = _hosts(value)
    return (Unknown("output", f"$({hosts} | head -n 1)"),) if hosts else value


def _beyond(words: Sequence[Value], number: int) -> Value:
    """The argument of this number, from 1, where words may be many."""
    return (Unknown("output", f"{' '.join(map(shown, words))} (word {number})"),)


def _is_made(value: Value) -> bool:
    """Whether it is made where the script runs, and may be many words. A variable that may be is one in
    general: run $MODEL 8."""
    return any(isinstance(part, Unknown) and part.splits and part.kind == "output" for part in value)


def _as_one(part: Part) -> Part:
    """A variable, taken for one word, as "$1" has it."""
    if isinstance(part, Unknown) and part.kind == "variable":
        return structs.replace(part, splits=False)
    return part


def _as_words(value: Value) -> Value:
    """What "${a[@]}" is where nothing tells the elements: as many words as the array has."""
    part = value[0] if len(value) == 1 else ""
    is_either = isinstance(part, Unknown) and part.kind == "either"
    return (structs.replace(part, splits=True),) if isinstance(part, Unknown) and is_either else value


class Lookup(ABC):
    """Looks parameters up in a state. Whoever expands words says what the index of an element is."""

    def __init__(self, state: State, budget: Budget):
        self.state = state
        self.budget = budget

    @abstractmethod
    def joined(self, written: Word) -> Value:
        """The key of an array. Raises Unreadable."""

    @abstractmethod
    def number(self, expression: Word) -> int | None:
        """An arithmetic expression; what it assigns to has that value, or is forgotten. Raises Unreadable."""

    def values(self, expansion: Parameter) -> list[Value] | None:
        """The values that the parameter has, none where it is unset, and None where that is not known and no
        value either."""
        name, state = expansion.name, self.state
        if name[:1] in _NO_NAME:
            return self._of_arguments(name)
        if not parameters.is_name(name):
            return [(Unknown("either", name),)]
        variable = state.get(name)
        if variable is None:
            name = state.target(name)
            return self.untouched(
                expansion if name == expansion.name else structs.replace(expansion, name=name)
            )
        if variable.value is None:
            return []
        if isinstance(variable.value, Array):
            return self._elements(variable.value, expansion)
        if expansion.index is None:
            return [_as_words(variable.value) if expansion.all_of == "@" else variable.value]
        return self._other(name, expansion.index, variable.value)

    def _of_arguments(self, name: str) -> list[Value]:
        """The values of $@, $*, $# or $1."""
        arguments = self.state.arguments
        if arguments is None or name == "0":
            return [(Unknown("argument", name),)]
        if name == "#":
            if any(map(may_be_many, arguments)):
                return [(Unknown("number", f"{' '.join(map(shown, arguments))} (how many words)"),)]
            return [(str(len(arguments)),)]
        if name in OF_ALL:
            return positional.all_of(arguments)
        index = int(name)
        if index == 0:
            return [(Unknown("argument", name),)]
        handed_on = positional.behind(arguments, index)
        if handed_on is not None:
            return [handed_on]
        if index <= len(arguments) and not any(map(_is_made, arguments[: index - 1])):
            return [tuple(map(_as_one, arguments[index - 1]))]
        return [_beyond(arguments, index)] if any(map(may_be_many, arguments)) else []

    def before(self, name: str) -> Value:
        """What a variable without a value has before NAME+=value."""
        untouched = self.state.get(name) is None and self.state.outside.may_have(name)
        return (Unknown("variable", name),) if untouched else ()

    def default(self, name: str, value: Value) -> None:
        """Give a variable the value of ${NAME:=value}."""
        self.state.assign(name, value)

    def untouched(self, expansion: Parameter) -> list[Value] | None:
        """The values of a variable that the script has not given any."""
        there = self.state.outside.may_have(expansion.name)
        return [(Unknown("variable", expansion.name),)] if there else []

    def _elements(self, array: Array, expansion: Parameter) -> list[Value] | None:
        unknown: Value = (Unknown("either", expansion.name, splits=expansion.all_of == "@"),)
        if expansion.of_all:
            ordered = array.in_order()
            items = [unknown] if ordered is None else [value for _, value in ordered]
            self.budget.spend(len(array.items) // 4)
            return items if array.whole else [*items, unknown]
        key = self._key(expansion.index, array)
        if key is None or not array.whole:
            return [unknown]
        if key in array.items:
            value = array.items[key]
            return [_first_line(value) if key == 0 else value]
        self.budget.spend(len(array.items) // 4)
        return [unknown] if any(may_be_many(value) for value in array.items.values()) else []

    def _other(self, name: str, index: Word, value: Value) -> list[Value]:
        """An element of what is no array, as far as is known: the first is the value."""
        may_be_array = len(value) == 1 and isinstance(value[0], Unknown) and value[0].kind == "either"
        if may_be_array and not arithmetic.changed(index.written):
            return [value]  # its key may be a text, and no number
        number = self.number(index)
        if number == 0 or may_be_array:
            return [value]
        return [(Unknown("either", name),)] if number is None else []

    def _key(self, index: Word | None, array: Array) -> int | str | None:
        """The key of an element as its array has it, None where it is not known."""
        if array.keyed:
            return "0" if index is None else known(self.joined(index))
        number = 0 if index is None else self.number(index)
        if number is not None and number < 0:
            if any(may_be_many(value) for value in array.items.values()):
                return None
            return max((key for key in array.items if isinstance(key, int)), default=-1) + 1 + number
        return number

    def _length(self, expansion: Parameter, values: list[Value] | None) -> Value:
        written = f"${{#{expansion.name}{f'[{expansion.all_of}]' if expansion.all_of else ''}}}"
        unknown: Value = (Unknown("number", written),)
        if values is None:
            return unknown
        if expansion.of_all:
            if all(known(value) is not None for value in values):
                return (str(len(values)),)
            hosts = _hosts(values[0]) if len(values) == 1 else ""
            return (Unknown("output", f"$({hosts} | wc -l)"),) if hosts else unknown
        text = known(values[0]) if values else ""
        return unknown if text is None else (str(len(text)),)

    def is_set(self, values: list[Value] | None, counts_empty: bool) -> bool | None:
        """Whether a parameter with these values is set (and not empty), None where that is not known."""
        return surely_set(values, counts_empty)

    def _number_of(self, name: str) -> str | None:
        name, bracket, index = name.partition("[")
        element = pieces.given((index[:-1],), index[:-1]) if bracket else None
        values = self.values(Parameter(name, True, element))
        if values is None or not values:
            return None if values is None else ""
        return known(values[0])

    def _separators(self) -> str:
        variable = self.state.get("IFS")
        if variable is None or variable.value is None or isinstance(variable.value, Array):
            return BLANKS
        text = known(variable.value)
        return BLANKS if text is None else text
