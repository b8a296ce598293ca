"""Parameter expansions in braces, and arithmetic."""

import re

from hpclaunch.convert.shell.syntax.forms import TESTS
from hpclaunch.convert.shell.syntax.words import Words
from hpclaunch.readback.shell import indirect
from hpclaunch.readback.shell.pieces import NOTHING, Literal, Parameter, Piece, Word

_IN_BRACES = re.compile(r"[^$`\"'\\}]+")
_IN_PATTERN = re.compile(r"[^$`\"'\\}/]+")
_IN_QUOTED_BRACES = re.compile(r"[^$`\"'\\}]+")
_IN_EXPRESSION = re.compile(r"[^;$`\"'\\()\[\]{}:]+")
_BRACED = re.compile(r"\$\{([!#]?)([A-Za-z_]\w*|[0-9]+|[@*#?$!-])", re.ASCII)
_ODD_LENGTH = re.compile(r"\$\{(#)(?=[#?$!:%/^,=+-])")
_OPERATOR = re.compile(r":[-=?+]|[-=?+]|##?|%%?|\^\^?|,,?|//?|:|@")
_LONGEST = 20_000  # of an expression
_MOST_IN_VAIN = 100_000
_PAIRS = {"(": ")", "[": "]", "{": "}"}


class Expansions(Words):
    """Reads ${...} and expressions."""

    def arithmetic(self) -> Word | None:
        """What stands between (( and )), None where it is none: a subshell in a subshell."""
        start = self.at
        expression = self._expression(")")
        if expression is None or not self.text.startswith("))", self.at):
            # What was gone through in vain: a million of parentheses would be gone through again and again.
            self._in_vain += self.at - start
            if self._in_vain > _MOST_IN_VAIN:
                self.fail("too many parentheses that are no pair", start)
            return None
        self.at += 2
        return expression

    def expression(self, closing: str, also: str = "") -> Word:
        """An expression, or the key of an array, up to the character that closes it, or another."""
        start = self.at
        found = self._expression(closing, also)
        if found is None:
            self.fail(f"a part without its {closing}", start)
        return found

    def _expression(self, closing: str, also: str = "") -> Word | None:
        start = self.at
        text = self.text
        pieces: list[Piece] = []
        opened: list[str] = []
        while True:
            found = _IN_EXPRESSION.match(text, self.at)
            if found:
                self.at = found.end()
                pieces.append(Literal(found[0], True))
            char = text[self.at : self.at + 1]
            if not char or self.at - start > _LONGEST:
                return None
            if not opened and (char == closing or char in also):
                return Word(tuple(pieces), text[start : self.at])
            if self.quote_or_expansion(pieces, char):
                continue
            if char in _PAIRS:
                opened.append(_PAIRS[char])
            elif opened and char == opened[-1]:
                opened.pop()
            self.at += 1
            pieces.append(Literal(char, True))

    def parameter(self, quoted: bool) -> Parameter:
        text, start = self.text, self.at
        found = _ODD_LENGTH.match(text, start)
        found = found if found and text[found.end() + 1 : found.end() + 2] != "}" else None
        before = ""
        if found:
            name = "#"
            self.at = found.end()
        else:
            found = _BRACED.match(text, start)
            if not found:
                self.fail("a ${ that no name follows")
            before, name = found.groups()
            self.at = found.end()
        self.deeper()
        index, all_of = self._index()
        behind = self.at
        operator, operand, by = self._operation(quoted, start)
        self.depth -= 1
        rest = text[behind : self.at - 1] if operator else ""
        return Parameter(name, quoted, index, all_of, before, operator, operand, by, rest)

    def _index(self) -> tuple[Word | None, str]:
        if self.ahead() != "[":
            return None, ""
        self.at += 1
        index = self.expression("]")
        self.at += 1
        return (None, index.written) if index.written in ("@", "*") else (index, "")

    def _operation(self, quoted: bool, start: int) -> tuple[str, Word, Word]:
        text = self.text
        if text.startswith("}", self.at):
            self.at += 1
            return "", NOTHING, NOTHING
        if text.startswith(("*}", "@}"), self.at):  # ${!prefix*}
            self.at += 2
            return indirect.NAMES, NOTHING, NOTHING
        found = _OPERATOR.match(text, self.at)
        if not found:
            self.fail("a ${ that is not closed, or with something unknown in it", start)
        operator = found[0]
        self.at = found.end()
        if operator == ":":
            return operator, *self._slice()
        if operator in TESTS and quoted:
            pieces: list[Piece] = []
            behind = self.at
            self.quoted(pieces, _IN_QUOTED_BRACES, "}", '$`"\\}', start)
            return operator, Word(tuple(pieces), text[behind : self.at - 1]), NOTHING
        if operator == "/" and text[self.at : self.at + 1] in ("#", "%"):
            operator += self.ahead()
            self.at += 1
        operand = self._operand(_IN_PATTERN if operator[0] == "/" else _IN_BRACES, start)
        by = NOTHING
        if self.ahead() == "/":
            self.at += 1
            by = self._operand(_IN_BRACES, start)
        self.at += 1
        return operator, operand, by

    def _slice(self) -> tuple[Word, Word]:
        offset = self.expression("}", ":")
        length = NOTHING
        if self.ahead() == ":":
            self.at += 1
            length = self.expression("}")
        self.at += 1
        return offset, length

    def _operand(self, plain: re.Pattern[str], start: int) -> Word:
        """A word within ${...}, up to what ends it."""
        text, behind = self.text, self.at
        pieces: list[Piece] = []
        while True:
            found = plain.match(text, self.at)
            if found:
                self.at = found.end()
                pieces.append(Literal(found[0], False))
            char = text[self.at : self.at + 1]
            if not char:
                self.fail("a ${ without its }", start)
            if not self.quote_or_expansion(pieces, char):
                return Word(tuple(pieces), text[behind : self.at])
