"""What the rounds of a loop around the run have of their own: numbers, variables that change, and ends.

A job's trials run all, each with the same words and variables, but for its number and its seed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around.ways import PLACE
from hpclaunch.convert.mapping.slurm.batch.asked import number
from hpclaunch.convert.mapping.words import hosts, made
from hpclaunch.convert.reading import Assigned, Command, Loop, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known, shown

_ENOUGH = 12  # rounds of a loop without a known end: a sum that rises by one in these does so in all
_BRIEF = 60  # characters of a command
_OF_EACH = "write a sweep or trials of them in the job file"
_LEAVES = frozenset(("break", "continue", "return", "exit"))
FAILED = re.compile(
    r"\$\{?(?:\?|\w*(?:rc|ret|stat|err|exit|code)\w*)\}?\"?\s*(?:-ne|-gt|!=|>)\s*0|!\s*\$\?|\(\(\s*\$\?\s*\)\)",
    re.IGNORECASE,
)
_OF_SEQ = re.compile(r"\$\(seq (?:-w )?(\d{1,9}) [^\s-]\S*\)")  # of which the end is not told


def say_rounds(command: Command, draft: Draft) -> None:
    """Say of a launch that nobody makes a sweep or trials of that loops start it again and again."""
    for loop in command.loops:
        if loop.count == 1 or loop.hosts:
            continue
        of = f"{loop.count} rounds" if loop.count else "the rounds"
        why = f"each of {of} starts `{command.brief(_BRIEF)}` again: what is told is of one"
        draft.say("left", (loop.place,), f"a loop over {loop.over}", why=why, todo=_OF_EACH)


def numbers(loop: Loop, written: str = r"0|[1-9]\d{0,17}") -> list[int] | None:
    """The numbers that the variable goes through, the first of them where the end is not told; None where it
    goes through anything else, or through numbers that are not `written` so."""
    texts = [known(value) for value in loop.values]
    if loop.count is not None and texts:
        found = [int(text) for text in texts if text and re.fullmatch(written, text)]
        return found if len(found) == len(texts) else None
    first = loop.first
    if first is None and (of_seq := _OF_SEQ.fullmatch(loop.over)):
        first = int(of_seq[1])
    return None if first is None else list(range(first, first + _ENOUGH))


def counts_trials(loop: Loop) -> bool:
    """Whether the variable is the number of the round, from 1 on."""
    found = numbers(loop)
    return found is not None and found == list(range(1, len(found) + 1))


def first_of_rising(value: Value, reading: ShellReading, loop: Loop, others: Mapping[str, int]) -> int | None:
    """The number that a value is in the first round, where it is one more in each that follows. `others` are
    variables with numbers."""
    zeros = any("10#$" in part.name for part in value if isinstance(part, Unknown))
    counted = numbers(loop, r"\d{1,18}") if zeros else numbers(loop)
    rounds = [number(value, reading, {**others, loop.variable: each}) for each in counted or ()]
    if not rounds or rounds[0] is None:
        return None
    first = rounds[0]
    return first if rounds == list(range(first, first + len(rounds))) else None


def changed(reading: ShellReading, command: Command, loops: Sequence[Loop]) -> list[Assigned]:
    """The last that a round gives each variable of the command which the one after it has not from itself:
    what follows the command, and what is made of the variable's own value."""
    if not loops:
        return []
    given = {**dict(command.environment), **dict(command.prefix)}
    text = " ".join(map(shown, command.words))
    uses = uses_of(reading, command)
    inside = {each.name: each for each in reading.assigned if any(loop in loops for loop in each.loops)}
    inside = {name: each for name, each in inside.items() if not _stays(reading, each, loops)}
    grows = {each.name for each in reading.assigned if _is_in(each.loops, loops) and each.name in each.uses}
    found = []
    counters = {loop.variable for loop in loops if loop.by_body}
    for name, each in inside.items():
        if name in counters or (name in grows and _starts_anew(reading, command, name, loops)):
            continue
        handed = (each.exported and each.array is None) or name in given
        either = any(isinstance(part, Unknown) and part.kind == "either" for part in given.get(name, ()))
        after = each.place.file == command.place.file and each.place.line > command.place.line
        same_line = each.place.line == command.place.line and shown(each.value) not in text
        if handed and name not in dict(command.prefix):
            differs = name in grows or (after if either else given.get(name) != each.value)
        else:
            differs = name in uses and (name in grows or after or same_line)
        if differs:
            found.append(each)
    return found


def _stays(reading: ShellReading, given: Assigned, loops: Sequence[Loop]) -> bool:
    """Whether a round gives the variable the value that it has: export SEED=$SEED."""
    its = reading.given(given.name)
    within = [each for each in its if _is_in(each.loops, loops)]
    own = made.by_itself(reading, given.name)
    if all(each in own for each in within):
        return True
    before = [each for each in its if not _is_in(each.loops, loops) and each.place < given.place]
    return len(within) == 1 and bool(before) and before[-1].value == given.value


def _starts_anew(reading: ShellReading, command: Command, name: str, loops: Sequence[Loop]) -> bool:
    """Whether each round gives the variable a value of its own before a loop over hosts within it counts
    it on from there."""
    inner = command.loops[-1]
    if inner in hosts.loops_of_trials(command):
        return False
    within = [each for each in reading.given(name) if _is_in(each.loops, loops)]
    # Where a loop begins the walk says which variables its rounds change.
    first, *others = [
        each
        for each in within
        if each.loops[-1] == inner or each.uses != (name,) or each.place != each.loops[-1].place
    ]
    anew = name not in first.uses and not first.conditions and first.loops[-1] in loops
    return anew and first.place < inner.place and all(each.loops[-1] == inner for each in others)


def leaving(reading: ShellReading, command: Command, loops: Sequence[Loop]) -> list[Command]:
    """What ends a round or the loop for another reason than a run that failed."""
    return [
        each
        for each in all_leaving(reading, loops)
        if not is_on_failure(each, command)
        and not (
            each.program == "exit" and reading.ends_apart(each.place, command.place, each.loops[-1].place)
        )
    ]


def ends_at_failure(reading: ShellReading, command: Command, loop: Loop) -> bool:
    """Whether the loop ends with a run that fails: the shell gives up by itself (set -e, a trap), or a line
    looks at the status."""
    if any(
        is_on_failure(each, command) and each.program != "continue" for each in all_leaving(reading, [loop])
    ):
        return True
    return _gives_up(reading, command)


def _gives_up(reading: ShellReading, command: Command) -> bool:
    """Whether the script ends by itself where the command fails: set -e, or a trap."""
    if command.unnoticed or " ".join(command.written.split()) in tested(reading):
        return False
    return any(ends for each, ends in minded(reading) if each is command)


def tested(reading: ShellReading) -> set[str]:
    """The commands of which a list asks whether they did well or not, as they are written: of A in `A && B`
    or `A || STATUS=$?` no set -e minds that it fails."""
    of_all = [each.conditions for each in reading.commands] + [each.conditions for each in reading.assigned]
    return {_tested(conditions[-1]) for conditions in of_all if conditions}


def minded(reading: ShellReading) -> Iterator[tuple[Command, bool]]:
    """Each command, and whether the script ends by itself where it fails and its status is read."""
    first = next((each.text for each in reading.sources if each.name == reading.script), "").partition("\n")[
        0
    ]
    ends, traps = bool(re.match(r"#!.*\s-\w*e", first)), False
    for each in reading.commands:
        yield each, ends or traps
        if each.program not in ("trap", "set"):
            continue
        words = [known(word) or "" for word in each.words]
        traps = traps or (words[:1] == ["trap"] and "ERR" in words)
        if words[:1] == ["set"]:
            ends = _set(words[1:], ends)


def _set(words: Sequence[str], gives_up: bool) -> bool:
    for index, word in enumerate(words):
        named = word[1:].endswith("o") and words[index + 1 : index + 2] == ["errexit"]
        if re.fullmatch(r"[-+][A-Za-z]+", word) and ("e" in word or named):
            gives_up = word[0] == "-"
    return gives_up


def all_leaving(reading: ShellReading, loops: Sequence[Loop]) -> list[Command]:
    """What ends a round or a loop, of one within these that is not around the run only what ends more."""
    return [
        each
        for each in reading.of(*_LEAVES)
        if _is_in(each.loops, loops)
        and not each.within
        and each.pipeline[1] == 1  # a part of a pipeline is a shell of its own
        and (each.program in ("exit", "return") or len(each.words) > 1 or each.loops[-1] in loops)
    ]


def is_on_failure(leaving: Command, command: Command) -> bool:
    """Whether it is done where the command has failed."""
    if not leaving.conditions:
        return False
    condition = leaving.conditions[-1]
    written = " ".join(command.written.split())
    condition = " ".join(condition.split())
    refused = f"not ({written}" in condition or f"if ! {written}" in condition
    return bool(written and refused) or bool(FAILED.search(condition) and "not (" not in condition)


def _is_in(found: Sequence[Loop], loops: Sequence[Loop]) -> bool:
    return any(each in loops for each in found)


def uses_of(reading: ShellReading, command: Command) -> set[str]:
    """The variables that the command's words have, also by way of others."""
    found: set[str] = set()
    waiting = list(command.uses)
    while waiting:
        name = waiting.pop()
        each = reading.last(name)
        if name not in found:
            found.add(name)
            waiting += each.uses if each is not None else ()
    return found


def _tested(condition: str) -> str:
    """The command that a condition of a list is, whether it did well or not."""
    text = PLACE.sub("", condition)
    text = text[5:-1] if text.startswith("not (") else text
    return "" if text.startswith(("if ", "case ")) else " ".join(text.split())
