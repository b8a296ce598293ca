"""A script's text -> statements: bash's grammar (bash's manual, "Shell Commands"), by recursive descent.

Of the parsers at hand tree-sitter's takes two assignments and the line after them for one command and loses
white space in quotes, without a sign of it, and bashlex has no case and no (( )).
"""

import re
from collections.abc import Callable

from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.source import Source
from hpclaunch.readback.shell.statements import (
    AndOr,
    Arithmetic,
    Case,
    CaseItem,
    For,
    Function,
    Group,
    If,
    Loop,
    Not,
    Pipeline,
    Redirected,
    Redirection,
    Simple,
    Statement,
    Subshell,
    Test,
)
from hpclaunch.readback.shell.tokens import DECLARATIONS, is_array

_LARGEST = 4 << 20  # sbatch takes no larger script: max_script_size in slurm.conf(5)
_DEEPEST = 40
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_REDIRECTION = re.compile(r"([0-9]+|\{\w+\})?(.*)")
_ENDS = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})


def parse(text: str, first_line: int = 1) -> Group:
    """The statements of a text that `inside` made. Raises ScriptError."""
    if len(text) > _LARGEST:
        raise ScriptError(f"a script of {len(text)} bytes: sbatch takes at most {_LARGEST}")
    if "\0" in text:
        raise ScriptError(
            "a zero byte, which no script has", first_line + text[: text.index("\0")].count("\n")
        )
    return _Parser(Source(text, first_line)).script()


class _Parser:
    def __init__(self, source: Source):
        self._source = source
        self._depth = 0
        self._compound: dict[str, Callable[[], Statement]] = {
            "{": self._group,
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "select": self._for,
            "case": self._case,
            "function": self._function,
            "[[": self._test,
        }

    def script(self) -> Group:
        body = self._list()
        if self._source.peek().kind != "end":
            raise self._unexpected()
        return body

    def _unexpected(self) -> ScriptError:
        token = self._source.peek()
        return self._source.error(
            f"unexpected {token.text!r}" if token.text.strip() else "a command ends too early"
        )

    def _at(self, *texts: str) -> bool:
        token = self._source.peek()
        return token.kind in ("word", "operator") and token.text in texts

    def _expect(self, text: str) -> None:
        if not self._at(text):
            token = self._source.peek()
            raise self._source.error(
                f"{text} is missing before {token.text.strip() or 'the end of the line'!r}"
            )
        self._source.take()

    def _skip_newlines(self) -> None:
        while self._source.peek().kind == "newline":
            self._source.take()

    def _list(self) -> Group:
        """Statements up to a word or an operator that ends them."""
        line = self._source.line
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._source.error("commands within commands, too deep")
        body: list[Statement] = []
        while True:
            self._skip_newlines()
            if self._source.peek().kind == "end" or self._ends_list():
                break
            statement = self._and_or()
            if self._at("&"):
                self._source.take()
                statement = Subshell(statement.line, statement)
            elif self._at(";"):
                self._source.take()
            elif self._source.peek().kind not in ("newline", "end") and not self._ends_list():
                raise self._unexpected()
            body.append(statement)
        self._depth -= 1
        return Group(line, tuple(body))

    def _ends_list(self) -> bool:
        return self._at(*_ENDS, ")", ";;", ";&", ";;&")

    def _and_or(self) -> Statement:
        first = self._pipeline()
        others: list[tuple[str, Statement]] = []
        while self._at("&&", "||"):
            operator = self._source.take().text
            self._skip_newlines()
            others.append((operator, self._pipeline()))
        return AndOr(first.line, first, tuple(others)) if others else first

    def _pipeline(self) -> Statement:
        line = self._source.line
        negated = False
        while self._at("!", "time"):
            if self._source.take().text == "!":
                negated = not negated
            elif self._at("-p"):
                self._source.take()
        parts = [self._command()]
        while self._at("|", "|&"):
            self._source.take()
            self._skip_newlines()
            parts.append(self._command())
        body = parts[0] if len(parts) == 1 else Pipeline(line, tuple(parts))
        return Not(line, body) if negated else body

    def _command(self) -> Statement:
        token = self._source.peek()
        line = self._source.line
        compound = self._compound.get(token.text) if token.kind == "word" else None
        if token.kind == "operator" and token.text == "(":
            compound = self._parenthesis
        if token.kind == "word" and token.text in _ENDS:
            raise self._unexpected()
        if compound is None:
            return self._simple()
        body = compound()
        redirections = self._redirections()
        return Redirected(line, body, redirections) if redirections else body

    def _simple(self) -> Statement:
        line = self._source.line
        assignments: list[str] = []
        words: list[str] = []
        redirections: list[Redirection] = []
        while True:
            token = self._source.peek()
            if token.kind == "redirection":
                redirections.append(self._redirection())
            elif token.kind == "word":
                if words and words[0] not in DECLARATIONS and is_array(token.text):
                    raise self._unexpected()
                self._source.take()
                if not words and _ASSIGNMENT.match(token.text):
                    assignments.append(token.text)
                else:
                    words.append(token.text)
            elif token.text == "(" and len(words) == 1 and not assignments and not redirections:
                self._source.take()
                self._expect(")")
                return self._body_of(line, words[0])
            else:
                break
        if not assignments and not words and not redirections:
            raise self._unexpected()
        return Simple(line, tuple(assignments), tuple(words), tuple(redirections))

    def _redirections(self) -> tuple[Redirection, ...]:
        found = []
        while self._source.peek().kind == "redirection":
            found.append(self._redirection())
        return tuple(found)

    def _redirection(self) -> Redirection:
        parts = _REDIRECTION.fullmatch(self._source.take().text)
        assert parts is not None
        target = self._source.peek()
        if target.kind != "word":
            raise self._unexpected()
        operator = parts[2]
        document = self._source.promise(target.text, operator == "<<-") if operator in ("<<", "<<-") else None
        self._source.take()
        return Redirection(parts[1] or "", operator, target.text, document)

    def _group(self) -> Statement:
        self._source.take()
        body = self._list()
        self._expect("}")
        return body

    def _parenthesis(self) -> Statement:
        line = self._source.line
        source = self._source.arithmetic()
        if source is not None:
            return Arithmetic(line, source)
        self._source.take()
        body = self._list()
        self._expect(")")
        return Subshell(line, body)

    def _if(self) -> Statement:
        line = self._source.line
        branches: list[tuple[Statement | None, Statement]] = []
        while self._at("if" if not branches else "elif"):
            self._source.take()
            condition = self._list()
            self._expect("then")
            branches.append((condition, self._list()))
        if self._at("else"):
            self._source.take()
            branches.append((None, self._list()))
        self._expect("fi")
        return If(line, tuple(branches))

    def _while(self) -> Statement:
        line = self._source.line
        self._source.take()
        condition = self._list()
        return Loop(line, condition, self._do())

    def _do(self) -> Statement:
        self._expect("do")
        body = self._list()
        self._expect("done")
        return body

    def _for(self) -> Statement:
        line = self._source.line
        selects = self._source.take().text == "select"
        sources = self._source.arithmetic() if self._at("(") else None
        if sources is not None:
            self._end_of_head()
            body = self._group() if self._at("{") else self._do()
            return Loop(line, None, body, sources)
        name = self._source.peek()
        if name.kind != "word":
            raise self._unexpected()
        self._source.take()
        self._skip_newlines()
        words: list[str] | None = None
        if self._at("in"):
            self._source.take()
            words = []
            while self._source.peek().kind == "word":
                words.append(self._source.take().text)
        self._end_of_head()
        body = self._group() if self._at("{") else self._do()
        if selects:
            return Loop(line, None, body, name=name.text)
        return For(line, name.text, None if words is None else tuple(words), body)

    def _end_of_head(self) -> None:
        if self._at(";"):
            self._source.take()
        self._skip_newlines()

    def _case(self) -> Statement:
        line = self._source.line
        self._source.take()
        word = self._source.take()
        if word.kind != "word":
            raise self._source.error("case has no word")
        self._skip_newlines()
        self._expect("in")
        items: list[CaseItem] = []
        self._skip_newlines()
        while not self._at("esac"):
            if self._at("("):
                self._source.take()
            patterns: list[str] = []
            while True:
                if self._source.peek().kind != "word":
                    raise self._unexpected()
                patterns.append(self._source.take().text)
                if not self._at("|"):
                    break
                self._source.take()
            self._expect(")")
            body = self._list()
            end = self._source.take().text if self._at(";;", ";&", ";;&") else ";;"
            items.append(CaseItem(tuple(patterns), body, end))
            self._skip_newlines()
        self._source.take()
        return Case(line, word.text, tuple(items))

    def _function(self) -> Statement:
        line = self._source.line
        self._source.take()
        name = self._source.take()
        if name.kind != "word":
            raise self._source.error("a function has no name")
        if self._at("("):
            self._source.take()
            self._expect(")")
        return self._body_of(line, name.text)

    def _body_of(self, line: int, name: str) -> Statement:
        self._skip_newlines()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._source.error("commands within commands, too deep")
        body = self._command()
        self._depth -= 1
        return Function(line, name, body)

    def _test(self) -> Statement:
        line = self._source.line
        self._source.take()
        words: list[str] = []
        while not self._at("]]"):
            token = self._source.peek()
            if token.kind == "end":
                raise self._source.error("]] is missing")
            if words[-1:] == ["=~"] and token.kind != "newline":
                words.append(self._source.regular_expression())
                continue
            self._source.take()
            if token.kind != "newline":
                words.append(token.text)
        self._source.take()
        return Test(line, tuple(words))
