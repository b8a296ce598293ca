"""Loops as a launcher means them: walked once for all rounds, or each round of those that only compute."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from hpclaunch.convert.reading import Loop as Around
from hpclaunch.convert.shell import loops, over_nodes
from hpclaunch.convert.shell.names import python, used
from hpclaunch.readback.shell import arithmetic, outside
from hpclaunch.readback.shell.flow import LEAVES, Flow
from hpclaunch.readback.shell.state import Array, Variable
from hpclaunch.readback.shell.statements import For, Group, Loop, Statement
from hpclaunch.readback.shell.values import Unknown, Value

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_COUNTS = re.compile(r"\bseq\b|\.\.")  # a number of trials, which may be 1
_MOST_ROUNDS = 300  # of a loop that only computes


def walk_for(shell: "Walker", statement: For) -> Flow:
    """Walk `for NAME in WORDS`: round by round where the words are told, else once for all rounds."""
    rounds = loops.of_words(shell, statement)
    if rounds.count == 0:
        return Flow.NEXT
    shell.state.check(statement.name)
    if rounds.count is not None and rounds.count == len(rounds.values):
        if loops.is_plain(shell, statement.body):
            return _plainly(shell, statement, rounds.values)
        begins = partial(_given, shell, statement.name, rounds.values)
        gone = _gone_through(shell, statement, begins, max(_MOST_ROUNDS, rounds.count))
        if gone is not None:
            return gone
        if rounds.count == 1 and not _COUNTS.search(rounds.over):
            return _alone(shell, statement, rounds)
    return _once(shell, statement, statement.name, rounds)


def _alone(shell: "Walker", statement: For, rounds: loops.Rounds) -> Flow:
    """Walk the one round of a loop over what is no count of trials: nothing in it is another one in each
    round."""
    shell.state.begin(statement.name, rounds.values[0])
    shell.note_assigned(statement.name, used(rounds.over), default=False)
    flow = shell.tried([partial(shell.run, statement.body)], or_none=False)
    shell.status = None
    return flow if flow in LEAVES else Flow.NEXT


def _plainly(shell: "Walker", statement: For, values: Sequence[Value]) -> Flow:
    """Walk each round of a loop that nothing leaves."""
    for value in values:
        shell.spend(2)
        shell.state.begin(statement.name, value)
        flow = shell.run(statement.body)
        if flow is not Flow.NEXT:
            return flow
    return Flow.NEXT


def _given(shell: "Walker", name: str, values: Sequence[Value], number: int) -> bool:
    """Begin a round of `for` with its value; False where there are no more."""
    if number < len(values):
        shell.state.begin(name, values[number])
    return number < len(values)


def _holds(shell: "Walker", statement: Loop, number: int) -> bool | None:
    """Begin a round of `while` with its condition, or of `for ((...))`; None where that is not known."""
    if statement.condition is not None:
        with shell.unnoticed(True):
            shell.excuse(partial(shell.run, statement.condition))
        return shell.status
    first, condition, after = statement.expressions
    expander = shell.expander
    wanted = [first if number == 0 else after] if (first if number == 0 else after).pieces else []
    if any(expander.number(each) is None for each in wanted):
        return None
    holds = expander.number(condition) if condition.pieces else 1
    return None if holds is None else holds != 0


def walk_loop(shell: "Walker", statement: Loop) -> Flow:
    """Walk `while`, `until` and `for ((...))`: round by round where the condition is told, else once."""
    if loops.is_gone_once(statement):
        flow = shell.run(statement.body)
        return Flow.NEXT if flow is Flow.BREAK else flow
    if statement.condition is not None or len(statement.expressions) == 3:
        begins = partial(_holds, shell, statement)
        gone = _gone_through(shell, statement, begins, _MOST_ROUNDS)
        if gone is not None:
            return gone
    rounds = loops.of_condition(shell, statement)
    if rounds.count == 0:
        return Flow.NEXT
    count = None
    if rounds.begins and isinstance(statement.body, Group):
        count, *others = statement.body.body
        statement = structs.replace(statement, body=structs.replace(statement.body, body=tuple(others)))
    return _once(shell, statement, rounds.variable, rounds, count)


class _Trial:
    """What is tried, and taken back where nothing came of it."""

    def __init__(self, shell: "Walker"):
        self._shell = shell
        self._state, self._input = shell.state, shell.input
        self.commands, self._assigned = len(shell.commands), len(shell.assigned)
        self.assumed, self._unclear = len(shell.assumed), len(shell.unclear)
        self._output = len(shell.output) if shell.output is not None else 0
        self._left, shell.may_leave = shell.may_leave, False
        shell.state = shell.state.fork()

    def keep(self) -> None:
        """All happened as it was tried."""
        shell = self._shell
        self._state.absorb([shell.state], or_none=False)
        shell.state, shell.may_leave = self._state, self._left

    def take_back(self) -> None:
        """All is as before."""
        shell = self._shell
        shell.state, shell.input, shell.may_leave = self._state, self._input, self._left
        del shell.commands[self.commands :], shell.assigned[self._assigned :]
        del shell.assumed[self.assumed :], shell.unclear[self._unclear :]
        if shell.output is not None:
            del shell.output[self._output :]


def _gone_through(
    shell: "Walker", statement: For | Loop, begins: Callable[[int], bool | None], most: int
) -> Flow | None:
    """Walk each round of a loop that only computes, such as one over the script's arguments, where `begins`
    knows of each whether it is gone; None where that cannot be, and all is as before."""
    if shell.endless.get(id(statement)) is statement or not loops.may_only_compute(shell, statement):
        return None
    trial = _Trial(shell)
    flow, goes_on, number = Flow.NEXT, begins(0), 0
    status: bool | None = True  # of the loop: that of its last command, or of the break
    while goes_on and number < most and not shell.may_leave:
        shell.spend(2)
        flow = shell.run(statement.body)
        status = True if flow is Flow.BREAK else shell.status
        number += 1
        goes_on = flow in (Flow.NEXT, Flow.CONTINUE) and begins(number)
    only = all(loops.is_no_work(each) for each in shell.commands[trial.commands :])
    if only and goes_on is False and not shell.may_leave:
        trial.keep()
        shell.status = status
        return flow if flow in LEAVES else Flow.NEXT
    trial.take_back()
    shell.endless[id(statement)] = statement
    return None


class _Changes(Struct, frozen=True):
    """What differs from round to round. `grows` are variables that a round changes by what they were, and
    `forgotten` those of which it is not known what a round begins with; `shifts`: a round takes arguments
    away, and `of_nodes`: it is for one of the nodes."""

    grows: frozenset[str]
    forgotten: frozenset[str]
    shifts: bool
    of_nodes: bool


def _changes(shell: "Walker", statement: For | Loop, variable: str, rounds: loops.Rounds) -> _Changes:
    grows = loops.growing(shell, statement.body)
    by_condition: frozenset[str] = frozenset()
    if isinstance(statement, Loop) and statement.condition is not None:
        by_condition = loops.growing(shell, statement.condition)
        grows |= by_condition
    forgotten = frozenset(
        name
        for each in (statement.expressions if isinstance(statement, Loop) else ())
        for name in arithmetic.changed(each.written)
        if name != variable
    )
    if rounds.count == 1:
        return _Changes(grows, forgotten, False, False)
    forgotten |= by_condition
    # The trials of a job begin as its first one did, and each job as the one before it has left it.
    if loops.submits(shell, statement.body):
        forgotten |= grows
    of_nodes = over_nodes.is_one(shell, statement, variable, rounds.over)
    return _Changes(grows, forgotten, loops.shifts(shell, statement.body), of_nodes)


def _once(
    shell: "Walker",
    statement: For | Loop,
    variable: str,
    rounds: loops.Rounds,
    count: Statement | None = None,
) -> Flow:
    """Walk a loop's body once, for all rounds. `count` is what a round begins with, where it only counts."""
    values = tuple(map(python, rounds.values))
    around = Around(
        shell.place,
        variable,
        values,
        rounds.count,
        outside(rounds.over),
        first=rounds.first,
        by_body=rounds.by_body,
    )
    changes = _changes(shell, statement, variable, rounds)
    never = False

    def once() -> Flow:
        nonlocal never
        if rounds.count != 1:
            shell.input = shell.input.untold()  # each round reads on
        with shell.within(loops=(*shell.context.loops, around)):
            if isinstance(statement, Loop) and statement.condition is not None:
                assumed = len(shell.assumed)
                with shell.within(unnoticed=True):
                    shell.run(statement.condition)
                never = shell.status is False and not rounds.count and len(shell.assumed) == assumed
                if never:
                    return Flow.NEXT
            _begin_round(shell, statement, variable, changes, count)
            flow = shell.run(statement.body)
            shell.note_changed(changes.grows - {variable})
        if rounds.count != 1:
            _forget_grown(shell, changes.grows)
        return flow

    given, assigned = shell.input, len(shell.assigned)
    flow = shell.tried([once], or_none=not rounds.count)
    shell.status, shell.input = True if never else None, given
    _forget_variable(shell, variable, assigned)
    return flow if flow in LEAVES and rounds.count else Flow.NEXT


def _begin_round(
    shell: "Walker", statement: For | Loop, variable: str, changes: _Changes, count: Statement | None
) -> None:
    if changes.shifts:
        shell.state.arguments = None  # each round has others
    for name in changes.forgotten:
        shell.state.forget(name)
    if changes.of_nodes:
        over_nodes.forget(shell, loops.of_body(shell, statement.body))
    if variable:
        before = shell.state.get(variable)
        exported = before.exported if before is not None else shell.state.is_marked(variable)
        shell.state.set(variable, Variable((Unknown("variable", variable),), exported))
        if count is not None:  # it has given the variable what that has in this round
            shell.line = count.line
            shell.note_assigned(variable, (), default=False)


def _forget_grown(shell: "Walker", grows: frozenset[str]) -> None:
    """Forget what the variables have behind all rounds; of an array it is known what one has put into it."""
    for name in grows:
        after = shell.state.get(name)
        if after is not None and isinstance(after.value, Array):
            shell.state.set(name, Variable(structs.replace(after.value, whole=False), after.exported))
        elif after is not None:
            shell.state.forget(name)


def _forget_variable(shell: "Walker", variable: str, assigned: int) -> None:
    """Forget the loop's own variable, and what was made of it since so many were `assigned`: behind the loop
    they have the value of the last round, and no more that of each."""
    left = shell.state.get(variable) if variable else None
    if left is None or left.value != (Unknown("variable", variable),):
        return
    shell.state.forget(variable)
    for name in {each.name for each in shell.assigned[assigned:]}:
        made = shell.state.get(name)
        if made is not None and isinstance(made.value, tuple) and left.value[0] in made.value:
            shell.state.forget(name)
