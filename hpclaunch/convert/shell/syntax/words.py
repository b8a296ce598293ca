"""Words, and the expansions in them."""

import re

from hpclaunch.convert.shell.syntax import plain
from hpclaunch.convert.shell.syntax.forms import file_of, is_list
from hpclaunch.convert.shell.syntax.scanner import DEEPEST, Scanner
from hpclaunch.readback.shell import escapes
from hpclaunch.readback.shell.pieces import (
    NOTHING,
    Arithmetic,
    Command,
    Literal,
    Parameter,
    Piece,
    Process,
    Word,
)
from hpclaunch.readback.shell.statements import Group

_PLAIN = re.compile(r"[^ \t\n;&|<>()$`\"'\\]+")
_ENDS_WORD = frozenset(" \t\n;&|<>()")
_IN_DOUBLE = re.compile(r"[^\"$`\\]+")
_IN_DOCUMENT = re.compile(r"[^$`\\]+")
# A name goes on behind a line's end that is taken away.
_SHORT = re.compile(r"\$(?:([A-Za-z_]\w*(?:(?:\\\n)+\w+)*|[0-9@*#?$!-])|\{([A-Za-z_]\w*)\})", re.ASCII)
# `parameter` would read these too, but a megabyte of new defaults takes 0.6 s with the first, and 0.9 s
# without it. The second finds what was read before, wherever it stands.
_WITH_TEXT = re.compile(r"\$\{([A-Za-z_]\w*)(:?[-=+?])([^$`\"'\\{}]*)\}", re.ASCII)
_BRACED = re.compile(r"\$\{[^$`\"'\\{}]*\}")
_SINGLE_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ESCAPED = re.compile(r"\\([$`\\])")
_ESCAPED_IN_QUOTES = re.compile(r"\\([$`\\\"])")
_TABS = re.compile(r"^\t+", re.MULTILINE)
_NEAR = 200
_EXTENDED = frozenset("?*+@!")


class Words(Scanner):
    """Reads words. `substitution` is what stands within $( and ), and moves behind that."""

    def __init__(self, text: str, first_line: int = 1, depth: int = 0):
        super().__init__(text, first_line, depth)
        self.known: dict[str, Word] = {}  # words without a command in them, by what is written
        self.commands: dict[str, tuple[Word, ...]] = {}  # and commands of them
        self.parameters: dict[tuple[str, bool], Parameter] = {}  # ${...}, quoted or not
        self._in_vain = 0
        self.is_document = False

    def substitution(self) -> Group:
        """The statements up to the parenthesis that closes them."""
        raise NotImplementedError

    def arithmetic(self) -> Word | None:
        """What stands between (( and )), None where it is none: a subshell in a subshell."""
        raise NotImplementedError

    def expression(self, closing: str, also: str = "") -> Word:
        """An expression, or the key of an array, up to the character that closes it, or another."""
        raise NotImplementedError

    def parameter(self, quoted: bool) -> Parameter:
        """The ${...} here."""
        raise NotImplementedError

    def within(self, text: str, first_line: int) -> "Words":
        """A reader of a text that is written inside this one in another way."""
        return type(self)(text, first_line, self.depth)

    def word(self) -> Word:
        """The word here, which there must be."""
        return plain.word(self) or self.new_word()

    def new_word(self) -> Word:
        """The word here, which there must be, piece by piece."""
        start = self.at
        if self.text[start : start + 1] == "#" and self.text[start - 1 : start] != "=":
            self.fail("a comment begins where a word should stand")
        pieces = self._pieces()
        if self.at == start:
            self.fail(f"`{self.ahead() or 'the end'}` stands where a word should")
        return Word(pieces, self.text[start : self.at])

    def _pieces(self) -> tuple[Piece, ...]:
        text = self.text
        pieces: list[Piece] = []
        while True:
            char = text[self.at : self.at + 1]
            if char in "<>" and char and text[self.at + 1 : self.at + 2] == "(":
                start = self.at
                self.at += 2
                body = self.substitution()
                pieces.append(Process(text[start : self.at], body))
            elif not char or char in _ENDS_WORD:
                return tuple(pieces)
            elif not self.quote_or_expansion(pieces, char):
                found = _PLAIN.match(text, self.at)
                assert found
                self.at = found.end()
                plain = found[0]
                if text[self.at : self.at + 1] == "(" and plain[-1] in _EXTENDED:
                    plain += self._parentheses()
                pieces.append(Literal(plain, False))

    def _parentheses(self) -> str:
        """The pattern of extglob within parentheses."""
        start, depth = self.at, 0
        while True:
            found = re.compile(r"[()\\'\"]").search(self.text, self.at)
            if not found:
                self.fail("a ( that nothing closes", start)
            self.at = found.end()
            if found[0] == "\\":
                self.at += 1
            elif found[0] in "'\"":
                self.at = self.text.find(found[0], self.at) + 1 or len(self.text)
            else:
                depth += 1 if found[0] == "(" else -1
                if not depth:
                    return self.text[start : self.at]

    def quote_or_expansion(self, pieces: list[Piece], char: str) -> bool:
        """Read what begins with this character of an unquoted word, False where it is only text."""
        if char == "\\":
            following = self.text[self.at + 1 : self.at + 2]
            if following != "\n":
                pieces.append(Literal(following or "\\", True))
            self.at += 2 if following else 1
        elif char == "'":
            pieces.append(Literal(self._single(), True))
        elif char == '"':
            self._double(pieces)
        elif char == "$":
            self._dollar(pieces, False)
        elif char == "`":
            self._backticks(pieces, False)
        else:
            return False
        return True

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.fail("a ' that nothing closes")
        text = self.text[self.at + 1 : end]
        self.at = end + 1
        return text

    def _double(self, pieces: list[Piece]) -> None:
        start = self.at
        self.at += 1
        found: list[Piece] = []
        self.quoted(found, _IN_DOUBLE, '"', '$`"\\', start)
        first = found[0] if found else None
        of_all = len(found) == 1 and isinstance(first, Parameter) and is_list(first)
        if not of_all and not (len(found) == 1 and isinstance(first, Literal)):
            pieces.append(Literal("", True))
        pieces += found

    def quoted(
        self, pieces: list[Piece], plain: re.Pattern[str], closing: str, escapable: str, start: int
    ) -> None:
        """What is quoted, up to a closing character, and behind that; "" is the end of the text."""
        text = self.text
        while True:
            found = plain.match(text, self.at)
            if found:
                self.at = found.end()
                pieces.append(Literal(found[0], True))
            char = text[self.at : self.at + 1]
            if char == closing:
                self.at += 1
                return
            if not char:
                self.fail(
                    f"a {closing} that nothing closes" if closing == '"' else "a ${ without its }", start
                )
            if char == "\\":
                following = text[self.at + 1 : self.at + 2]
                if following != "\n":
                    pieces.append(Literal(following if following in escapable else "\\" + following, True))
                self.at += 2 if following else 1
            elif char == "$":
                self._dollar(pieces, True)
            elif char == "`":
                self._backticks(pieces, True)
            elif char == "'":
                self._single_in_braces(pieces)
            elif closing:  # a " in "${x:-"..."}"
                self._double(pieces)
            else:
                self.at += 1

    def _single_in_braces(self, pieces: list[Piece]) -> None:
        """'...' in "${x:-'...'}": text with its quotes, in which bash looks for a variable and not for a }.
        Of a here-document bash looks at quotes when it runs, and one alone is text until then."""
        start = self.at
        end = self.text.find("'", start + 1)
        if end < 0 and not self.is_document:
            self.fail("a ' that nothing closes")
        pieces.append(Literal("'", True))
        self.at += 1
        if end < 0:
            return
        self.within(self.text[start + 1 : end], self.line()).quoted(pieces, _IN_DOUBLE, "", '$`"\\}', 0)
        pieces.append(Literal("'", True))
        self.at = end + 1

    def document(self, body: str, line: int, expands: bool, strips: bool) -> Word:
        """The text of a here-document."""
        if strips:
            body = _TABS.sub("", body)
        if not expands or not re.search(r"[$`\\]", body):
            return Word((Literal(body, True),), "")
        reader = self.within(body, line)
        reader.is_document = True
        pieces: list[Piece] = []
        if body:
            reader.quoted(pieces, _IN_DOCUMENT, "", "$`\\", 0)
        return Word(tuple(pieces), "")

    def _backticks(self, pieces: list[Piece], quoted: bool) -> None:
        found = _BACKTICKS.match(self.text, self.at)
        if not found:
            self.fail("a ` that nothing closes")
        line, inner = self.line(), found[1]
        if not inner or inner.isspace():
            self.at = found.end()
            pieces.append(Command(Group(line, ()), quoted))
            return
        if "\\" in inner:
            inner = (_ESCAPED_IN_QUOTES if quoted else _ESCAPED).sub(r"\1", inner)
        simple = plain.of_text(inner, line, self.known)
        if simple is not None:
            self.at = found.end()
            pieces.append(Command(Group(line, (simple,)), quoted))
            return
        self.deeper()
        reader = self.within(inner + "\n)", line)
        reader.known, reader.commands = self.known, self.commands
        body = reader.substitution()
        if reader.at < len(reader.text):
            self.fail("a ) that nothing opens")
        self.depth -= 1
        self.at = found.end()
        pieces.append(Command(body, quoted, file_of(body)))

    def _dollar(self, pieces: list[Piece], quoted: bool) -> None:
        text = self.text
        short = _SHORT.match(text, self.at)
        if short:
            self.at = short.end()
            if short[1]:
                name = short[1].replace("\\\n", "") if "\\" in short[1] else short[1]
                pieces.append(Parameter(name, quoted, bare=True))
            else:
                pieces.append(Parameter(short[2], quoted, None, "", "", "", NOTHING, NOTHING))
            return
        following = text[self.at + 1 : self.at + 2]
        found = _WITH_TEXT.match(text, self.at) if following == "{" and self.depth < DEEPEST else None
        if found:
            self.at = found.end()
            name, operator, operand = found.groups()
            word = Word((Literal(operand, quoted),) if operand else (), operand)
            rest = operator + operand
            pieces.append(Parameter(name, quoted, None, "", "", operator, word, NOTHING, rest))
        elif following == "{":
            pieces.append(self._in_braces(quoted))
        elif following == "(":
            self._parenthesis(pieces, quoted)
        elif following == "[":
            self.at += 2
            pieces.append(Arithmetic(self.expression("]"), quoted))
            self.at += 1
        elif following == "'" and not quoted:
            ansi = _SINGLE_ANSI.match(text, self.at)
            if not ansi:
                self.fail("a ' that nothing closes")
            self.at = ansi.end()
            pieces.append(Literal(escapes.ansi_c(ansi[1]), True))
        elif following == '"' and not quoted:
            self.at += 1
            self._double(pieces)
        else:
            self.at += 1
            pieces.append(Literal("$", quoted))

    def _in_braces(self, quoted: bool) -> Parameter:
        found = _BRACED.match(self.text, self.at) if self.depth < DEEPEST else None
        if found is None:
            return self.parameter(quoted)
        key = found[0], quoted
        known = self.parameters.get(key)
        if known is not None:
            self.at = found.end()
            return known
        read = self.parameter(quoted)
        if self.at == found.end():
            self.parameters[key] = read
        return read

    def _parenthesis(self, pieces: list[Piece], quoted: bool) -> None:
        start = self.at
        if self.text.startswith("$((", start):
            self.at += 3
            expression = self.arithmetic()
            if expression is not None:
                pieces.append(Arithmetic(expression, quoted))
                return
        self.at = start + 2
        end = self.text.find(")", self.at, self.at + _NEAR)
        is_last = end >= 0 and self.text.find("(", self.at, end) < 0  # no other is within it
        if is_last and self.depth < DEEPEST:
            line = self.line()
            simple = plain.command(self, line)
            if simple is not None and self.ahead() == ")":
                self.at += 1
                pieces.append(Command(Group(line, (simple,)), quoted))
                return
            self.at = start + 2
        body = self.substitution()
        pieces.append(Command(body, quoted, file_of(body)))
