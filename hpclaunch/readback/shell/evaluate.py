"""What a script would do, without doing it: its statements are walked with the values that the text tells.

Where the way depends on something that the text does not tell, each way is tried, and what differs between
them is unknown from there on. Commands that are not the shell's own are not run but noted, with their words.
A loop whose rounds are not told is walked once.
"""

from collections.abc import Callable, Collection, Sequence
from enum import Enum

from hpclaunch.readback.shell import conditions, inside
from hpclaunch.readback.shell.budget import Budget
from hpclaunch.readback.shell.calls import Call, Note, Reading
from hpclaunch.readback.shell.commands import BUILTINS, Input
from hpclaunch.readback.shell.errors import ScriptError, Unreadable
from hpclaunch.readback.shell.expand import Expander
from hpclaunch.readback.shell.parse import parse
from hpclaunch.readback.shell.patterns import matches
from hpclaunch.readback.shell.state import Array, State, Variable
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
from hpclaunch.readback.shell.tokens import DECLARATIONS
from hpclaunch.readback.shell.values import Names, Part, Unknown, Value, join, known, shown

_DEEPEST = 90


class Flow(Enum):
    """Where the shell goes after a statement."""

    NEXT = 0
    BREAK = 1
    CONTINUE = 2
    RETURN = 3
    EXIT = 4


def evaluate(text: str, watched: Collection[str]) -> Reading:
    """Walk the script. Calls of the commands `watched` have their environment noted too.

    Raises ScriptError for a text that bash would not take, or that takes too long.
    """
    shell = Shell(watched)
    try:
        shell.run(parse(inside(text)))
    except RecursionError:
        raise ScriptError("commands within commands, too deep", shell.line) from None
    return Reading(tuple(shell.calls), tuple(shell.notes))


class Shell:
    """A shell that runs nothing."""

    def __init__(self, watched: Collection[str]):
        self.state = State()
        self.calls: list[Call] = []
        self.notes: list[Note] = []
        self.status: bool | None = True
        self.input = Input("")
        self.output: list[Part] | None = None
        self.locals: list[dict[str, Variable | None]] = []
        self.line = 1
        self._watched = watched
        self._conditions: list[str] = []
        self._budget = Budget()
        self._depth = 0
        self._walks: dict[type, Callable[..., Flow]] = {
            Simple: self._simple,
            Test: self._test,
            Arithmetic: self._arithmetic,
            Pipeline: self._pipeline,
            Not: self._not,
            AndOr: self._and_or,
            Group: self._group,
            Subshell: self._subshell,
            If: self._if,
            For: self._for,
            Loop: self._loop,
            Case: self._case,
            Function: self._define,
            Redirected: self._redirected,
        }

    @property
    def expander(self) -> Expander:
        """What expands words as things stand."""
        return Expander(self.state, self._output_of, self._budget)

    def note(self, text: str) -> None:
        """Say that this line is not understood."""
        self.notes.append(Note(self.line, text))

    def run(self, statement: Statement) -> Flow:
        """Walk a statement. Raises ScriptError where that takes too long."""
        self._depth += 1
        self._budget.line = statement.line
        self._budget.spend()
        if self._depth > _DEEPEST:
            raise ScriptError("commands within commands, too deep", statement.line)
        self.line = statement.line
        try:
            return self._walks[type(statement)](statement)
        except Unreadable as error:
            self.line = statement.line
            self.note(f"cannot be read: {error}")
            self.status = None
            return Flow.NEXT
        finally:
            self._depth -= 1

    def _perhaps(self, why: str, ways: Sequence[Callable[[], Flow]], or_none: bool) -> Flow:
        """Try each of the ways, one of which is gone, or with `or_none` perhaps none."""
        before = self.state
        forks: list[State] = []
        flows: list[Flow] = []
        self._conditions.append(f"line {self.line}: {why}")
        for way in ways:
            self.state = before.fork()
            flow = way()
            flows.append(flow)
            if flow is not Flow.EXIT:
                forks.append(self.state)
        self._conditions.pop()
        self.state = before
        self.status = None
        if forks:
            before.absorb(forks, or_none)
        if not or_none and flows and all(flow is flows[0] for flow in flows):
            return flows[0]
        return Flow.NEXT

    def _simple(self, statement: Simple) -> Flow:
        expander = self.expander
        declares = statement.words[:1] and statement.words[0] in DECLARATIONS
        words = expander.words(statement.words[:1] if declares else statement.words)
        self.status = True
        if not words:
            for written in statement.assignments:
                self.assign(written)
            if any("$(" in written or "`" in written for written in statement.assignments):
                self.status = None
            return Flow.NEXT
        saved: dict[str, Variable | None] = {}
        for written in statement.assignments:
            name = written.partition("=")[0].rstrip("+").partition("[")[0]
            saved.setdefault(name, self.state.get(name))
            self.assign(written)
            after = self.state.get(name)
            if after:
                self.state.set(name, Variable(after.value, exported=True))
        try:
            return self._with_input(statement.redirections, lambda: self._call(statement, words))
        finally:
            for name, variable in saved.items():
                self.state.restore(name, variable)

    def _call(self, statement: Simple, words: list[Value]) -> Flow:
        name = known(words[0])
        while name in ("command", "builtin", "exec") and len(words) > 1 and known(words[1])[:1] != "-":  # type: ignore[index]
            words = words[1:]
            name = known(words[0])
        if name is None:
            self._external(words)
            return Flow.NEXT
        there, body = self.state.function(name)
        if there and body is not None:
            return self._function(body, words[1:])
        if there:
            self.note(f"which of several functions {name} is depends on what the script does not tell")
        flow = {"break": Flow.BREAK, "continue": Flow.CONTINUE, "return": Flow.RETURN, "exit": Flow.EXIT}.get(
            name
        )
        if flow:
            return flow
        if name == "eval":
            return self._eval(words[1:])
        builtin = BUILTINS.get(name)
        if builtin is None:
            self._external(words)
        else:
            self.status = True
            builtin(self, statement.words, words)
        return Flow.NEXT

    def _function(self, body: Statement, arguments: list[Value]) -> Flow:
        before = self.state.arguments
        self.state.arguments = tuple(arguments)
        self.locals.append({})
        flow = self.run(body)
        for name, variable in self.locals.pop().items():
            self.state.restore(name, variable)
        self.state.arguments = before
        return Flow.EXIT if flow is Flow.EXIT else Flow.NEXT

    def _eval(self, words: list[Value]) -> Flow:
        text = known(
            join([part for index, word in enumerate(words) for part in ((" ", *word) if index else word)])
        )
        if text is None:
            self.note("eval of what the script does not tell")
            return Flow.NEXT
        return self.run(parse(text, self.line))

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
        self.calls.append(
            Call(
                self.line,
                tuple(words),
                environment,
                self.state.unnamed,
                self.state.outside,
                tuple(self._conditions),
            )
        )
        if self.output is not None:
            self.output.append(Unknown("output", f"$({' '.join(map(shown, words[:20]))})"))

    def assign(self, written: str) -> None:
        """NAME=value, NAME+=value, NAME[index]=value or NAME=(...). Raises Unreadable."""
        from hpclaunch.readback.shell.assign import assign

        assign(self.state, self.expander, written)

    def _output_of(self, source: str) -> Value:
        """What the command of a $(...) writes."""
        line, before, output, status = self.line, self.state, self.output, self.status
        stripped = source.strip()
        if stripped.startswith("<") and not stripped.startswith("<("):
            return (Unknown("input", stripped[1:].strip()),)
        self.state = before.fork()
        self.output = []
        try:
            self.run(parse(source, line))
            written = join(self.output)
        finally:
            self.line, self.state, self.output, self.status = line, before, output, status
        if written and isinstance(written[-1], str):
            last = written[-1].rstrip("\n")
            written = (*written[:-1], last) if last else written[:-1]
        return written

    def _with_input(self, redirections: Sequence[Redirection], way: Callable[[], Flow]) -> Flow:
        """Go a way with these redirections."""
        given, output = self.input, self.output
        for redirection in redirections:
            if redirection.document is not None:
                document = redirection.document
                text: Value = self.expander.document(document.text) if document.expands else (document.text,)
                self.input = Input("a here-document", text)
            elif redirection.operator == "<<<":
                self.input = Input("a here-string", join([*self.expander.value(redirection.target), "\n"]))
            elif redirection.operator in ("<", "<>", "<&") and redirection.descriptor in ("", "0"):
                self.input = Input(shown(self.expander.value(redirection.target)))
            elif redirection.descriptor in ("", "1") and redirection.operator != "<":
                self.output = None
        try:
            return way()
        finally:
            self.input, self.output = given, output

    def _redirected(self, statement: Redirected) -> Flow:
        return self._with_input(statement.redirections, lambda: self.run(statement.body))

    def _test(self, statement: Test) -> Flow:
        expander = self.expander
        condition = conditions.Condition(expander.value, expander.pattern, expander.number)
        self.status = condition.holds(statement.words)
        if not condition.is_whole:
            self.note(f"no condition: [[ {' '.join(statement.words)[:60]} ]]")
        return Flow.NEXT

    def _arithmetic(self, statement: Arithmetic) -> Flow:
        number = self.expander.number(statement.source)
        self.status = None if number is None else number != 0
        return Flow.NEXT

    def _pipeline(self, statement: Pipeline) -> Flow:
        output, given = self.output, self.input
        for part in statement.parts:
            last = part is statement.parts[-1]
            self.output = output if last else None
            self._apart(part)
            self.input = Input("a pipe")
        self.output, self.input = output, given
        self.status = None
        return Flow.NEXT

    def _subshell(self, statement: Subshell) -> Flow:
        self._apart(statement.body)
        return Flow.NEXT

    def _apart(self, statement: Statement) -> None:
        before = self.state
        self.state = before.fork()
        try:
            self.run(statement)
        finally:
            self.state = before

    def _not(self, statement: Not) -> Flow:
        flow = self.run(statement.body)
        self.status = None if self.status is None else not self.status
        return flow

    def _and_or(self, statement: AndOr) -> Flow:
        flow = self.run(statement.first)
        for operator, part in statement.others:
            if flow is not Flow.NEXT:
                break
            if self.status is None:
                way = _way(self, part)
                flow = self._perhaps(f"what stands before {operator}", (way,), or_none=True)
            elif self.status == (operator == "&&"):
                flow = self.run(part)
        return flow

    def _group(self, statement: Group) -> Flow:
        for part in statement.body:
            flow = self.run(part)
            if flow is not Flow.NEXT:
                return flow
        return Flow.NEXT

    def _if(self, statement: If) -> Flow:
        for index, (condition, body) in enumerate(statement.branches):
            holds: bool | None = True
            if condition is not None:
                flow = self.run(condition)
                if flow is not Flow.NEXT:
                    return flow
                holds = self.status
            if holds:
                return self.run(body)
            if holds is None:
                rest = statement.branches[index + 1 :]
                ways = [_way(self, body)]
                if rest:
                    ways.append(_way(self, If(statement.line, rest)))
                return self._perhaps("the condition of `if`", ways, or_none=not rest)
        self.status = True
        return Flow.NEXT

    def _for(self, statement: For) -> Flow:
        written = ('"$@"',) if statement.words is None else statement.words
        for word in self.expander.words(written):
            if known(word) is None:
                flow = self._for_unknown(statement, word)
            else:
                self.state.assign(statement.name, word)
                flow = self.run(statement.body)
            if flow in (Flow.RETURN, Flow.EXIT):
                return flow
            if flow is Flow.BREAK:
                break
        return Flow.NEXT

    def _for_unknown(self, statement: For, word: Value) -> Flow:
        part = word[0]
        if len(word) == 1 and isinstance(part, Names):
            # Those that the script itself has exported so far, one by one; then all others, as one.
            for name in self.state.exported():
                self.state.assign(statement.name, (name,))
                self.run(statement.body)
            self.state.assign(statement.name, word)
            self.run(statement.body)
            return Flow.NEXT

        def once() -> Flow:
            self.state.assign(statement.name, word)
            return self.run(statement.body)

        flow = self._perhaps("a loop", (once,), or_none=True)
        return flow if flow in (Flow.RETURN, Flow.EXIT) else Flow.NEXT

    def _loop(self, statement: Loop) -> Flow:
        def once() -> Flow:
            if statement.name:
                self.state.assign(statement.name, (Unknown("input", "select"),))
            if statement.sources:
                for source in statement.sources.split(";"):
                    self.expander.number(source)
            if statement.condition is not None:
                self.run(statement.condition)
            self.run(statement.body)
            return Flow.NEXT

        return self._perhaps("a loop", (once,), or_none=True)

    def _case(self, statement: Case) -> Flow:
        expander = self.expander
        subject = expander.value(statement.word)
        if len(subject) == 1 and isinstance(subject[0], Names):
            return self._case_of_names(statement, subject[0])
        text = known(subject)
        found = [[expander.pattern(each) for each in item.patterns] for item in statement.items]
        bodies = [_case_bodies(statement.items, index) for index in range(len(found))]
        if text is not None and all(pattern is not None for each in found for pattern in each):
            for each, body in zip(found, bodies, strict=True):
                if any(matches(pattern, text) for pattern in each if pattern is not None):
                    return self.run(Group(statement.line, body))
            self.status = True
            return Flow.NEXT
        ways = [_way(self, Group(statement.line, body)) for body in bodies]
        return self._perhaps("the word of `case`", ways, or_none=["*"] not in found)

    def _case_of_names(self, statement: Case, names: Names) -> Flow:
        """Each arm sees those names that its patterns, and none before, match."""
        variable = statement.word.strip('"').strip("${}")
        seen: tuple[str, ...] = names.but
        for item in statement.items:
            patterns = tuple(self.expander.pattern(each) or "" for each in item.patterns)
            only = () if "*" in patterns else patterns
            self.state.assign(variable, (Names(only, seen),))
            self.run(item.body)
            seen += patterns
        self.state.assign(variable, (names,))
        return Flow.NEXT

    def _define(self, statement: Function) -> Flow:
        self.state.define(statement.name, statement.body)
        return Flow.NEXT


def _way(shell: Shell, statement: Statement) -> Callable[[], Flow]:
    return lambda: shell.run(statement)


def _case_bodies(items: Sequence[CaseItem], start: int) -> tuple[Statement, ...]:
    """The arm, and those into which it falls by ;&"""
    bodies: list[Statement] = []
    for item in items[start:]:
        bodies.append(item.body)
        if item.end != ";&":
            break
    return tuple(bodies)
