"""Where a reader stands in a text: lines, blanks, comments, here-documents and errors."""

import re
import sys
from bisect import bisect_right
from itertools import accumulate
from typing import NoReturn

from hpclaunch.readback.shell.errors import ScriptError

DEEPEST = 40
_BLANKS = re.compile(r"(?:[ \t]+|\\\n)*")
_GAP = re.compile(r"(?:[ \t\n]+|\\\n|#[^\n]*)*")
_GAP_IN_LINE = re.compile(r"(?:[ \t]+|\\\n|#[^\n]*)*")
_IN_GAP = frozenset(" \t\n\\#")
_REST_OF_LINE = re.compile(r"(?:[^\\\n]|\\.)*\\?", re.DOTALL)
_NONE = -1
_with_newline = (1).__add__


class Scanner:
    """A text and a position in it."""

    def __init__(self, text: str, first_line: int = 1, depth: int = 0):
        self.text = text
        self.at = 0
        self.depth = depth
        self._first = first_line
        # Where the lines behind the first one begin.
        self._starts = [*accumulate(map(_with_newline, map(len, text.split("\n")))), sys.maxsize]
        self._number = 0  # of the line that was asked for last, from 0
        # The newline after which bodies of here-documents stand, and where the text goes on.
        self._document_newline = _NONE
        self._document_end = _NONE

    def line(self, at: int | None = None) -> int:
        """The line of a position."""
        at = self.at if at is None else at
        starts, number = self._starts, self._number
        if number and at < starts[number - 1]:
            number = bisect_right(starts, at, 0, number)
        elif at >= starts[number]:  # most often it is that line, or the next
            number += 1
            if at >= starts[number]:
                number = bisect_right(starts, at, number)
        self._number = number
        return self._first + number

    def begin(self, line: int) -> int:
        """The position at which a line behind the first one begins."""
        return self._starts[line - self._first - 1]

    def begins_line(self, line: int) -> bool:
        """Whether nothing but blanks stands before the position on its line, which is behind the first one,
        and no here-document is still to come."""
        return (
            self._document_newline < 0
            and line > self._first
            and not self.text[self.begin(line) : self.at].strip(" \t")
        )

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise ScriptError for this place."""
        raise ScriptError(message, self.line(at))

    def deeper(self) -> None:
        """Count a level of nesting. Raises ScriptError for too many."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail("commands within commands, too deep")

    def ahead(self, count: int = 1) -> str:
        """The characters at the position, fewer at the end."""
        return self.text[self.at : self.at + count]

    def blanks(self) -> str:
        """Skip blanks; the character after them, "" at the end."""
        text, at = self.text, self.at
        char = text[at : at + 1]
        if char not in " \t\\":
            return char
        if char == " ":  # most often it is one
            char = text[at + 1 : at + 2]
            if char not in " \t\\":
                self.at = at + 1
                return char
        found = _BLANKS.match(text, at)
        assert found
        self.at = at = found.end()
        return text[at : at + 1]

    def gaps(self) -> str:
        """Skip blanks, comments, newlines and the bodies of here-documents; the character after them."""
        text, at = self.text, self.at
        char = text[at : at + 1]
        if char == "\n" and self._document_newline < 0:  # most often it is one
            char = text[at + 1 : at + 2]
            if char not in _IN_GAP:
                self.at = at + 1
                return char
        if char not in _IN_GAP:
            return char
        while True:
            gap = _GAP if self._document_newline < 0 else _GAP_IN_LINE
            found = gap.match(self.text, self.at)
            assert found
            self.at = found.end()
            char = self.text[self.at : self.at + 1]
            if char != "\n" or gap is _GAP:
                return char
            if self.at >= self._document_newline:
                self.at, self._document_newline = self._document_end, _NONE
            else:
                self.at += 1

    def body_text(self, delimiter: str, strips: bool) -> tuple[str, int]:
        """The body of a here-document whose operator was just read, and where it begins. Without its end
        it is all that follows, as in bash."""
        if self._document_newline < 0:
            found = _REST_OF_LINE.match(self.text, self.at)
            assert found
            self._document_newline = found.end()
            self._document_end = found.end() + 1
        start = self._document_end
        tabs = r"\t*" if strips else ""
        ending = re.compile(rf"^{tabs}{re.escape(delimiter)}$", re.MULTILINE).search(self.text, start)
        # After the end of the text there is no line.
        end = ending.start() if ending and start <= len(self.text) else len(self.text)
        self._document_end = min(ending.end() + 1 if ending else end, len(self.text))
        return self.text[start:end], start
