"""The ways that a walk goes through statements: one after the other, or each of several of which nobody knows
which one is gone."""

from collections.abc import Callable, Iterable, Sequence

from hpclaunch.readback.shell.budget import Budget
from hpclaunch.readback.shell.calls import Note
from hpclaunch.readback.shell.errors import ReadOnly, ScriptError, Unreadable
from hpclaunch.readback.shell.flow import Flow
from hpclaunch.readback.shell.reads import Input
from hpclaunch.readback.shell.state import State
from hpclaunch.readback.shell.statements import Arithmetic, For, Statement
from hpclaunch.readback.shell.values import Part, Unknown

_DEEPEST = 90


class Ways:
    """A walk, with the state in which it is. `status` is that of the last command, None where it is not
    known; `_walks` says how each kind of statement is walked."""

    def __init__(self, most: int):
        self.state = State()
        self.notes: list[Note] = []
        self.status: bool | None = True
        self.input = Input("")
        self.output: list[Part] | None = None
        self.errors: list[Part] | None = None  # where those go that are told: to a $( ) around, by 2>&1
        self.line = 1
        self.loops = 0  # around what is walked, in the same function and shell
        self.may_leave = False  # the loop that is walked is left, or its round, on a condition
        self._may_return = False  # the function, likewise
        self._may_exit = False  # the shell
        self._conditions: list[str] = []
        self._budget = Budget(most)
        self._depth = 0
        self._walks: dict[type, Callable[..., Flow]] = {}

    def note(self, text: str) -> None:
        """Say that this line is not understood."""
        self.notes.append(Note(self.line, text))

    def run(self, statement: Statement) -> Flow:
        """Walk a statement. Raises ScriptError where that takes too long."""
        self._depth += 1
        line, budget = statement.line, self._budget
        budget.line = line
        budget.spend()
        if self._depth > _DEEPEST:
            raise ScriptError("commands within commands, too deep", line)
        self.line = line
        try:
            flow = self._walks[type(statement)](statement)
        except Unreadable as error:
            self.line = line
            self.note(f"cannot be read: {error}")
            self.status = None
            return Flow.NEXT
        except ReadOnly as error:
            self.line = line
            flow = self._refused(statement, error)
        finally:
            self._depth -= 1
        if self.status is False and flow is Flow.NEXT:
            self.failed(statement)
        return flow

    def _refused(self, statement: Statement, error: ReadOnly) -> Flow:
        """Go on as bash does where a statement would change a variable that is read-only."""
        self.status = False
        if isinstance(statement, Arithmetic | For):
            return Flow.NEXT
        self.note(f"{error.name} is read-only: it stays as it is, and what follows on this line is not run")
        self.failed(statement)
        return Flow.LINE

    def lines(self, body: Iterable[Statement]) -> Flow:
        """Walk the statements of a text: where a line is given up, the next one goes on."""
        given_up = 0
        for part in body:
            if part.line <= given_up:
                continue
            flow = self.run(part)
            if flow is Flow.LINE:
                given_up = max(part.line, part.last)
            elif flow is not Flow.NEXT:
                return flow
        return Flow.NEXT

    def failed(self, statement: Statement) -> None:
        """Called behind a statement that fails for certain."""

    def perhaps(self, why: str, ways: Sequence[Callable[[], Flow]], or_none: bool) -> Flow:
        """Try each of the ways, one of which is gone, or with `or_none` perhaps none."""
        self._conditions.append(f"line {self.line}: {why}")
        flow = self.tried(ways, or_none)
        self._conditions.pop()
        return flow

    def tried(self, ways: Sequence[Callable[[], Flow]], or_none: bool) -> Flow:
        """The same, without a condition."""
        before = self.state
        forks: list[State] = []
        flows: list[Flow] = []
        output = self.output
        written = len(output) if output is not None else 0
        for way in ways:
            self.state = before.fork()
            flow = way()
            flows.append(flow)
            if flow is not Flow.EXIT:
                forks.append(self.state)
        self.state = before
        self.status = None
        if output is not None and len(output) > written:
            output[written:] = [Unknown("output", "")]  # of which way it is
        for fork in forks:
            if fork.differs:
                before.absorb(forks, or_none)
                break
        if not or_none and flows and all(flow is flows[0] for flow in flows):
            return flows[0]
        self.may_leave |= Flow.BREAK in flows or Flow.CONTINUE in flows
        self._may_return |= Flow.RETURN in flows or Flow.LINE in flows
        self._may_exit |= Flow.EXIT in flows
        return Flow.NEXT

    def perhaps_left(self, status: bool | None) -> bool | None:
        """The status of what may end with another one, or before its end, by `return` or `exit`. A failure
        would end a launch: what is read is one that goes on."""
        return status

    def apart(self, statement: Statement) -> None:
        """Walk it in a shell of its own."""
        before, outer, loops = self.state, self._may_exit, self.loops
        self.state, self._may_exit, self.loops = before.fork(), False, 0
        try:
            self.run(statement)
            if self._may_exit:
                self.status = self.perhaps_left(self.status)
        finally:
            self.state, self._may_exit, self.loops = before, outer, loops
