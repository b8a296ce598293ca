"""The loop of trials around the run -> `trials`, with what each has of its own: its number, seed and log."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.asked import number, origin_of
from hpclaunch.convert.mapping.slurm.sruns import trial_loops
from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.convert.reading import Assigned, Command, Loop, Output, ShellReading
from hpclaunch.readback.shell.values import Part, Unknown, Value, known, shown
from hpclaunch.values.conversion import Kind, Place
from hpclaunch.values.names import TRIAL

_SEED = re.compile(r"SEED", re.IGNORECASE)
_RANDOM = re.compile(r"\bRANDOM\b|\bshuf\b|/dev/u?random|\$\(date\b|od -")
_WORDS = re.compile(r"[A-Za-z_]\w*")


class Trials(Struct, frozen=True):
    """What the rest of the conversion needs of the trials. `loop` is the loop, None for none; `seed` the
    variable with the seed, "" for none; `stand_ins` variables of the rank for those of the script."""

    loop: Loop | None = None
    seed: str = ""
    stand_ins: Mapping[str, str] = {}


def find(
    reading: ShellReading,
    command: Command,
    draft: Draft,
    words: Sequence[Value] | None = None,
    swept: Sequence[Loop] = (),
) -> Trials:
    """Put the trials of the run into the draft. `words` are what each rank executes, None for the whole
    command, and `swept` loops that are a sweep. Loops that go over anything else are said to be left."""
    words = command.words if words is None else words
    loops = [each for each in trial_loops(command) if each not in swept]
    loop = loops[-1] if loops else None
    for other in loops[:-1]:
        todo = "submit the job once for each value, with --set"
        why = "a job repeats its command, and goes through no values"
        draft.say("left", (other.place,), f"a loop over {other.over}", why=why, todo=todo)
    seed, first, lines = _seed(reading, command, loop)
    stand_ins = {"RANDOM": seed or "SEED", **{each.variable: "" for each in command.loops if each.variable}}
    stand_ins |= {each.variable: each.variable for each in swept}
    if loop is not None and loop.variable:
        stand_ins[loop.variable] = TRIAL if _counts_from_one(loop) else ""
    if loop is None and not seed:
        if not _random_in(words):
            _log(command, None, draft, own_file=bool(swept))
            return Trials(None, "", stand_ins if swept else {})
        seed, lines = "SEED", (command.place,)
    if loop is None:
        draft.put(("trials", "count"), 1, lines, "one run with a random seed")
    else:
        _count(reading, loop, draft)
    if not seed and _random_in(words):
        seed, lines = "SEED", (command.place,)
    if seed:
        why = "another one for each trial" if loop is not None else "the log names it"
        draft.put(("trials", "seed"), seed, lines, f"{seed} is random" if first is None else seed, why=why)
        if first is not None:
            draft.put(("trials", "first_seed"), first, lines, seed)
    _log(command, loop, draft, own_file=bool(swept))
    if loop is not None and command.unnoticed:
        why = "the loop goes on after a trial that fails"
        draft.put(("trials", "keep_going"), True, (command.place,), "a status that nobody reads", why=why)
    return Trials(loop, seed, stand_ins)


def _counts_from_one(loop: Loop) -> bool:
    values = [known(value) for value in loop.values]
    return all(value is None or value == str(index) for index, value in enumerate(values, 1))


def _count(reading: ShellReading, loop: Loop, draft: Draft) -> None:
    names = [name for name in _WORDS.findall(loop.over) if reading.last(name)]
    lines = tuple(
        dict.fromkeys((loop.place, *(place for name in names for place in origin_of(reading, name))))
    )
    assumed = [each for name in names for each in reading.assumed if each.name == name]
    if loop.count is None:
        what = ", ".join(name for name in _WORDS.findall(loop.over) if name not in ("seq", "in")) or loop.over
        draft.ask(("trials", "count"), f"how many trials: {loop.over}", lines, what)
        return
    lines = tuple(dict.fromkeys((*lines, *(each.place for each in assumed))))
    why = f"{assumed[0].name} is not given, so its default counts" if assumed else ""
    kind: Kind = "assumed" if assumed else "carried"
    draft.put(("trials", "count"), loop.count, lines, f"a loop over {loop.over}", why=why, kind=kind)


def _seed(
    reading: ShellReading, command: Command, loop: Loop | None
) -> tuple[str, int | None, tuple[Place, ...]]:
    """The variable with the seed, the first seed where it is known, and the lines."""
    given = {**dict(command.environment), **dict(command.prefix)}
    for name, value in given.items():
        if not _SEED.search(name) or known(value) is not None:
            continue
        places = (
            (command.place,) if name in dict(command.prefix) else origin_of(reading, name) or (command.place,)
        )
        rising = loop is not None and any(loop.variable and loop.variable in _names(part) for part in value)
        if rising and loop is not None:
            base = next((each for each in reading.assigned if each.name == name and known(each.value)), None)
            first = _first(reading, value, base, loop)
            return name, first, (*places, *((base.place,) if base else ()))
        if any(_is_random(reading, part) for part in value):
            return name, None, places
    return "", None, ()


def _first(reading: ShellReading, value: Value, base: Assigned | None, loop: Loop) -> int | None:
    """The seed of the first trial: SEED + i with the first value of i."""
    start = known(loop.values[0]) if loop.values else "1"
    numbers = {loop.variable: int(start) if start and start.isdecimal() else 1}
    if base is not None and (known(base.value) or "").isdecimal():
        numbers[base.name] = int(known(base.value) or 0)
    return number(value, reading, numbers)


def _is_random(reading: ShellReading, part: Part) -> bool:
    if not isinstance(part, Unknown):
        return False
    if _RANDOM.search(part.name):
        return True
    each = reading.last(part.name)
    return each is not None and any(
        isinstance(inner, Unknown) and bool(_RANDOM.search(inner.name)) for inner in each.value
    )


def _names(part: Part) -> list[str]:
    return _WORDS.findall(part.name) if isinstance(part, Unknown) else []


def _random_in(words: Sequence[Value]) -> bool:
    return any(isinstance(part, Unknown) and part.name == "RANDOM" for word in words for part in word)


def _log(command: Command, loop: Loop | None, draft: Draft, *, own_file: bool) -> None:
    """`own_file`: of several points each has a file that hpclaunch names."""
    outputs = [each for each in command.writes if each.tee or each.descriptor in ("1", "&", "")]
    for output in outputs:
        _log_of(command, output, loop, draft, own_file)


def _log_of(command: Command, output: Output, loop: Loop | None, draft: Draft, own_file: bool) -> None:
    value: Value = tuple(
        "{trial}"
        if _is_number(part, loop)
        else part.replace("{", "").replace("}", "")
        if isinstance(part, str)
        else part
        for part in output.path
    )
    text = path(_joined(value))
    places = (command.place,)
    what = f"the log {shown(output.path)}"
    if ("trials", "count") not in draft.facts:
        why = "hpclaunch keeps the output of each job in its record: `hpclaunch logs`"
        draft.say("replaced", places, what, why=why)
    elif text not in (None, "/dev/null") and (loop is None or "{trial}" in (text or "")) and not own_file:
        draft.put(
            ("trials", "log"), text, places, what, why="relative paths start from the job file's folder"
        )
    else:
        why = "each trial has a log NAME-JOBID-trial-N.log, so no two jobs write to one file"
        draft.say("replaced", places, what, why=why)


def _is_number(part: Part, loop: Loop | None) -> bool:
    if loop is None or not isinstance(part, Unknown):
        return False
    return part.name == loop.variable or part.name.strip("$()") == loop.over.strip("$()")


def _joined(value: Value) -> Value:
    found: list[Part] = []
    for part in value:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return tuple(found)
