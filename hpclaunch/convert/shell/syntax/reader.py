"""Compound commands, and the whole of a text."""

import re

from hpclaunch.convert.shell.syntax import plain
from hpclaunch.convert.shell.syntax.again import Again, Fault
from hpclaunch.convert.shell.syntax.commands import NO_MORE, NOT_READ
from hpclaunch.convert.shell.syntax.conditions import Conditions
from hpclaunch.convert.shell.syntax.scanner import DEEPEST
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.pieces import Word
from hpclaunch.readback.shell.statements import (
    Arithmetic,
    Case,
    CaseItem,
    Coprocess,
    For,
    Group,
    If,
    Loop,
    Not,
    Statement,
    Subshell,
)

_LARGEST = 4 << 20  # sbatch takes no larger script: max_script_size in slurm.conf(5)
_KEYWORD = re.compile(
    r"(if|for|while|until|case|select|function|coproc|let|\{|\[\[)(?=[ \t\n;&|<>()]|\\\n|$(?![\s\S]))"
)
# "" is the end of the text.
_BEHIND_WORD = frozenset(("", *" \t\n;&|<>()#"))
# The words that end lists of commands.
_DONE, _FI, _BRACE = (frozenset((word,)) for word in ("done", "fi", "}"))
_ONLY = {word: frozenset((word,)) for word in ("do", "then")}
# Such a word behind a command, with what ends that.
_BEHIND_COMMAND = {
    word: re.compile(rf"[ \t]*[;\n][ \t\n]*{word}(?=[ \t\n;&|<>()]|$(?![\s\S]))") for word in _ONLY
}
_BRANCHES = frozenset(("elif", "else", "fi"))
_ARMS = frozenset((";", "esac"))
_IN = re.compile(r"in(?=[ \t\n;]|\\\n)")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FUNCTION = re.compile(r"(?!#)([^\s;&|<>()$`\"'\\]+)[ \t]*(?:\([ \t]*\))?")
_REST_OF_SUM, _IN_QUOTES = re.compile(r"[^\s;&|<>()]+"), re.compile(r"[\"'`\\\n#]")
_NAMED = re.compile(r"[A-Za-z_]\w*[ \t]+(?=[{(]|if\b|while\b|for\b)", re.ASCII)


def read(text: str, first_line: int = 1, again: Again | None = None) -> Group:
    """The statements of a text that `inside` made; lines are counted from `first_line`. `again` is what is
    known of a text that is the same but for a line.

    Raises ScriptError, with its line, for a text that is no script or too much of one.
    """
    if len(text) > _LARGEST:
        raise ScriptError(f"a script of {len(text)} bytes: sbatch takes at most {_LARGEST}", first_line)
    if "\0" in text:
        raise ScriptError(
            "a zero byte, which no script has", first_line + text[: text.index("\0")].count("\n")
        )
    reader = Reader(text, first_line)
    reader.again = again
    try:
        found = reader.statements(NO_MORE)
    except RecursionError:
        raise ScriptError("commands within commands, too deep", reader.line()) from None
    except ScriptError as error:
        raise Fault(error.message, error.line, reader.at, reader.longest) from None
    return Group(found[0].line if found else first_line, found)


class Reader(Conditions):
    """Reads a whole text."""

    def compound(self, line: int) -> Statement | None:
        char = self.text[self.at : self.at + 1]
        if char == "(":
            return self._parenthesised(line)
        keyword = _KEYWORD.match(self.text, self.at)
        if not keyword:
            return None
        start, self.at = self.at, keyword.end()
        word = keyword[1]
        if word == "if":
            return self._if(line)
        if word in ("while", "until"):
            condition = self._condition("do", start)
            body = self.body(_DONE)
            self._expect("done", start)
            goes_on = condition if word == "while" else Not(line, condition)
            return Loop(line, goes_on, body, last=self._last())
        if word in ("for", "select"):
            return self._for(line, word == "select", start)
        if word == "case":
            return self._case(line, start)
        if word == "{":
            group = self.body(_BRACE)
            self._expect("}", start)
            return group
        if word == "[[":
            return self.test(line, start)
        if word == "function":
            return self._named_function(line)
        if word == "coproc":
            return self._coprocess(line)
        return self._let(line)

    def _condition(self, word: str, start: int) -> Group:
        """The commands before `then` or `do`, and that word. Most often it is one command."""
        if self._document_newline < 0 and self.depth < DEEPEST:
            self.gaps()
            begin, line = self.at, self.line()
            command = plain.command(self, line)
            behind = _BEHIND_COMMAND[word].match(self.text, self.at) if command is not None else None
            if command is not None and behind:
                self.at = behind.end()
                return Group(line, (command,))
            self.at = begin
        found = self.body(_ONLY[word])
        self._expect(word, start)
        return found

    def _expect(self, word: str, start: int) -> None:
        text = self.text
        behind = self.at + len(word)
        if text.startswith(word, self.at) and text[behind : behind + 1] in _BEHIND_WORD:
            self.at = behind  # as it is behind a list of commands
            return
        self.gaps()
        behind = self.at + len(word)
        if not (text.startswith(word, self.at) and text[behind : behind + 1] in _BEHIND_WORD):
            first = self.text[start:].split(None, 1)[0][:20]
            self.fail(f"the `{first}` of line {self.line(start) - self._first + 1} has no `{word}`", start)
        self.at = behind

    def _parenthesised(self, line: int) -> Statement:
        start = self.at
        if self.text.startswith("((", start):
            self.at += 2
            expression = self.arithmetic()
            if expression is not None:
                return Arithmetic(line, (expression,), last=self._last(), written=self.text[start : self.at])
        self.at = start + 1
        body = self.substitution()
        if not body.body:
            self.fail("a command is missing here", start)
        return Subshell(line, body, last=self._last())

    def _if(self, line: int) -> Statement:
        start = self.at - 2
        branches: list[tuple[Statement | None, Statement]] = []
        while True:
            condition = self._condition("then", start)
            branches.append((condition, self.body(_BRANCHES)))
            if not self.text.startswith("elif", self.at):
                break
            self.at += 4
        if self.text.startswith("else", self.at):
            self.at += 4
            branches.append((None, self.body(_FI)))
        self._expect("fi", start)
        return If(line, tuple(branches), last=self._last())

    def _for(self, line: int, select: bool, start: int) -> Statement:
        self.blanks()
        expressions: tuple[Word, ...] = ()
        name, words = "", None
        if not select and self.text.startswith("((", self.at):
            self.at += 2
            expressions = self._parts_of_for()
        else:
            found = _NAME.match(self.text, self.at)
            if not found:
                self.fail("a loop without the name of its variable", start)
            name = found[0]
            self.at = found.end()
            self.gaps()
            if _IN.match(self.text, self.at):
                self.at += 2
                words = self._words()
        self.blanks()
        if self.ahead() == ";":
            self.at += 1
        body = self._loop_body(start)
        last = self._last()
        if expressions:
            return Loop(line, None, body, expressions, last=last)
        if select:
            return Loop(line, None, body, name=name, last=last)
        return For(line, name, words, body, last=last)

    def _words(self) -> tuple[Word, ...]:
        words: list[Word] = []
        while self.blanks() not in ("", "\n", ";", "#"):
            words.append(self.word())
        return tuple(words)

    def _parts_of_for(self) -> tuple[Word, ...]:
        parts: list[Word] = []
        for index in range(3):
            parts.append(self.expression(")", ";"))
            self.at += 1
            if (self.text[self.at - 1] == ";") != (index < 2):
                self.fail("a for (( )) without its three parts")
        if self.ahead() != ")":
            self.fail("a for (( without its ))")
        self.at += 1
        return tuple(parts)

    def _loop_body(self, start: int) -> Group:
        if self.gaps() == "{":
            self.at += 1
            body = self.body(_BRACE)
            self._expect("}", start)
            return body
        self._expect("do", start)
        body = self.body(_DONE)
        self._expect("done", start)
        return body

    def _case(self, line: int, start: int) -> Statement:
        self.blanks()
        word = self.word()
        self._expect("in", start)
        items: list[CaseItem] = []
        while True:
            char = self.gaps()
            if not char:
                self.fail("a `case` without its `esac`", start)
            if self.text.startswith("esac", self.at):
                break
            if char == "(":
                self.at += 1
            patterns: list[Word] = []
            while True:
                self.blanks()
                patterns.append(self.word())
                char = self.blanks()
                self.at += 1
                if char == ")":
                    break
                if char != "|":
                    self.at -= 1
                    self.fail("the pattern of a `case` without its )")
            at = self.line()
            self.deeper()
            body = self.statements(_ARMS)
            self.depth -= 1
            end = next((end for end in (";;&", ";;", ";&") if self.text.startswith(end, self.at)), "")
            self.at += len(end)
            group = Group(body[0].line if body else at, body)
            items.append(CaseItem(tuple(patterns), group, end or ";;"))
            if not end:
                self.gaps()
                break
        self._expect("esac", start)
        return Case(line, word, tuple(items), last=self._last())

    def _named_function(self, line: int) -> Statement:
        self.blanks()
        found = _FUNCTION.match(self.text, self.at)
        if not found:
            self.fail("a function without a name")
        self.at = found.end()
        return self.function_body(found[1], line)

    def _coprocess(self, line: int) -> Statement:
        self.blanks()
        self.deeper()
        found = _NAMED.match(self.text, self.at)
        if found:
            self.at = found.end()
        body = self.command(self.line())
        self.depth -= 1
        return Coprocess(line, body, last=body.last)

    def _let(self, line: int) -> Statement:
        start = self.at - 3
        words: list[Word] = []
        while (char := self.blanks()) not in ("", "\n", ";", "#", "&", "|", ")"):
            in_word = char == "(" and bool(words) and self.text[self.at - 1] == "="
            words.append(self._with_parentheses(words.pop()) if in_word else self.word())
        if not words:
            self.fail("a `let` without an expression", start)
        return Arithmetic(line, tuple(words), last=self._last(), written=self.text[start : self.at])

    def _with_parentheses(self, begun: Word) -> Word:
        """A word of `let` that goes on with parentheses, up to its end: NAME=(A + B)/C, which is an array to
        bash (parse.y, PST_ASSIGNOK) as long as it reads, and then a sum."""
        start, line = self.at - len(begun.written), self.line()
        self._parentheses()
        rest = _REST_OF_SUM.match(self.text, self.at)
        self.at = rest.end() if rest else self.at
        written = self.text[start : self.at]
        if _IN_QUOTES.search(written):
            self.fail(NOT_READ, start)
        return Word(self.within(f'"{written}"', line).word().pieces, written)
