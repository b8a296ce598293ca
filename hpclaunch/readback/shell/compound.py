"""Compound commands: pipelines, conditions, loops and the like. Each gets the shell and the statement."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from hpclaunch.readback.shell import conditions
from hpclaunch.readback.shell.extglob import matches
from hpclaunch.readback.shell.flow import LEAVES, Flow
from hpclaunch.readback.shell.parameters import is_name
from hpclaunch.readback.shell.pieces import ARGUMENTS, variable_of
from hpclaunch.readback.shell.reads import Input
from hpclaunch.readback.shell.statements import (
    AndOr,
    Arithmetic,
    Case,
    CaseItem,
    Coprocess,
    For,
    Function,
    Group,
    If,
    Loop,
    Not,
    Pipeline,
    Statement,
    Subshell,
    Test,
)
from hpclaunch.readback.shell.values import Names, Unknown, Value, known

if TYPE_CHECKING:
    from hpclaunch.readback.shell.evaluate import Shell


def _test(shell: "Shell", statement: Test) -> Flow:
    expander = shell.expander
    condition = conditions.Condition(
        expander.value, expander.pattern, expander.number, shell.matches, shell.is_like
    )
    shell.status = condition.holds(shell.tested(statement.words))
    return Flow.NEXT


def _arithmetic(shell: "Shell", statement: Arithmetic) -> Flow:
    for expression in statement.expressions:
        expander = shell.expander
        number = shell.computed(expression)
        shell.status = None if number is None else number != 0
        if number is None and expander.is_wrong(expression):
            shell.status = False
    return Flow.NEXT


def _pipeline(shell: "Shell", statement: Pipeline) -> Flow:
    output, given = shell.output, shell.input
    for part in statement.parts:
        last = part is statement.parts[-1]
        shell.output = output if last else None
        shell.apart(part)
        shell.input = Input("a pipe")
    shell.output, shell.input = output, given
    shell.status = None
    return Flow.NEXT


def _coprocess(shell: "Shell", statement: Coprocess) -> Flow:
    shell.note("what a coprocess reads and writes is not followed")
    shell.apart(statement.body)
    return Flow.NEXT


def _subshell(shell: "Shell", statement: Subshell) -> Flow:
    shell.apart(statement.body)
    return Flow.NEXT


def _not(shell: "Shell", statement: Not) -> Flow:
    flow = shell.run(statement.body)
    shell.status = None if shell.status is None else not shell.status
    return flow


def gone_along(statement: AndOr, index: int) -> int:
    """How many parts behind that one are gone where it is, and none where it is not: with a && b && c what b
    sets is so where c runs, whatever of a is not known."""
    found = 0
    if statement.others[index][0] == "&&":
        for operator, _ in statement.others[index + 1 :]:
            if operator != "&&":
                break
            found += 1
    return found


def _and_or(shell: "Shell", statement: AndOr) -> Flow:
    flow = shell.run(statement.first)
    index = 0
    while index < len(statement.others) and flow is Flow.NEXT:
        operator, part = statement.others[index]
        after = index + 1
        if shell.status is None:
            after += gone_along(statement, index)
            inner = AndOr(part.line, part, statement.others[index + 1 : after])
            way = _way(shell, inner if inner.others else part)
            flow = shell.perhaps(f"what stands before {operator}", (way,), or_none=True)
        elif shell.status == (operator == "&&"):
            flow = shell.run(part)
        index = after
    return flow


def _group(shell: "Shell", statement: Group) -> Flow:
    for part in statement.body:
        flow = shell.run(part)
        if flow is not Flow.NEXT:
            return flow
    return Flow.NEXT


def _if(shell: "Shell", statement: If) -> Flow:
    for index, (condition, body) in enumerate(statement.branches):
        holds: bool | None = True
        if condition is not None:
            flow = shell.run(condition)
            if flow is not Flow.NEXT:
                return flow
            holds = shell.status
        if holds:
            return shell.run(body)
        if holds is None:
            rest = statement.branches[index + 1 :]
            ways = [_way(shell, body)]
            if rest:
                ways.append(_way(shell, If(statement.line, rest)))
            return shell.perhaps("the condition of `if`", ways, or_none=not rest)
    shell.status = True
    return Flow.NEXT


def in_loop(walk: Callable[..., Flow]) -> Callable[..., Flow]:
    """The walk of a loop, which `break` and `continue` are for."""

    def walked(shell: "Shell", statement: Statement) -> Flow:
        shell.loops += 1
        try:
            return walk(shell, statement)
        finally:
            shell.loops -= 1

    return walked


def _for(shell: "Shell", statement: For) -> Flow:
    written = (ARGUMENTS,) if statement.words is None else statement.words
    for word in shell.expander.words(written):
        if known(word) is None:
            flow = _for_unknown(shell, statement, word)
        else:
            shell.state.begin(statement.name, word)
            flow = shell.run(statement.body)
        if flow in LEAVES:
            return flow
        if flow is Flow.BREAK:
            break
    return Flow.NEXT


def _for_unknown(shell: "Shell", statement: For, word: Value) -> Flow:
    part = word[0]
    if len(word) == 1 and isinstance(part, Names):
        # Those that the script itself has exported so far, one by one; then all others, as one.
        for name in shell.state.exported():
            shell.state.begin(statement.name, (name,))
            shell.run(statement.body)
        shell.state.begin(statement.name, word)
        shell.run(statement.body)
        return Flow.NEXT

    def once() -> Flow:
        shell.state.begin(statement.name, word)
        return shell.run(statement.body)

    flow = shell.perhaps("a loop", (once,), or_none=True)
    return flow if flow in LEAVES else Flow.NEXT


def _loop(shell: "Shell", statement: Loop) -> Flow:
    def once() -> Flow:
        shell.input = shell.input.untold()  # each round reads on
        if statement.name:
            shell.state.assign(statement.name, (Unknown("input", "select"),))
        for expression in statement.expressions:
            shell.expander.number(expression)
        if statement.condition is not None:
            shell.run(statement.condition)
        shell.run(statement.body)
        return Flow.NEXT

    return shell.perhaps("a loop", (once,), or_none=True)


def _case(shell: "Shell", statement: Case) -> Flow:
    expander = shell.expander
    subject = expander.value(statement.word)
    if len(subject) == 1 and isinstance(subject[0], Names):
        return _case_of_names(shell, statement, subject[0])
    text = known(subject)
    found = [[expander.pattern(each) for each in item.patterns] for item in statement.items]
    if text is not None and all(pattern is not None for each in found for pattern in each):
        shell.status = True
        likes = [[matches(pattern or "", text) for pattern in each] for each in found]
        return shell.run(Group(statement.line, chosen(statement.items, likes)))
    ways = [
        arm(shell, statement, subject, each, Group(statement.line, case_bodies(statement.items, index)))
        for index, each in enumerate(found)
    ]
    return shell.perhaps("the word of `case`", ways, or_none=["*"] not in found)


def arm(
    shell: "Shell", statement: Case, subject: Value, patterns: Sequence[str | None], body: Statement
) -> Callable[[], Flow]:
    """An arm of `case` that may be gone: there the word, a variable, is like one of the patterns."""

    def way() -> Flow:
        variable = variable_of(statement.word)
        if (
            is_name(variable)
            and len(subject) == 1
            and isinstance(subject[0], Unknown)
            and None not in patterns
        ):
            like = tuple(pattern for pattern in patterns if pattern is not None)
            shell.state.tell(variable, (structs.replace(subject[0], like=like),))
        return shell.run(body)

    return way


def _case_of_names(shell: "Shell", statement: Case, names: Names) -> Flow:
    """Each arm sees those names that its patterns, and none before, match."""
    variable = variable_of(statement.word)
    if not is_name(variable):
        shell.note("a name of any variable, within a word")
        return Flow.NEXT
    seen: tuple[str, ...] = names.but
    for item in statement.items:
        patterns = tuple(shell.expander.pattern(each) or "" for each in item.patterns)
        only = () if "*" in patterns else patterns
        shell.state.tell(variable, (Names(only, seen),))
        shell.run(item.body)
        seen += patterns
    shell.state.tell(variable, (names,))
    return Flow.NEXT


def _define(shell: "Shell", statement: Function) -> Flow:
    shell.state.define(statement.name, statement)
    return Flow.NEXT


def _way(shell: "Shell", statement: Statement) -> Callable[[], Flow]:
    return lambda: shell.run(statement)


def case_bodies(items: Sequence[CaseItem], start: int) -> tuple[Statement, ...]:
    """The arm, and those into which it falls by ;&"""
    bodies: list[Statement] = []
    for index in range(start, len(items)):
        bodies.append(items[index].body)
        if items[index].end != ";&":
            break
    return tuple(bodies)


def chosen(items: Sequence[CaseItem], likes: Sequence[Sequence[bool]]) -> tuple[Statement, ...]:
    """What runs, with whether each pattern of each arm is like the word: the first arm that matches, those
    into which it falls by ;& and after ;;& the next one that matches."""
    bodies: list[Statement] = []
    falls = False
    for item, alike in zip(items, likes, strict=True):
        if falls or any(alike):
            bodies.append(item.body)
            falls = item.end == ";&"
            if item.end not in (";&", ";;&"):
                break
    return tuple(bodies)


WALKS: "dict[type, Callable[[Shell, Any], Flow]]" = {
    Test: _test,
    Arithmetic: _arithmetic,
    Pipeline: _pipeline,
    Coprocess: _coprocess,
    Not: _not,
    AndOr: _and_or,
    Group: _group,
    Subshell: _subshell,
    If: _if,
    For: in_loop(_for),
    Loop: in_loop(_loop),
    Case: _case,
    Function: _define,
}
