"""Loops that start the run again until it ends well: a job starts it once."""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import rounds
from hpclaunch.convert.mapping.words.hosts import loops_of_trials
from hpclaunch.convert.reading import Command, Loop, ShellReading

_SUCCEEDED = re.compile(
    r"\$\{?(?:\?|\w*(?:rc|ret|stat|err|exit|code)\w*)\}?\"?\s*(?:-eq|==?)\s*\"?0\b|!\s*\(\(\s*\$\?\s*\)\)",
    re.IGNORECASE,
)
_WHY = "a job starts its run once, and ends when that fails"
_TODO = (
    "let the command itself try again what failed; `requeue: true` starts the job again where a node fails, "
    "and `chain` where its time limit or the exit status 75 ended it"
)


def of(reading: ShellReading, command: Command, swept: Sequence[Loop]) -> list[Loop]:
    """The loops around the run, but for those of a sweep, that go on only while it fails, and in which it is
    the same each time."""
    return [
        loop
        for loop in loops_of_trials(command)
        if loop not in swept and _ends_by_success(reading, command, loop) and _is_same(reading, command, loop)
    ]


def say(loops: Sequence[Loop], command: Command, draft: Draft) -> None:
    """Say of the loops what becomes of them."""
    for loop in loops:
        what = f"a loop that starts the run again until it ends well ({loop.over})"
        draft.say("left", (loop.place, command.place), what, why=_WHY, todo=_TODO)


def _is_same(reading: ShellReading, command: Command, loop: Loop) -> bool:
    used = rounds.uses_of(reading, command)
    return loop.variable not in used and not rounds.changed(reading, command, [loop])


def _ends_by_success(reading: ShellReading, command: Command, loop: Loop) -> bool:
    if loop.count is None and _is_asked(reading, command, loop):
        return True
    ends = rounds.all_leaving(reading, [loop])
    if any(each.place.line < command.place.line for each in ends):
        return False
    again = any(each.program == "continue" and rounds.is_on_failure(each, command) for each in ends)
    return any(
        each.program != "continue" and (_is_on_success(each, command) or (again and not each.conditions))
        for each in ends
    )


def _is_asked(reading: ShellReading, command: Command, loop: Loop) -> bool:
    """Whether the condition of `while` is that the run has failed: `until RUN` is such a one too."""
    over, written = " ".join(loop.over.split()), " ".join(command.written.split())
    if written and over == f"! {written}":
        return True
    names = re.findall(r"\$\{?(\w+)", over)
    by_body = any(loop in each.loops for name in names for each in reading.given(name))
    refused = _SUCCEEDED.search(over) if over.startswith("!") else rounds.FAILED.search(over)
    return by_body and refused is not None


def _is_on_success(leaving: Command, command: Command) -> bool:
    condition = " ".join(leaving.conditions[-1].partition(": ")[2].split()) if leaving.conditions else ""
    written = " ".join(command.written.split())
    if condition.removeprefix("if ").strip() == written:
        return bool(written)
    if condition.startswith("not ("):
        return rounds.FAILED.search(condition) is not None
    return _SUCCEEDED.search(condition) is not None
