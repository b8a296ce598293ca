"""Written words -> what a command is given: parameters, substitutions, splitting and quotes, in bash's
order."""

import re
from collections.abc import Callable, Sequence

from hpclaunch.readback.shell import arithmetic, braces, indirect, parameters, patterns, pieces
from hpclaunch.readback.shell.budget import Budget
from hpclaunch.readback.shell.errors import Unreadable
from hpclaunch.readback.shell.fields import BLANKS, Fields
from hpclaunch.readback.shell.pieces import NOTHING, Parameter, Piece, Word
from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.told import is_one_text, is_one_word, is_star, may_be_many, plain, surely_set
from hpclaunch.readback.shell.values import IfSet, Part, Unknown, Value, join, known, limit, shown, weight

_LONG = 2000  # of a longer text it is counted what it costs
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
_TESTS = frozenset((":-", "-", ":=", "=", ":?", "?", ":+", "+"))
_OF_ALL = frozenset("@*")
_NO_NAME = frozenset("@*#0123456789")  # what no variable's name begins with


class Expander:
    """Expands words in a state. `output_of` gives what the command of a $(...) writes."""

    def __init__(self, state: State, output_of: Callable[[pieces.Command], Value], budget: Budget):
        self.state = state
        self._output_of = output_of
        self.budget = budget

    def words(self, written: Sequence[Word]) -> list[Value]:
        """The words of a command. Raises Unreadable."""
        found: list[Value] = []
        for each in written:
            if each.value is None:
                found += self.fields(each)
            else:
                found.append(each.value)
        return found

    def fields(self, written: Word) -> list[Value]:
        """What one written word becomes: none, one or several. Raises Unreadable."""
        if written.value is not None:
            return [written.value]
        text = plain(written)
        if text is not None:
            return [(text,) if text else ()]
        if all(map(is_one_text, written.pieces)):
            self.budget.spend()
            return [self._joined(written.pieces)] if written.pieces else []
        found: list[Value] = []
        for each in braces.expanded(written):
            fields = Fields(self._separators())
            self._add(fields, self._with_home(each))
            words = fields.words()
            self.budget.spend(len(words) + sum(map(weight, words)))
            found += words
        return found

    def value(self, written: Word) -> Value:
        """The word of an assignment or of `case`: one value, whatever is in it. Raises Unreadable."""
        if written.value is not None:
            return written.value
        return self._joined(self._with_home(written.pieces))

    def joined(self, written: Word) -> Value:
        """A here-document, or the key of an array: the same, but ~ is text. Raises Unreadable."""
        return self._joined(written.pieces)

    def pattern(self, written: Word) -> str | None:
        """A word as a pattern, None where its text is not known. Raises Unreadable."""
        return self._pattern(written.pieces)

    def number(self, expression: Word) -> int | None:
        """An arithmetic expression; what it assigns to is forgotten. Raises Unreadable."""
        only = expression.pieces[0] if len(expression.pieces) == 1 else None
        if isinstance(only, pieces.Literal) and len(only.text) < _LONG:
            text: str | None = only.text
        else:
            text = known(self._joined(expression.pieces))
        if text is None:
            return None
        if _DECIMAL.fullmatch(text):
            return int(text)
        for name in arithmetic.changed(text):
            self.state.forget(name)
        return arithmetic.evaluate(text, self._number_of)

    def is_wrong(self, expression: Word) -> bool:
        """Whether bash complains of the expression: a value in it is empty where a number has to be."""
        plain = all(
            isinstance(each, pieces.Literal) or (isinstance(each, Parameter) and each.operator not in _TESTS)
            for each in expression.pieces
        )
        text = known(self._joined(expression.pieces)) if plain else None  # a command is looked at once
        return text is not None and arithmetic.lacks_operand(text, self._number_of)

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

    def _with_home(self, found: Sequence[Piece]) -> Sequence[Piece]:
        """A ~ at the start becomes the home folder."""
        if not found or not isinstance(found[0], pieces.Literal) or found[0].quoted:
            return found
        text = found[0].text
        tilde, slash, rest = text.partition("/")
        if not tilde.startswith("~") or (len(found) > 1 and not slash):
            return found
        return [pieces.Home(tilde), pieces.Literal(slash + rest, False), *found[1:]]

    def _joined(self, found: Sequence[Piece]) -> Value:
        parts: list[Part] = []
        for piece in found:
            if isinstance(piece, pieces.Literal):
                parts.append(piece.text)
            elif (
                isinstance(piece, Parameter)
                and piece.operator not in _TESTS
                and not piece.all_of
                and piece.name not in _OF_ALL
            ):
                parts += self._single(piece)
            elif isinstance(piece, pieces.Given):
                parts += piece.value
            else:
                fields = Fields(None)
                self._add(fields, [piece])
                separator = self._separators()[:1] if is_star(piece) else " "
                for index, word in enumerate(fields.words()):
                    parts += (separator, *word) if index else word
        self.budget.spend(weight(parts))
        return join(parts)

    def _pattern(self, found: Sequence[Piece]) -> str | None:
        parts = []
        for piece in found:
            if isinstance(piece, pieces.Literal) and len(piece.text) < _LONG:
                text: str | None = piece.text
            else:
                text = known(self._joined([piece]))
            if text is None:
                return None
            parts.append(patterns.quoted(text) if getattr(piece, "quoted", True) else text)
        return "".join(parts)

    def _add(self, fields: Fields, found: Sequence[Piece], expanded: bool = False) -> None:
        """Add the pieces; `expanded`: text that is not quoted is split too, as that of ${x:-a b} is."""
        limit(found)
        for piece in found:
            if isinstance(piece, pieces.Literal):
                if expanded and not piece.quoted:
                    fields.add_value((piece.text,), False)
                else:
                    fields.add_text(piece.text, piece.quoted)
            elif isinstance(piece, pieces.Command):
                fields.add_value(self._output_of(piece), piece.quoted)
            elif isinstance(piece, pieces.Arithmetic):
                number = self.number(piece.expression)
                unknown = Unknown("number", f"$(({piece.expression.written}))")
                value: Value = (unknown if number is None else str(number),)
                fields.add_value(value, piece.quoted)
            elif isinstance(piece, pieces.Process):
                if piece.body is not None:
                    self._output_of(pieces.Command(piece.body, True))
                fields.add_value((Unknown("files", piece.written),), True)
            elif isinstance(piece, pieces.Home):
                fields.add_value(self._home(piece.written), True)
            elif isinstance(piece, pieces.Given):
                fields.add_value(piece.value, True)
            elif isinstance(piece, pieces.Beyond):
                raise Unreadable(piece.why)
            else:
                self._parameter(fields, piece)

    def _home(self, written: str) -> Value:
        if written == "~":
            variable = self.state.get("HOME")
            if variable and variable.value is not None and not isinstance(variable.value, Array):
                return variable.value
        return (Unknown("home", written),)

    def _parameter(self, fields: Fields, expansion: Parameter) -> None:
        if expansion.before == "!":
            target = indirect.resolved(self, expansion)
            if isinstance(target, Parameter):
                self._parameter(fields, target)
            else:
                self._put(fields, expansion, target)
            return
        if not expansion.of_all and expansion.operator not in _TESTS:
            fields.add_value(self._single(expansion), expansion.quoted)
            return
        values = self.values(expansion)
        if expansion.before == "#":
            fields.add_value(self._length(expansion, values), expansion.quoted)
            return
        if expansion.operator in _TESTS:
            self._tested(fields, expansion, values)
            return
        found: list[Value] = values or []
        if expansion.operator:
            found = self._changed(expansion, found)
        self._put(fields, expansion, found)

    def _single(self, expansion: Parameter) -> Value:
        """What a parameter becomes that is one value, and whose operator asks for no default."""
        if expansion.before == "!":
            target = indirect.resolved(self, expansion)
            if isinstance(target, Parameter):
                return self._joined([target])
            return target[0] if target else ()
        values = self.values(expansion)
        if expansion.before == "#":
            return self._length(expansion, values)
        if expansion.operator:
            values = self._changed(expansion, values or [])
        return values[0] if values else ()

    def _put(self, fields: Fields, expansion: Parameter, values: list[Value]) -> None:
        quoted = expansion.quoted
        if not expansion.of_all:
            fields.add_value(values[0] if values else (), quoted)
        elif quoted and "*" in (expansion.name, expansion.all_of):
            separator = self._separators()[:1]
            parts = [
                part
                for index, value in enumerate(values)
                for part in ((separator, *value) if index else value)
            ]
            fields.add_value(join(list(parts)), True)
        else:
            fields.add_list(values, quoted)

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
            return self.untouched(expansion)
        if variable.value is None:
            return []
        if isinstance(variable.value, Array):
            return self._elements(variable.value, expansion)
        return [variable.value] if expansion.index is None else self._other(expansion.index, variable.value)

    def _of_arguments(self, name: str) -> list[Value]:
        """The values of $@, $*, $# or $1."""
        arguments = self.state.arguments
        if arguments is None or name == "0":
            return [(Unknown("argument", name),)]
        if name == "#":
            return [(str(len(arguments)),)]
        if name in _OF_ALL:
            return list(arguments)
        index = int(name)
        if index == 0:
            return [(Unknown("argument", name),)]
        return [arguments[index - 1]] if index <= len(arguments) else []

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
        unknown: Value = (Unknown("either", expansion.name),)
        if expansion.of_all:
            ordered = array.in_order()
            items = [unknown] if ordered is None else [value for _, value in ordered]
            self.budget.spend(len(array.items) // 4)
            return items if array.whole else [*items, unknown]
        key = self._key(expansion.index, array)
        if key is None or not array.whole:
            return [unknown]
        if key in array.items:
            return [array.items[key]]
        self.budget.spend(len(array.items) // 4)
        return [unknown] if any(may_be_many(value) for value in array.items.values()) else []

    def _other(self, index: Word, value: Value) -> list[Value] | None:
        """An element of what is no array: the first is the value."""
        number = self.number(index)
        return [value] if number == 0 else None if number is None else []

    def _key(self, index: Word | None, array: Array) -> int | str | None:
        """The key of an element as its array has it, None where it is not known."""
        if array.keyed:
            return "0" if index is None else known(self.joined(index))
        number = 0 if index is None else self.number(index)
        if number is not None and number < 0:
            return max((key for key in array.items if isinstance(key, int)), default=-1) + 1 + number
        return number

    def _length(self, expansion: Parameter, values: list[Value] | None) -> Value:
        unknown: Value = (Unknown("number", f"#{expansion.name}"),)
        if values is None:
            return unknown
        if expansion.of_all:
            return (str(len(values)),) if all(known(value) is not None for value in values) else unknown
        text = known(values[0]) if values else ""
        return unknown if text is None else (str(len(text)),)

    def _tested(self, fields: Fields, expansion: Parameter, values: list[Value] | None) -> None:
        operator, quoted = expansion.operator, expansion.quoted
        is_set = self.is_set(values, counts_empty=":" not in operator)
        written = (expansion.operand or NOTHING).pieces
        operand = written if quoted else self._with_home(written)
        if operator.endswith("+"):
            if quoted and values:
                fields.add_value((), True)  # a list that is not empty is a word, also an empty one
            if is_set:
                self._add(fields, operand, expanded=True)
            elif is_set is None and not expansion.of_all:
                fields.add_value((IfSet(expansion.name, self._joined(operand)),), quoted)
            return
        if is_set or (operator.endswith("?") and values):
            self._put(fields, expansion, values or [])
        elif is_set is None and values and known(self._joined(operand)) == "":
            self._put(fields, expansion, values)
        elif is_set is None:
            fields.add_value((Unknown("either", expansion.name + expansion.rest),), quoted)
        elif not operator.endswith("?"):
            if operator.endswith("=") and parameters.is_name(expansion.name):
                self.default(expansion.name, self._joined(operand))
            self._add(fields, operand, expanded=True)

    def is_set(self, values: list[Value] | None, counts_empty: bool) -> bool | None:
        """Whether a parameter with these values is set (and not empty), None where that is not known."""
        return surely_set(values, counts_empty)

    def _changed(self, expansion: Parameter, values: list[Value]) -> list[Value]:
        operator = expansion.operator
        if operator == ":":
            return self._cut(expansion, values)
        if operator == "@":
            return [indirect.changed(value, expansion) for value in values]
        compiled = self._pattern((expansion.operand or NOTHING).pieces)
        replacement = known(self._joined((expansion.by or NOTHING).pieces))
        found: list[Value] = []
        for value in values:
            text = known(value)
            self.budget.change(len(text or ""))
            if text is not None and compiled is not None and replacement is not None:
                found.append((parameters.transformed(operator, text, compiled, replacement),))
            elif (operator, compiled) == ("/#", "") and replacement is not None:
                found.append(join([replacement, *value]))
            else:
                found.append((Unknown("either", expansion.name + expansion.rest),))
        return found

    def _cut(self, expansion: Parameter, values: list[Value]) -> list[Value]:
        unknown: list[Value] = [(Unknown("either", expansion.name + expansion.rest),)]
        cuts = expansion.by not in (None, NOTHING)
        start = self.number(expansion.operand or NOTHING)
        count = self.number(expansion.by or NOTHING) if cuts else None
        texts = [known(value) for value in values]
        arguments = expansion.name in ("@", "*")
        if arguments and start is not None and start < 0:
            start += len(values) + 1
        told = all(map(is_one_word, values)) if expansion.of_all or arguments else None not in texts
        if start is None or (cuts and count is None) or not told or (arguments and start < 1):
            return unknown
        if arguments:
            if start > len(values):
                return []
            start -= 1  # ${@:1} are all of them: 0 is the script
        if expansion.of_all:
            first, last = parameters.cut([shown(value) for value in values], start, count)
            return values[first:last]
        if not texts:
            return []
        text = texts[0] or ""
        first, last = parameters.cut(text, start, count)
        return [(text[first:last],)]
