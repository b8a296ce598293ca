"""[[ ... ]], with the operators between its words."""

import re

from hpclaunch.convert.shell.syntax.commands import Commands
from hpclaunch.readback.shell.pieces import Literal, Word
from hpclaunch.readback.shell.statements import Statement, Test

_OPERATOR = re.compile(r"==|!=|=~|=|<|>|(?:-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))(?=\s)")
_UNARY = re.compile(r"-[a-zA-Z](?=[ \t\n])")
_BEHIND_CONDITION = re.compile(r"\]\](?=[ \t\n;&|<>()]|$(?![\s\S]))")


class Conditions(Commands):
    """Reads what stands within [[ ]]."""

    def test(self, line: int, start: int) -> Statement:
        """[[ ... ]]: its words, and as text the operators between them."""
        parts: list[str | Word] = []
        text = self.text
        opened = 0
        operand = True  # whether a condition begins here
        while True:
            char = self.gaps()
            if not char:
                self.fail("a [[ without its ]]", start)
            if operand and char in "!(" and (char == "(" or text[self.at + 1 : self.at + 2] in " \t\n("):
                parts.append(char)
                self.at += 1
                opened += char == "("
                continue
            if operand:
                unary = _UNARY.match(text, self.at)
                if unary:
                    self.at = unary.end()
                    if self.gaps() not in "&|)" and not _BEHIND_CONDITION.match(text, self.at):
                        parts.append(unary[0])
                        parts.append(self.word())
                    else:
                        parts.append(Word((Literal(unary[0], False),), unary[0]))
                else:
                    parts.append(self.word())
                    self._comparison(parts)
                operand = False
                continue
            if char == ")" and opened:
                opened -= 1
                parts.append(")")
                self.at += 1
            elif self.ahead(2) in ("&&", "||"):
                parts.append(self.ahead(2))
                self.at += 2
                operand = True
            elif _BEHIND_CONDITION.match(text, self.at) and not opened:
                self.at += 2
                return Test(line, tuple(parts), last=self._last(), written=text[start : self.at])
            else:
                self.fail(f"`{char}` is not expected within [[ ]]")

    def _comparison(self, parts: list[str | Word]) -> None:
        self.blanks()
        operator = _OPERATOR.match(self.text, self.at)
        if not operator:
            return
        self.at = operator.end()
        parts.append(operator[0])
        self.gaps()
        parts.append(self._regex() if operator[0] == "=~" else self.word())

    def _regex(self) -> Word:
        """The word after =~, in which parentheses and | are text."""
        start = self.at
        pieces: list[Word] = []
        depth = 0
        while True:
            char = self.ahead()
            if not char or (char in " \t\n" and not depth) or (char == ")" and not depth):
                break
            if char in "()|<>;& \t\n":
                depth += (char == "(") - (char == ")")
                self.at += 1
                pieces.append(Word((Literal(char, False),), char))
            else:
                pieces.append(self.word())
        found = tuple(piece for word in pieces for piece in word.pieces)
        return Word(found, self.text[start : self.at])
