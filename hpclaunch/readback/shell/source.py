"""A script's text, read token by token, with the here-documents that lines ask for."""

import bisect
import re

from hpclaunch.readback.shell import extents
from hpclaunch.readback.shell.errors import ScriptError, Unreadable
from hpclaunch.readback.shell.pieces import Literal, of_word
from hpclaunch.readback.shell.statements import Document
from hpclaunch.readback.shell.tokens import Token, token_at


class Source:
    """Where a parser stands in a text. `first_line` is the number of the text's first line."""

    def __init__(self, text: str, first_line: int = 1):
        self._text = text
        self._at = 0
        self._first_line = first_line
        self._newlines = [found.start() for found in re.finditer("\n", text)]
        self._next: Token | None = None
        self._documents: list[tuple[str, bool, Document]] = []

    @property
    def line(self) -> int:
        """The line of the next token."""
        return self._line_of(self.peek().start)

    def error(self, message: str) -> ScriptError:
        """An error at the next token."""
        return ScriptError(message, self.line)

    def peek(self) -> Token:
        """The next token; one of kind "end" after the last."""
        if self._next is None:
            try:
                self._next = token_at(self._text, self._at) or Token("end", "", len(self._text))
            except Unreadable as error:
                raise ScriptError(str(error), self._line_of(self._at)) from None
        return self._next

    def take(self) -> Token:
        """The next token, and go on behind it."""
        token = self.peek()
        self._at = token.start + len(token.text)
        self._next = None
        if token.kind == "newline" and self._documents:
            self._read_documents()
        return token

    def take_until(self, start: int, end: int) -> str:
        """The text between, and go on at `end`."""
        self._at = end
        self._next = None
        return self._text[start:end]

    def arithmetic(self) -> str | None:
        """What stands between (( and )), and go on behind it; None where the next two are no such pair."""
        start = self.peek().start
        if not self._text.startswith("((", start):
            return None
        try:
            end = extents.parenthesis(self._text, start)
            inner = extents.parenthesis(self._text, start + 1)
        except Unreadable as error:
            raise ScriptError(str(error), self._line_of(start)) from None
        if inner != end - 1:
            return None
        return self.take_until(start, end)[2:-2]

    def regular_expression(self) -> str:
        """The operand of =~, in which operators are text."""
        start = index = self.peek().start
        nested = 0
        while index < len(self._text):
            char = self._text[index]
            if char == "\\":
                index += 2
            elif char in "'\"$`":
                index = self._behind_quote(index)
            elif char in " \t\n" and not nested:
                break
            else:
                nested += (char == "(") - (char == ")")
                index += 1
        return self.take_until(start, min(index, len(self._text)))

    def promise(self, delimiter: str, strips: bool) -> Document:
        """A here-document that follows the line; `strips`: leading tabs are none of it (<<-)."""
        try:
            pieces = of_word(delimiter)
        except Unreadable as error:
            raise self.error(str(error)) from None
        literal = [piece for piece in pieces if isinstance(piece, Literal)]
        if len(literal) != len(pieces):
            literal, delimiter = [], delimiter.replace('"', "").replace("'", "")
        end = "".join(piece.text for piece in literal) if literal else delimiter
        document = Document(expands=not any(piece.quoted for piece in literal))
        self._documents.append((end, strips, document))
        return document

    def _behind_quote(self, index: int) -> int:
        text = self._text
        try:
            if text[index] == "'":
                return extents.single(text, index)
            if text[index] == '"':
                return extents.double(text, index)
            if text[index] == "`":
                return extents.backquoted(text, index)
            return extents.ansi(text, index) if text.startswith("$'", index) else extents.dollar(text, index)
        except Unreadable as error:
            raise ScriptError(str(error), self._line_of(index)) from None

    def _read_documents(self) -> None:
        for end, strips, document in self._documents:
            lines = []
            while self._at < len(self._text):
                stop = self._text.find("\n", self._at)
                stop = len(self._text) if stop < 0 else stop
                line = self._text[self._at : stop]
                self._at = min(stop + 1, len(self._text))
                line = line.lstrip("\t") if strips else line
                if line == end:
                    break
                lines.append(line + "\n")
            document.text = "".join(lines)
        self._documents = []

    def _line_of(self, index: int) -> int:
        return self._first_line + bisect.bisect_left(self._newlines, index)
