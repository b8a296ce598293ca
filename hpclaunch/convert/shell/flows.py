"""Compound commands as a launcher means them: what a command depends on."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from hpclaunch.convert.programs.layers import STARTERS
from hpclaunch.convert.reading import Output
from hpclaunch.convert.shell import shopt, walk_loops
from hpclaunch.convert.shell.listing import parts_of, text_of
from hpclaunch.convert.shell.names import python
from hpclaunch.readback.shell import compound
from hpclaunch.readback.shell.flow import Flow
from hpclaunch.readback.shell.reads import Input
from hpclaunch.readback.shell.statements import (
    AndOr,
    Arithmetic,
    Case,
    Coprocess,
    Declaration,
    For,
    Group,
    If,
    Loop,
    Not,
    Pipeline,
    Redirected,
    Simple,
    Statement,
    Subshell,
    Test,
)
from hpclaunch.readback.shell.values import Unknown, Value, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

# After || these change nothing.
SWALLOWS = frozenset(("true", ":", "echo", "printf"))
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_ALONE = (Simple, Declaration, Test, Arithmetic)
_STATUS = (Unknown("either", "?"),)
_MOST_TEES = 20  # behind a part of a pipeline: each of thousands would have all that follow it
_DECIDING = STARTERS | {"exit", "return", "break", "continue", "kill", "scancel", "false"}


class _Start(Struct, frozen=True):
    """What was found before a condition was looked at."""

    commands: int
    assigned: int
    assumed: int


def _start(shell: "Walker") -> _Start:
    return _Start(len(shell.commands), len(shell.assigned), len(shell.assumed))


def _if(shell: "Walker", statement: If) -> Flow:
    (condition, body), *others = statement.branches
    way = _way(shell, body)
    if condition is None:
        return way()
    start = _start(shell)
    passes = _ends_where_it_holds(statement) or not _minds(shell, statement)
    with shell.unnoticed(shell.context.unnoticed or passes):
        flow = shell.excuse(_way(shell, condition))
    if flow is not Flow.NEXT:
        return flow
    shell.line = statement.line
    said = _said(shell, condition)
    holds = shell.on(f"if {said}", way)
    fails = None
    if others:
        after = _way(shell, If((others[0][0] or others[0][1]).line, tuple(others)))
        fails = shell.on(f"not ({said})", after)
    if shell.status is None:
        return shell.tried([holds, fails] if fails else [holds], or_none=not fails)
    emptied = _emptied(shell, said)
    if shell.status:
        return _assumed(shell, start, holds, way, _way(shell, statement), emptied)
    if fails is not None:
        return _assumed(shell, start, fails, after, _way(shell, statement), emptied)
    shell.status = True
    return Flow.NEXT


def _said(shell: "Walker", condition: Statement) -> str:
    """A condition as text, with $? for a variable that has kept it."""

    def kept(found: re.Match[str]) -> str:
        variable = shell.state.get(found[1])
        return "$?" if variable is not None and variable.value == _STATUS else found[0]

    text = text_of(condition)
    return _VARIABLE.sub(kept, text) if "$" in text else text


def _ends_where_it_holds(statement: If) -> bool:
    """Whether the script ends where the condition holds, and goes on where it fails (if done; then exit)."""
    condition, body = statement.branches[0]
    if len(statement.branches) > 1 or condition is None or "!" in text_of(condition):
        return False
    while not isinstance(body, _ALONE) and (parts := tuple(parts_of(body))):
        body = parts[-1]
    return isinstance(body, _ALONE) and body.written.split(None, 1)[:1] == ["exit"]


def _minds(shell: "Walker", statement: If) -> bool:
    """Whether what a condition says decides more than what is printed: a way of the `if` gives up, or starts
    something. What stands behind an `elif` is asked for again: it is found out once."""
    branches = statement.branches
    last, count = branches[-1][1], len(branches)
    known = shell.deciding_branches.get(id(last))
    if known is None or known[0] is not last or known[1] < count:
        least = next((n for n in range(1, count + 1) if _decides(shell, branches[-n][1])), count + 1)
        known = shell.deciding_branches[id(last)] = (last, count, least)
    return known[2] <= count


def _decides(shell: "Walker", statement: Statement) -> bool:
    """Whether it gives up or starts something; of what is within others it is found out once."""
    if isinstance(statement, _ALONE):
        first = statement.written.split(None, 1)[:1]
        return bool(first) and first[0].rpartition("/")[2] in _DECIDING
    known = shell.deciding.get(id(statement))
    if known is None or known[0] is not statement:
        found = any(_decides(shell, part) for part in parts_of(statement))
        known = shell.deciding[id(statement)] = (statement, found)
    return known[1]


def _assumed(
    shell: "Walker",
    start: _Start,
    conditional: Callable[[], Flow],
    way: Callable[[], Flow],
    again: Callable[[], Flow],
    emptied: Mapping[str, str],
) -> Flow:
    """Go a way that is gone where what was assumed since the `start` is so, or before it of those that are
    `emptied`. Where the script gives up there it is not so: somebody gives these variables, and the condition
    is looked at `again`."""
    names = list(dict.fromkeys(each.name for each in shell.assumed[start.assumed :]))
    emptied = {} if names else emptied
    names = names or list(dict.fromkeys(emptied.values()))
    if not names or any(name in shell.required for name in names):
        return way()
    before = shell.state
    shell.state = before.fork()
    flow = way()
    if flow is not Flow.EXIT:
        before.absorb([shell.state], or_none=False)
        shell.state = before
        return flow
    del shell.commands[start.commands :], shell.assigned[start.assigned :]
    shell.state = before.fork()
    conditional()
    shell.state = before
    shell.require(names, start.assumed)
    if emptied:
        shell.late |= set(names)
        shell.assumed[:] = [each for each in shell.assumed if each.name not in names]
    for name, of in emptied.items():
        if (variable := shell.state.get(name)) is not None:
            shell.state.set(name, structs.replace(variable, value=(Unknown("variable", of),)))
    return again()


def _emptied(shell: "Walker", said: str) -> dict[str, str]:
    """The variables of a condition that are empty because nobody gave them, or those that they were made of
    (TOKEN="${HF_TOKEN:-}" before it), and which these are."""
    assumed = {each.name for each in shell.assumed if not each.default and each.name.isidentifier()}
    found: dict[str, str] = {}
    for name in dict.fromkeys(each[1] for each in _VARIABLE.finditer(said)) if assumed else ():
        variable = shell.state.get(name)
        if variable is None or variable.value != ():
            continue
        uses = next((each.uses for each in reversed(shell.assigned) if each.name == name), ())
        of = next((use for use in (name, *uses) if use in assumed), None)
        if of is not None:
            found[name] = of
    return found


def _and_or(shell: "Walker", statement: AndOr) -> Flow:
    return _chain(shell, statement, is_inner=False, is_swallowed=False)


def _chain(shell: "Walker", statement: AndOr, *, is_inner: bool, is_swallowed: bool) -> Flow:
    """Parts with && and || between them. `is_inner`: they are the later ones of a longer chain, and on the
    condition of its first. `is_swallowed`: what stands behind it swallows that its last part fails."""
    start = _start(shell)
    others = statement.others
    again = partial(_chain, shell, statement, is_inner=is_inner, is_swallowed=is_swallowed)
    with shell.unnoticed(shell.context.unnoticed or _swallowed(statement, 0)):
        flow = shell.excuse(_way(shell, statement.first))
    said = _said(shell, statement.first)
    index = 0
    while index < len(others) and flow is Flow.NEXT:
        operator, part = others[index]
        along = compound.gone_along(statement, index) if shell.status is None else 0
        after = index + 1 + along
        swallowed = _swallowed(statement, after) or (is_swallowed and after == len(others))
        way = _swallowing(shell, part, swallowed)
        if along:
            inner = AndOr(part.line, part, others[index + 1 : after])
            way = partial(_chain, shell, inner, is_inner=True, is_swallowed=swallowed)
        if after < len(others):
            way = partial(shell.excuse, way)
        conditional = way if is_inner else shell.on(said if operator == "&&" else f"not ({said})", way)
        if shell.status is None:
            flow = shell.tried([conditional], or_none=True)
        elif shell.status == (operator == "&&"):
            flow = _assumed(shell, start, conditional, way, again, _emptied(shell, said))
            said = _said_behind(shell, part, start, said)
        index = after
    return flow


def _said_behind(shell: "Walker", part: Statement, start: _Start, said: str) -> str:
    """What the rest of a chain hangs on behind a part that was gone for sure: on that alone, where nothing
    tells how it ends."""
    is_told = shell.status is not None or len(shell.assumed) > start.assumed
    return said if is_told else _said(shell, part)


def _not(shell: "Walker", statement: Not) -> Flow:
    flow = shell.excuse(_way(shell, statement.body))
    shell.status = None if shell.status is None else not shell.status
    return flow


def _swallowed(statement: AndOr, index: int) -> bool:
    """Whether that a part fails is swallowed by the one after it."""
    if index >= len(statement.others) or statement.others[index][0] != "||":
        return False
    after = statement.others[index][1]
    return isinstance(after, Simple) and bool(after.words) and after.words[0].written in SWALLOWS


def _swallowing(shell: "Walker", part: Statement, swallowed: bool) -> Callable[[], Flow]:
    def way() -> Flow:
        with shell.unnoticed(shell.context.unnoticed or swallowed):
            return shell.run(part)

    return way


def _pipeline(shell: "Walker", statement: Pipeline) -> Flow:
    output, given = shell.output, shell.input
    count = len(statement.parts)
    context = shell.context
    outer = context.pipeline if context.pipeline[1] > 1 and context.within == "" else (0, 1)
    signs = ("", *statement.operators)
    tees = [
        tees_of(shell, part, "&" if sign == "|&" else "1")
        for part, sign in zip(statement.parts, signs, strict=True)
    ]
    any_tee = any(tees)
    for index, part in enumerate(statement.parts):
        last = index == count - 1
        piped: list[Any] = []
        shell.output = output if last else piped
        shell.spend(2)
        near = tees[index + 1 : index + 1 + _MOST_TEES] if any_tee else ()
        behind = tuple(each for part in near for each in part)
        unnoticed = context.unnoticed or (not last and "pipefail" not in shell.options)
        place = outer if outer[1] > 1 else (index, count)
        with shell.within(pipeline=place, unnoticed=unnoticed, writes=(*context.writes, *behind)):
            if last and shopt.LAST_HERE in shell.options:
                shell.run(part)
            else:
                shell.apart(part)
        text = tuple(piped)
        told = text if text and not _unknown_output(text) else None
        source = (Unknown("output", text_of(part)),) if told is None else None
        shell.input = Input("a pipe", told, source)
    shell.output, shell.input = output, given
    shell.status = None
    return Flow.NEXT


def _unknown_output(value: Value) -> bool:
    return any(isinstance(part, Unknown) and part == Unknown("output", "") for part in value)


def tees_of(shell: "Walker", part: Statement, descriptor: str) -> tuple[Output, ...]:
    """The files of `tee`, where a part of a pipeline is that. `descriptor`: what it is given."""
    simple = _only(part)
    if simple is None or not simple.words or simple.words[0].written != "tee":
        return ()
    with shell.aside():
        words = shell.expander.words(simple.words)[1:]
    append = any(known(word) in ("-a", "--append", "-ai", "-ia") for word in words)
    paths = [python(word) for word in words if not (known(word) or "").startswith("-")]
    return tuple(Output(path, append, descriptor, tee=True) for path in paths)


def _only(part: Statement) -> Simple | None:
    while isinstance(part, Group | Redirected | Subshell):
        if isinstance(part, Group):
            if len(part.body) != 1:
                return None
            part = part.body[0]
        else:
            part = part.body
    return part if isinstance(part, Simple) else None


def _subshell(shell: "Walker", statement: Subshell) -> Flow:
    changes = {"background": True, "unnoticed": True} if statement.background else {}
    options, given = set(shell.options), shell.input
    shell.subshells.append(shell.files.place(statement.line, statement.last))
    if statement.background:
        shell.input = Input(
            "/dev/null", ()
        )  # where no redirection gives another (bash(1), "COMMAND EXECUTION ENVIRONMENT")
    with shell.within(**changes):
        shell.apart(statement.body)
    shell.options, shell.input = options, given
    if statement.background:
        shell.status = True
    return Flow.NEXT


def _coprocess(shell: "Walker", statement: Coprocess) -> Flow:
    with shell.within(background=True, unnoticed=True):
        shell.apart(statement.body)
    return Flow.NEXT


def _case(shell: "Walker", statement: Case) -> Flow:
    subject = shell.expander.value(statement.word)
    text = known(subject)
    found = [[shell.expander.pattern(each) for each in item.patterns] for item in statement.items]
    bodies = []
    for index in range(len(found)):
        bodies.append(Group(statement.line, compound.case_bodies(statement.items, index)))
        shell.spend(len(bodies[-1].body) // 8)  # many may fall into many others
    likes = [[_like(shell, pattern, text) for pattern in each] for each in found]
    if all(alike is not None for each in likes for alike in each):
        shell.status = True
        told = [[bool(alike) for alike in each] for each in likes]
        return shell.run(Group(statement.line, compound.chosen(statement.items, told)))
    ways = []
    for item, each, body in zip(statement.items, found, bodies, strict=True):
        written = " | ".join(word.written for word in item.patterns)
        ways.append(
            shell.on(
                f"case {statement.word.written} in {written})",
                compound.arm(shell, statement, subject, each, body),
            )
        )
    return shell.tried(ways, or_none=["*"] not in found)


def _like(shell: "Walker", pattern: str | None, text: str | None) -> bool | None:
    return None if pattern is None or text is None else shell.matches(pattern, text)


def _way(shell: "Walker", statement: Statement) -> Callable[[], Flow]:
    return lambda: shell.run(statement)


WALKS: "dict[type, Callable[[Walker, Any], Flow]]" = {
    If: _if,
    AndOr: _and_or,
    Not: _not,
    Pipeline: _pipeline,
    Subshell: _subshell,
    Coprocess: _coprocess,
    For: compound.in_loop(walk_loops.walk_for),
    Loop: compound.in_loop(walk_loops.walk_loop),
    Case: _case,
}
