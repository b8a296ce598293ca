"""Simple commands, their assignments and redirections, and lists of commands."""

import re

from hpclaunch.convert.shell.syntax import plain
from hpclaunch.convert.shell.syntax.again import Again, Run
from hpclaunch.convert.shell.syntax.assignments import Assignments
from hpclaunch.convert.shell.syntax.plain import DECLARING
from hpclaunch.readback.shell.pieces import Literal, Word
from hpclaunch.readback.shell.statements import (
    AndOr,
    Assignment,
    Declaration,
    Function,
    Group,
    Not,
    Pipeline,
    Redirected,
    Redirection,
    Simple,
    Statement,
    Subshell,
)

_REDIRECTION = re.compile(
    r"([0-9]+(?=[<>])|\{[A-Za-z_]\w*\}(?=[<>]))?"
    r"(<<<|<<-|<<|<>|<&|>&|>>|>\||&>>|&>|<(?!\()|>(?!\())",
    re.ASCII,
)
_MAYBE_REDIRECTION = frozenset("<>&{0123456789")
# What neither a word nor an assignment begins with, or perhaps does not.
_NO_WORD = _MAYBE_REDIRECTION | frozenset(("", *"\n;|)#("))
# What a compound command begins with.
_COMPOUND = frozenset("ifwucsl{[(")
_NO_ARGUMENTS = re.compile(r"\([ \t]*\)")
_ENDS = frozenset(" \t\n;&|<>()")
# What ends a list, by its first character.
_CLOSERS = re.compile(r"(then|elif|else|fi|do|done|esac|in|\}|\]\])(?=[ \t\n;&|<>()]|$(?![\s\S]))")
_CLOSING = frozenset("tefdi}]")
_MOST_BLANKS = 200  # between a compound command and the word behind it
_BANG = re.compile(r"(!|time(?:[ \t]+-p)?)(?=[ \t\n;&|()]|$(?![\s\S]))")
NO_MORE = frozenset[str]()
# eval NAME=(...), let and alias, which bash takes (parse.y, PST_ASSIGNOK) and this does not read.
_TAKE_ARRAYS = frozenset(("eval", "let", "alias"))
NOT_READ = "an array as a word of eval, let or alias is not read here"
_PARENTHESIS = frozenset((")",))


class Commands(Assignments):
    """Reads commands, but for compound ones: those are read by `compound`. `again` is what is known of a text
    that is the same but for a line, and `longest` what would be known of this one."""

    again: Again | None = None
    longest = Run()

    def compound(self, line: int) -> Statement | None:
        """The compound command here, None where there is none."""
        raise NotImplementedError

    def statements(self, until: frozenset[str]) -> tuple[Statement, ...]:
        """Commands up to the end of the text, or to a word or sign that ends them, which is left there."""
        found: list[Statement] = []
        try:
            self._statements(found, until)
        finally:
            if len(found) > len(self.longest.statements):
                self.longest = Run(found, self.depth)
        return tuple(found)

    def _statements(self, found: list[Statement], until: frozenset[str]) -> None:
        text, again = self.text, self.again
        while True:
            char = self.gaps()
            if not char or (char in ");" and char in until):
                return
            if char in _CLOSING:
                closer = _CLOSERS.match(text, self.at)
                if closer:
                    if closer[1] in until:
                        return
                    self.fail(f"`{closer[1]}` has nothing that it ends or goes on with")
            line = self.line()
            if again is not None and self.begins_line(line):
                taken, following = again.behind(line, self.depth)
                if taken:
                    found += taken
                    self.at = self.begin(following)
                    continue
            first: Statement | None = plain.command(self, line)
            if first is None and char not in "!t":
                first = self.compound(line) if char in _COMPOUND else None
                first = self._simple(self.at, line) if first is None else self._redirected(first, line)
            if first is not None:
                char = text[self.at : self.at + 1]
                if char == "\n" or not char:
                    found.append(first)
                    continue
                char = self.blanks()
                if char == ";" and text[self.at + 1 : self.at + 2] not in (";", "&"):
                    self.at += 1
                    found.append(first)
                    continue
                if char in (")", ";") and char in until:
                    found.append(first)
                    return
            statement = self._and_or(line, first)
            char = self.blanks()
            if char == ";" and self.ahead(2) not in (";;", ";&"):
                self.at += 1
            elif char == "&":
                self.at += 1
                statement = Subshell(line, statement, last=statement.last, background=True)
            elif char in _CLOSING and self._is_closed(until):
                found.append(statement)
                return
            elif char not in ("", "\n", ";", ")", "#") or (char in ");" and char and char not in until):
                self.fail(f"`{char}` is not expected here")
            found.append(statement)

    def _is_closed(self, until: frozenset[str]) -> bool:
        """Whether a word that ends the list stands here: behind a compound command it needs no `;`, as in
        if (a) then and while [[ a ]] do."""
        closer = _CLOSERS.match(self.text, self.at)
        ends = self.text[max(self.at - _MOST_BLANKS, 0) : self.at].rstrip(" \t")
        return bool(closer and closer[1] in until and ends.endswith((")", "}", "]]", "fi", "done", "esac")))

    def body(self, until: frozenset[str]) -> Group:
        """A list of commands that must not be empty."""
        self.deeper()
        found = self.statements(until)
        self.depth -= 1
        if not found:
            self.fail("a command is missing here")
        return Group(found[0].line, found)

    def substitution(self) -> Group:
        start = self.at
        self.deeper()
        found = self.statements(_PARENTHESIS)
        self.depth -= 1
        if self.ahead() != ")":
            self.fail("a ( that nothing closes", start)
        self.at += 1
        return Group(found[0].line if found else self.line(start), found)

    def _and_or(self, line: int, begun: Statement | None) -> Statement:
        first = self._pipeline(line, begun)
        others: list[tuple[str, Statement]] = []
        while True:
            if self.blanks() not in ("&", "|"):
                break
            operator = self.ahead(2)
            if operator not in ("&&", "||"):
                break
            self.at += 2
            self.gaps()
            here = self.line()
            others.append((operator, self._pipeline(here, plain.command(self, here))))
        if not others:
            return first
        return AndOr(line, first, tuple(others), last=others[-1][1].last)

    def _pipeline(self, line: int, begun: Statement | None = None) -> Statement:
        """`begun`: its first command, which was read."""
        may_be = begun is None and self.text[self.at : self.at + 1] in ("!", "t")
        bang = _BANG.match(self.text, self.at) if may_be else None
        if bang:
            self.at = bang.end()
            self.deeper()
            if self.blanks() in ("", "\n", ";", "&", "|", ")", "#") and self.ahead(2) != "&>":
                if bang[1] == "!":
                    self.fail("a ! that no command follows")
                found: Statement = Group(line, ())
            else:
                found = self._pipeline(self.line())
            self.depth -= 1
            return Not(line, found, last=found.last) if bang[1] == "!" else found
        first = begun or self.command(line)
        if self.blanks() != "|":
            return first
        parts = [first]
        operators: list[str] = []
        while self.blanks() == "|" and self.ahead(2) != "||":
            operators.append("|&" if self.ahead(2) == "|&" else "|")
            self.at += len(operators[-1])
            self.gaps()
            if (inverted := _BANG.match(self.text, self.at)) and inverted[1] == "!":
                self.fail("a ! within a pipeline")
            parts.append(self.command(self.line()))
        if not operators:
            return parts[0]
        return Pipeline(line, tuple(parts), tuple(operators), last=parts[-1].last)

    def command(self, line: int) -> Statement:
        """The command that begins here, on this line."""
        found: Statement | None = plain.command(self, line)
        if found is not None:
            return found
        start = self.at
        char = self.text[start : start + 1]
        if char in _CLOSING and _CLOSERS.match(self.text, start):
            self.fail(f"`{self.text[start:].split(None, 1)[0][:10]}` stands where a command should")
        found = self.compound(line) if char in _COMPOUND else None
        return self._simple(start, line) if found is None else self._redirected(found, line)

    def _redirected(self, found: Statement, line: int) -> Statement:
        """A compound command with the redirections behind it."""
        if self.text[self.at : self.at + 1] in ";\n":
            return found
        redirections = self._redirections()
        if redirections:
            return Redirected(line, found, redirections, last=self._last(redirections))
        return found

    def _redirections(self) -> tuple[Redirection, ...]:
        found: list[Redirection] = []
        while self.blanks() in _MAYBE_REDIRECTION:
            redirection = self._redirection()
            if redirection is None:
                break
            found.append(redirection)
        return tuple(found)

    def _redirection(self) -> Redirection | None:
        found = _REDIRECTION.match(self.text, self.at)
        if not found:
            return None
        self.at = found.end()
        descriptor, operator = found[1] or "", found[2]
        if self.blanks() in ("", "\n", ";", "&", "|", ")"):
            self.fail(f"a {operator} that no word follows")
        target = self.word()
        if operator not in ("<<", "<<-"):
            return Redirection(descriptor, operator, target)
        quoted = re.search(r"[\\'\"]", target.written) is not None
        delimiter = target.written
        if quoted:
            delimiter = "".join(piece.text for piece in target.pieces if isinstance(piece, Literal))
        strips = operator == "<<-"
        body, start = self.body_text(delimiter, strips)
        document = self.document(body, self.line(start), not quoted, strips)
        return Redirection(descriptor, operator, target, document)

    def _last(self, redirections: tuple[Redirection, ...] = ()) -> int:
        """The line on which what was just read ends, with here-documents."""
        if any(each.document is not None for each in redirections):
            return self.line(max(self._document_end - 1, 0))
        return self.line(max(self.at - 1, 0))

    def _simple(self, start: int, line: int) -> Statement:
        text = self.text
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        end = start
        while True:
            char = self.blanks()
            if char in _NO_WORD:
                if char in _MAYBE_REDIRECTION:
                    redirection = self._redirection()
                    if redirection is not None:
                        redirections.append(redirection)
                        end = self.at
                        continue
                if (
                    not char
                    or char in "\n;&|)"
                    or (char == "#" and (self.at == start or text[self.at - 1] in _ENDS))
                ):
                    break
                if char == "(":
                    if len(words) == 1 and not assignments and not redirections:
                        function = self._function(words[0], line)
                        if function is not None:
                            return function
                    if words and words[0].written in _TAKE_ARRAYS and text[self.at - 1] == "=":
                        self.fail(NOT_READ)
                    self.fail("`(` is not expected here")
            if not words:
                assignment = self.assignment()
                if assignment is not None:
                    assignments.append(assignment)
                    end = self.at
                    continue
            words.append(self.word())
            end = self.at
            if len(words) == 1 and not assignments and words[0].written in DECLARING:
                return self._declaration(words[0].written, start, line, redirections)
        if not (words or assignments or redirections):
            self.fail(f"`{self.ahead() or 'the end'}` stands where a command should")
        written = text[start:end]
        if redirections:
            last = self._last(tuple(redirections))
        else:
            last = self.line(end - 1) if "\n" in written else line
        return Simple(line, tuple(assignments), tuple(words), tuple(redirections), last, written)

    def _function(self, name: Word, line: int) -> Statement | None:
        found = _NO_ARGUMENTS.match(self.text, self.at)
        if not found or any(not isinstance(piece, Literal) or piece.quoted for piece in name.pieces):
            return None
        self.at = found.end()
        return self.function_body(name.written, line)

    def function_body(self, name: str, line: int) -> Statement:
        """The rest of a function's definition."""
        self.gaps()
        self.deeper()
        start = self.at
        body = self.command(self.line())
        self.depth -= 1
        return Function(line, name, body, last=body.last, written=self.text[start : self.at].rstrip(" \t"))

    def _declaration(self, command: str, start: int, line: int, redirections: list[Redirection]) -> Statement:
        arguments: list[Assignment | Word] = []
        end = self.at
        while True:
            char = self.blanks()
            if char in _MAYBE_REDIRECTION and char:
                redirection = self._redirection()
                if redirection is not None:
                    redirections.append(redirection)
                    continue
            if not char or char in "\n;&|)" or char == "#":
                break
            arguments.append(self.assignment() or self.word())
            end = self.at
        written = self.text[start:end]
        last = self.line(end - 1) if "\n" in written else line
        found = Declaration(line, command, tuple(arguments), last, written)
        return Redirected(line, found, tuple(redirections), last=last) if redirections else found
