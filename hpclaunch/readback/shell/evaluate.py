"""What a script would do, without doing it: its statements are walked with the values that the text tells.

Where the way depends on something that the text does not tell, each way is tried, and what differs between
them is unknown from there on. Commands that are not the shell's own are not run but noted, with their words.
A loop whose rounds are not told is walked once.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial

from hpclaunch.readback.shell import conditions, extglob, inside
from hpclaunch.readback.shell.assign import assign
from hpclaunch.readback.shell.budget import MOST
from hpclaunch.readback.shell.calls import Call, Reading
from hpclaunch.readback.shell.commands import BUILTINS
from hpclaunch.readback.shell.compound import WALKS
from hpclaunch.readback.shell.declarations import declare, declare_one
from hpclaunch.readback.shell.errors import ReadOnly, ScriptError, Unreadable
from hpclaunch.readback.shell.expand import Expander
from hpclaunch.readback.shell.flow import Flow
from hpclaunch.readback.shell.parse import parse
from hpclaunch.readback.shell.pieces import Command, Word
from hpclaunch.readback.shell.positional import by_number, handed_on
from hpclaunch.readback.shell.reads import Input
from hpclaunch.readback.shell.state import Array, Variable
from hpclaunch.readback.shell.statements import (
    Assignment,
    Declaration,
    Group,
    Redirected,
    Redirection,
    Simple,
    Statement,
)
from hpclaunch.readback.shell.values import Unknown, Value, join, known, shown
from hpclaunch.readback.shell.ways import Ways

_NUMBER = re.compile(r"-?[0-9]{1,18}")
# Of the budget: some ten milliseconds, for a process that parses what `eval` is given.
_PARSING = 2000
_PREFIXES = frozenset(("command", "builtin", "exec"))
_FLOWS = {"break": Flow.BREAK, "continue": Flow.CONTINUE, "return": Flow.RETURN, "exit": Flow.EXIT}


def evaluate(text: str, watched: Collection[str], most: int = MOST) -> Reading:
    """Walk the script. Calls of the commands `watched` have their environment noted too, and those of
    functions with such a name are noted before what they do. `most` is how much work it may be.

    Raises ScriptError for a text that bash would not take, or that takes too long.
    """
    shell = Shell(watched, most)
    try:
        shell.lines(parse(inside(text)).body)
    except RecursionError:
        raise ScriptError("commands within commands, too deep", shell.line) from None
    return Reading(tuple(shell.calls), tuple(shell.notes))


class Shell(Ways):
    """A shell that runs nothing."""

    def __init__(self, watched: Collection[str], most: int = MOST):
        super().__init__(most)
        self.calls: list[Call] = []
        self._before: bool | None = True  # of the command before the one that is walked
        self._given = Simple(0, (), ())  # that one
        self.kinds: dict[str, str] = {}  # of variables that were declared with i, u or l
        self.locals: list[dict[str, Variable | None]] = []
        self._watched = watched
        self._evaluated: dict[tuple[str, int], Group] = {}
        self._walks = {
            Simple: self._simple,
            Redirected: self._redirected,
            Declaration: self._declaration,
            **{kind: partial(walk, self) for kind, walk in WALKS.items()},
        }

    @property
    def expander(self) -> Expander:
        """What expands words as things stand."""
        return Expander(self.state, self._output_of, self._budget)

    def _simple(self, statement: Simple) -> Flow:
        expander = self.expander
        words = expander.words(statement.words)
        self._before, self._given = self.status, statement
        self.status = True
        if not words:
            for assignment in statement.assignments:
                self.assign(assignment)
                if "$(" in assignment.written or "`" in assignment.written:
                    self.status = None
            return Flow.NEXT
        own = (each.descriptor.startswith("{") for each in statement.redirections)
        if known(words[0]) == "exec" and len(words) == 1 and all(own):
            return Flow.NEXT  # descriptors of the script's own, beside those that commands know of
        if not statement.assignments:
            if not statement.redirections:
                try:
                    return self._call(words)
                except ReadOnly:
                    self.status = False  # as in `_called`, and here most commands come by
                    return Flow.NEXT
            return self._with_input(statement.redirections, lambda: self._called(words))
        saved: dict[str, Variable | None] = {}
        for assignment in statement.assignments:
            name = self.state.target(assignment.name)
            before = self.state.get(name)
            if before is not None and before.fixed:
                continue  # bash complains, and the command gets the value that it has
            saved.setdefault(name, before)
            self.assign(assignment)
            after = self.state.get(name)
            if after:
                self.state.set(name, Variable(after.value, exported=True))
        try:
            return self._with_input(statement.redirections, lambda: self._called(words))
        finally:
            for name, variable in saved.items():
                self.state.restore(name, variable)

    def _called(self, words: list[Value]) -> Flow:
        """Walk a command with these words: one of the shell's own fails where it would change what is
        read-only."""
        try:
            return self._call(words)
        except ReadOnly:
            self.status = False
            return Flow.NEXT

    def _call(self, words: list[Value]) -> Flow:
        name, past = known(words[0]), False
        while name in _PREFIXES and len(words) > 1 and not (known(words[1]) or "").startswith("-"):
            if name == "exec":
                self._external(words[1:])
                return Flow.EXIT
            words = words[1:]
            name, past = known(words[0]), True  # these go past functions
        if name is None:
            self._external(words)
            return Flow.NEXT
        there, function = (False, None) if past else self.state.function(name)
        if function is not None:
            if name in self._watched:
                self._note_call(words, ())
            arguments = by_number(words[1:], self._given.words[1:], function.written)
            return self._function(name, function.body, arguments)
        if there:
            self.note(f"which of several functions {name} is depends on what the script does not tell")
        flow = _FLOWS.get(name)
        if flow is Flow.RETURN or flow is Flow.EXIT:
            self.status = self._given_status(words)
        elif flow and not self.loops:
            self.status = True  # "only meaningful in a loop", says bash, and goes on
            return Flow.NEXT
        if flow:
            return flow
        if name == "eval":
            return self._eval(words[1:])
        builtin = BUILTINS.get(name)
        if builtin is None:
            self._external(words)
        else:
            self.status = True
            builtin(self, words)
        return Flow.NEXT

    def _given_status(self, words: list[Value]) -> bool | None:
        """What `return` and `exit` make the status: that of the last command, or the number behind them."""
        if len(words) < 2 or self._given.words[-1].written.strip('"') in ("$?", "${?}"):
            return self.perhaps_left(True) if self._before is None else self._before
        text = known(words[1])
        number = int(text) if text is not None and _NUMBER.fullmatch(text) else None
        return self.perhaps_left(True) if number is None else number % 256 == 0

    def _function(self, name: str, body: Statement, arguments: list[Value]) -> Flow:
        before = self.state.arguments
        self.state.arguments = handed_on(arguments, before)
        self.locals.append({})
        outer, self._may_return = self._may_return, False
        loops, self.loops = self.loops, 0
        self.status = self._before
        flow = self.run(body)
        self.loops = loops
        if self._may_return and flow is Flow.EXIT:
            # It ends the shell where nothing came back before that: what is read is what comes back.
            flow, self._may_exit, self.status = Flow.NEXT, True, True
        if self._may_return:
            self.status = self.perhaps_left(self.status)
        self._may_return = outer
        for local, variable in self.locals.pop().items():
            self.state.restore(local, variable)
            self.kinds.pop(local, None)
        self.state.arguments = before
        return flow if flow in (Flow.EXIT, Flow.LINE) else Flow.NEXT

    def _eval(self, words: list[Value]) -> Flow:
        text = known(
            join([part for index, word in enumerate(words) for part in ((" ", *word) if index else word)])
        )
        if text is None:
            self.note("eval of what the script does not tell")
            return Flow.NEXT
        place = (text, self.line)
        if place not in self._evaluated:
            self._evaluated[place] = self.parsed(text)
        return self.lines(self._evaluated[place].body)

    def parsed(self, text: str) -> Group:
        """The statements of a text that the script has in a variable. Raises ScriptError."""
        self._budget.spend(_PARSING + len(text) // 5)
        return parse(text, self.line)

    def tested(self, words: Sequence[str | Word]) -> Sequence[str | Word]:
        """The words of [[ ]] or [ ] as they are looked at."""
        return words

    def computed(self, expression: Word) -> int | None:
        """The number of an expression of (( ))."""
        return self.expander.number(expression)

    def matches(self, pattern: str, text: str) -> bool | None:
        """Whether a pattern of [[ ]] is like a text, None where that is not known."""
        return extglob.matches(pattern, text)

    def is_like(self, expression: Word, text: str | None, sure: bool) -> bool | None:
        """Whether a text (None: not known) is like the regular expression that a word of [[ ]] is, None where
        that is not known. `sure`: bash looks at it for certain."""
        pattern = conditions.as_pattern(known(self.expander.value(expression)))
        return None if text is None or pattern is None else self.matches(pattern, text)

    def _external(self, words: list[Value]) -> None:
        """A command that is not the shell's own."""
        self.status = None
        name = known(words[0]) if words else None
        environment: tuple[tuple[str, Value], ...] = ()
        if name is not None and name.rpartition("/")[2] in self._watched:
            exported = self.state.exported()
            self._budget.spend(len(exported) // 10)
            environment = tuple(
                (each, variable.value)
                for each, variable in exported.items()
                if variable.value is not None and not isinstance(variable.value, Array)
            )
        self._note_call(words, environment)
        if self.output is not None:
            self.output.append(Unknown("output", f"$({' '.join(map(shown, words[:20]))})"))
        elif self.errors is not None:
            self.errors.append(Unknown("output", f"$({' '.join(map(shown, words[:20]))})"))

    def _note_call(self, words: list[Value], environment: tuple[tuple[str, Value], ...]) -> None:
        state, conditions = self.state, tuple(self._conditions)
        self.calls.append(
            Call(self.line, tuple(words), environment, state.unnamed, state.outside, conditions)
        )

    def _declaration(self, statement: Declaration) -> Flow:
        self.status = True
        declare(self, statement.command, statement.arguments)
        return Flow.NEXT

    def assign(self, assignment: Assignment, keyed: bool = False, exports: bool | None = None) -> None:
        """Carry it out; `keyed`: an array of it has keys that are text, `exports`: from then on it is
        exported or not. Raises Unreadable."""
        try:
            assign(self.state, self.expander, assignment, keyed)
            if self.kinds and (name := self.state.target(assignment.name)) in self.kinds:
                self._as_declared(name, assignment)
        except Unreadable:
            self.state.forget(assignment.name)  # it has another value now than before
            raise
        finally:
            declare_one(self, assignment.name, False, exports)

    def _as_declared(self, name: str, assignment: Assignment) -> None:
        """Make of a value what declare -i, -u or -l say of its variable."""
        variable = self.state.get(name)
        value = variable.value if variable is not None else None
        kind = self.kinds[name]
        text = None if value is None or isinstance(value, Array) else known(value)
        number = self.expander.number(assignment.value) if kind == "i" and not assignment.adds else None
        if kind == "i" and text is not None and number is not None:
            self.state.assign(name, (str(number),))
        elif kind != "i" and text is not None and text.isascii():
            changed = text.upper() if kind == "u" else text.lower()
            self.state.assign(name, (changed,) if changed else ())
        elif not (kind == "i" and text is None and isinstance(value, Array) and not value.items):
            self.state.forget(name)

    def declared(self, name: str, exports: bool) -> None:
        """Called where a variable is exported from here on, or no more."""

    def unset(self, name: str) -> None:
        """Called where a variable is taken away."""

    def sets_unknown(self, command: str, value: Value) -> None:
        """Called where names or statements that the script does not tell are what export or eval is given."""

    def put(self, name: str, value: Value | Array) -> None:
        """Give a variable what a command of the shell makes."""
        self.state.assign(name, value)

    def _output_of(self, command: Command) -> Value:
        """What the command of a $(...) becomes: the shell takes the ends of its last lines away."""
        written = self.written_by(command)
        if written and isinstance(written[-1], str):
            last = written[-1].rstrip("\n")
            written = (*written[:-1], last) if last else written[:-1]
        return written

    def written_by(self, command: Command) -> Value:
        """What a command writes."""
        line, before, output, status = self.line, self.state, self.output, self.status
        if command.file:
            return (Unknown("input", command.file),)
        self.state = before.fork()
        self.output = []
        try:
            self.run(command.body)
            return join(self.output)
        finally:
            self.line, self.state, self.output, self.status = line, before, output, status

    def _with_input(self, redirections: Sequence[Redirection], way: Callable[[], Flow]) -> Flow:
        """Go a way with these redirections."""
        given, output, errors = self.input, self.output, self.errors
        for redirection in redirections:
            if redirection.document is not None:
                self.input = Input("a here-document", self.expander.joined(redirection.document))
            elif redirection.operator == "<<<":
                self.input = Input("a here-string", join([*self.expander.value(redirection.target), "\n"]))
            elif redirection.operator in ("<", "<>", "<&") and redirection.descriptor in ("", "0"):
                source = self.expander.value(redirection.target)
                if redirection.operator == "<&":
                    source = () if known(source) == "-" else (Unknown("input", f"<&{shown(source)}"),)
                self.input = Input(shown(source), source=source or None)
            elif not redirection.operator.startswith("<"):
                self._write_to(redirection)
        try:
            return way()
        finally:
            self.input, self.output, self.errors = given, output, errors

    def _write_to(self, redirection: Redirection) -> None:
        """Let what is written go where a redirection says."""
        operator, target = redirection.operator, redirection.target.written
        if operator.startswith("&") or (operator == ">&" and target.strip("0123456789-")):
            self.output = self.errors = None
        elif redirection.descriptor in ("", "1"):
            self.output = self.errors if (operator, target) == (">&", "2") else None
        elif redirection.descriptor == "2":
            self.errors = self.output if (operator, target) == (">&", "1") else None

    def _redirected(self, statement: Redirected) -> Flow:
        return self._with_input(statement.redirections, lambda: self.run(statement.body))
