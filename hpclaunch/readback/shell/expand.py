"""Written words -> what a command is given: parameters, substitutions, splitting and quotes, in bash's
order."""

import re
from collections.abc import Callable, Iterator, Sequence

from hpclaunch.readback.shell import arithmetic, braces, indirect, parameters, patterns, pieces
from hpclaunch.readback.shell.assign import assign
from hpclaunch.readback.shell.budget import Budget
from hpclaunch.readback.shell.errors import Unreadable
from hpclaunch.readback.shell.fields import Fields
from hpclaunch.readback.shell.lookup import OF_ALL, Lookup
from hpclaunch.readback.shell.pieces import NOTHING, Parameter, Piece, Word
from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.statements import Assignment
from hpclaunch.readback.shell.told import is_one_text, is_one_word, is_star, plain
from hpclaunch.readback.shell.values import IfSet, Part, Unknown, Value, join, known, limit, shown, weight

_LONG = 2000  # of a longer text it is counted what it costs
_NAMES = re.compile(r"(?<![\w#])[A-Za-z_]\w*", re.ASCII)
_TILDE = re.compile(r"(~[^/:]*)(.*)", re.DOTALL)
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
_TESTS = frozenset((":-", "-", ":=", "=", ":?", "?", ":+", "+"))


class Expander(Lookup):
    """Expands words in a state. `output_of` gives what the command of a $(...) writes."""

    def __init__(self, state: State, output_of: Callable[[pieces.Command], Value], budget: Budget):
        super().__init__(state, budget)
        self._output_of = output_of

    @property
    def follows(self) -> bool:
        """Whether what an expression assigns is done, where it is known."""
        return False

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

    def assigned(self, written: Word) -> Value:
        """The word of an assignment, in which ~ is the home folder behind each `:` too. Raises Unreadable."""
        if ":~" not in written.written:
            return self.value(written)
        found = self._with_home(written.pieces)
        split = [part for at, piece in enumerate(found) for part in _behind_colons(piece, found[at + 1 :])]
        return self._joined(split)

    def joined(self, written: Word) -> Value:
        """A here-document, or the key of an array: the same, but ~ is text. Raises Unreadable."""
        return self._joined(written.pieces)

    def pattern(self, written: Word) -> str | None:
        """A word as a pattern, None where its text is not known. Raises Unreadable."""
        return self._pattern(written.pieces)

    def number(self, expression: Word) -> int | None:
        """An arithmetic expression; what it assigns to has that value, or is forgotten. Raises Unreadable."""
        only = expression.pieces[0] if len(expression.pieces) == 1 else None
        if isinstance(only, pieces.Literal) and len(only.text) < _LONG:
            text: str | None = only.text
        else:
            text = known(self._joined(expression.pieces))
        if text is None:
            for name in arithmetic.changed(expression.written):
                self.state.forget(name)
            return None
        if _DECIMAL.fullmatch(text):
            return int(text)
        names = arithmetic.changed(text)
        if not names:
            return arithmetic.evaluate(text, self._number_of)
        for name in names:
            self.state.check(name)
        found = arithmetic.evaluate(text, self._number_of, self._store) if self.follows else None
        if found is None:
            for name in names:
                self.state.forget(name)
        return found

    def _store(self, name: str, number: int) -> None:
        """Give a variable, or an element of an array, the number that an expression gives it."""
        name, bracket, index = name.partition("[")
        element = pieces.given((index[:-1],), index[:-1]) if bracket else None
        value = pieces.given((str(number),), str(number))
        assign(self.state, self, Assignment(name, element, False, value, None, ""))

    def is_wrong(self, expression: Word) -> bool:
        """Whether bash complains of the expression, since there is no number where one has to be."""
        plain = all(
            isinstance(each, pieces.Literal) or (isinstance(each, Parameter) and each.operator not in _TESTS)
            for each in expression.pieces
        )
        text = known(self._joined(expression.pieces)) if plain else None  # a command is looked at once
        return text is not None and arithmetic.is_wrong(text, self._number_of)

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
                and piece.name not in OF_ALL
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
                value: Value = (self._sum(piece.expression) if number is None else str(number),)
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

    def _sum(self, expression: Word) -> Unknown:
        """An expression whose number is not known."""
        doubted = (name for name in _NAMES.findall(expression.written) if self._is_either(name))
        return Unknown("number", f"$(({expression.written}))", of=tuple(dict.fromkeys(doubted)))

    def _is_either(self, name: str) -> bool:
        variable = self.state.get(name)
        value = variable.value if variable is not None else None
        parts = () if value is None or isinstance(value, Array) else value
        return any(isinstance(part, Unknown) and part.kind == "either" for part in parts)

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

    def _changed(self, expansion: Parameter, values: list[Value]) -> list[Value]:
        operator = expansion.operator
        if operator == ":":
            return self._cut(expansion, values)
        if operator == "@":
            return [indirect.changed(value, expansion) for value in values]
        compiled = self._pattern((expansion.operand or NOTHING).pieces)
        replacement = known(self._joined((expansion.by or NOTHING).pieces))
        # An & there is what was found, or itself: that depends on the release of bash, and on quotes.
        if operator[:1] == "/" and replacement is not None and "&" in replacement:
            replacement = None
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

    def _keys(self, expansion: Parameter) -> list[int] | None:
        """The indexes of an array's elements, by which a part of it is told; as they come for all else. None
        where they are not known."""
        variable = self.state.get(expansion.name) if expansion.all_of else None
        value = variable.value if variable is not None else None
        if not isinstance(value, Array) or value.keyed:
            return list(range(len(self.values(expansion) or ())))
        return [key for key in value.items if isinstance(key, int)] if value.whole else None

    def _cut(self, expansion: Parameter, values: list[Value]) -> list[Value]:
        unknown: list[Value] = [(Unknown("either", expansion.name + expansion.rest),)]
        cuts = expansion.by not in (None, NOTHING)
        start = self.number(expansion.operand or NOTHING)
        count = self.number(expansion.by or NOTHING) if cuts else None
        texts = [known(value) for value in values]
        arguments = expansion.name in ("@", "*")
        of_all = bool(expansion.of_all) and not self._has_text(expansion)
        if arguments and start is not None and start < 0:
            start += len(values) + 1
        told = all(map(is_one_word, values)) if of_all or arguments else None not in texts
        if arguments and start is not None and start > 0 and (not cuts or (count is not None and count >= 0)):
            # How many words stand behind those that are cut off changes nothing.
            told = all(map(is_one_word, values[: start - 1 + (count or 0)]))
            told = told and (start <= len(values) or all(map(is_one_word, values)))
        if start is None or (cuts and count is None) or not told or (arguments and start < 1):
            return unknown
        if arguments:
            if start > len(values):
                return []
            start -= 1  # ${@:1} are all of them: 0 is the script
        if of_all and (keys := self._keys(expansion)) != list(range(len(values))):
            if keys is None or (count is not None and count < 0):
                return unknown
            start += keys[-1] + 1 if start < 0 and keys else 0
            from_there = [value for key, value in zip(keys, values, strict=True) if key >= start]
            return from_there[:count] if start >= 0 else []
        if of_all:
            first, last = parameters.cut([shown(value) for value in values], start, count)
            return values[first:last]
        if not texts:
            return []
        text = texts[0] or ""
        first, last = parameters.cut(text, start, count)
        return [(text[first:last],)]

    def _has_text(self, expansion: Parameter) -> bool:
        """Whether it is of a variable that is no array: ${A[@]:1} are its characters from the second on, as
        of ${A:1}."""
        variable = self.state.get(expansion.name) if expansion.all_of else None
        return variable is not None and variable.value is not None and not isinstance(variable.value, Array)


def _behind_colons(piece: Piece, after: Sequence[Piece]) -> Iterator[Piece]:
    """The piece, with a home folder for each ~ that stands behind a `:` of it."""
    if not isinstance(piece, pieces.Literal) or piece.quoted or ":~" not in piece.text:
        yield piece
        return
    first, *parts = re.split(r"(?<=:)(?=~)", piece.text)
    yield pieces.Literal(first, False)
    for number, part in enumerate(parts):
        tilde, rest = _TILDE.fullmatch(part).groups()  # type: ignore[union-attr]
        if rest or number + 1 < len(parts) or not after:
            yield pieces.Home(tilde)
            yield pieces.Literal(rest, False)
        else:
            yield pieces.Literal(part, False)  # ~$NAME
