"""The loop of trials around the run -> `trials`, with what each has of its own: its number, seed and log."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import logs, retries, rounds
from hpclaunch.convert.mapping.slurm.batch.asked import origin_of
from hpclaunch.convert.mapping.words.hosts import loops_of_trials
from hpclaunch.convert.reading import Assigned, Command, Loop, ShellReading
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


class Run(Struct, frozen=True):
    """What is repeated: the command, and `words` of it that each rank executes. `swept` are loops that are a
    sweep, `points` its variables for those of the loops, and `handed` what the ranks are handed by name,
    beside the command's own environment."""

    command: Command
    words: Sequence[Value]
    swept: Sequence[Loop] = ()
    points: Mapping[str, str] = {}
    handed: Mapping[str, Value] = {}


def find(reading: ShellReading, run: Run, draft: Draft) -> Trials:
    """Put the trials of the run into the draft. Loops that go over anything else are said to be left."""
    command, words, swept = run.command, run.words, run.swept
    again = retries.of(reading, command, swept)
    retries.say(again, command, draft)
    loops = [each for each in loops_of_trials(command) if each not in swept and each not in again]
    loop = loops[-1] if loops else None
    for other in loops[:-1]:
        todo = "submit the job once for each value, with --set"
        why = "a job repeats its command, and goes through no values"
        draft.say("left", (other.place,), f"a loop over {other.over}", why=why, todo=todo)
    seed, first, lines = _seed(reading, command, loop, run.handed)
    stand_ins = {"RANDOM": seed or "SEED", **{each.variable: "" for each in command.loops if each.variable}}
    stand_ins |= run.points
    if loop is not None and loop.variable:
        stand_ins[loop.variable] = TRIAL if rounds.counts_trials(loop) else ""
    by_trial = ""
    if loop is None and not seed:
        if not _random_in(words):
            logs.put(reading, command, None, draft, own_file=bool(swept))
            return Trials(None, "", stand_ins if swept else {})
        seed, lines = "SEED", (command.place,)
        by_trial = "$RANDOM is one number for all ranks, and such a number is made for a trial: as SEED"
    if loop is None:
        draft.put(("trials", "count"), 1, lines, "one run with a random number", why=by_trial)
    else:
        _count(reading, command, loop, draft)
    if not seed and _random_in(words):
        seed, lines = "SEED", (command.place,)
    if not seed:
        stand_ins["RANDOM"] = ""  # no rank has a random number
    if seed:
        why = "another one for each trial" if loop is not None else "the log names it"
        draft.put(("trials", "seed"), seed, lines, f"{seed} is random" if first is None else seed, why=why)
        if first is not None:
            draft.put(("trials", "first_seed"), first, lines, seed)
        elif loop is not None and loop.count != 1:
            _say_one_seed(reading, command, seed, loop, draft)
    logs.put(reading, command, loop, draft, own_file=bool(swept))
    if loop is not None and not rounds.ends_at_failure(reading, command, loop):
        why = "the loop goes on after a trial that fails"
        what = "a status that ends no loop" if command.unnoticed else "a loop without set -e"
        draft.put(("trials", "keep_going"), True, (command.place,), what, why=why)
    return Trials(loop, seed, stand_ins)


def ask_rounds(
    reading: ShellReading, command: Command, draft: Draft, seed: str, swept: Sequence[Loop] = ()
) -> None:
    """Questions about what a round of the loop has, or does, that no trial can; to be asked when all else is
    in the draft. `seed` is the variable that trials set, "" for none."""
    again = retries.of(reading, command, swept)
    loops = [each for each in loops_of_trials(command) if each not in swept and each not in again]
    handed = {name for name, _ in command.environment}
    for each in rounds.changed(reading, command, loops):
        if each.name == seed:
            continue
        is_env = each.name in handed or each.exported
        key = ("env", each.name) if is_env else ("command",)
        question = f"{each.name} is another one in later rounds of the loop, and trials all have the same"
        if not is_env:
            question = f"what each rank executes: {question}"
        draft.unsay(key)
        todo = f"submit a job for each value, or let the command make it of {TRIAL}, which counts from 1"
        draft.ask(key, question, (each.place, command.place), each.name, todo=todo)
    for leaving in rounds.leaving(reading, command, loops):
        draft.unsay(("trials", "count"))
        on = leaving.conditions[-1].partition(": ")[2] if leaving.conditions else "in each round"
        question = f"how many trials: `{shown(leaving.words[0])}` ends a round or the loop ({on})"
        todo = (
            "a job's trials all run: give how many are to, and let the command itself try again what failed"
        )
        places = (leaving.place, *(each.place for each in loops))
        draft.ask(("trials", "count"), question, places, " ".join(map(shown, leaving.words)), todo=todo)


def say_values(reading: ShellReading, command: Command, draft: Draft, swept: Sequence[Loop] = ()) -> None:
    """Say of a command that is asked for, by another reason, that each round has another value for it."""
    again = retries.of(reading, command, swept)
    loops = [each for each in loops_of_trials(command) if each not in swept and each not in again]
    fact = draft.facts.get(("command",))
    if fact is None or not fact.is_open:
        return
    asked = [each.why for each in draft.findings if each.kind == "question"]
    made_of = (reading.last(name) for name in reading.used_by(command))
    used = {*command.uses, *(name for each in made_of if each is not None for name in each.uses)}
    for loop in loops:
        name = loop.variable
        if loop.count == 1 or name not in used or rounds.counts_trials(loop):
            continue
        its = (*command.words, *dict(command.environment).values(), *dict(command.prefix).values())
        if loop is loops[-1] and any(f"${{{name}}}" in shown(each) for each in its):
            _ask_count(loop, name, draft)
        if any(f"${{{name}}}" in why or "in each round of the loop" in why for why in asked):
            continue
        why = f"each round gives the command another {name}, and trials all have the same"
        todo = "submit a job for each value, with --set"
        draft.say("left", (loop.place, command.place), f"a loop over {loop.over}", why=why, todo=todo)


def _ask_count(loop: Loop, name: str, draft: Draft) -> None:
    """As many trials as the loop has rounds would all run the same."""
    fact = draft.facts.get(("trials", "count"))
    if fact is None or fact.is_open or fact.value == 1:
        return
    draft.unsay(("trials", "count"))
    question = f"how many trials: each round of the loop over {loop.over} gives the command another {name}, "
    question += "and trials all run the same"
    todo = "submit a job for each value, with --set command=... and --set trials.count=1"
    draft.ask(("trials", "count"), question, fact.places, f"a loop over {loop.over}", todo=todo)


def _count(reading: ShellReading, command: Command, loop: Loop, draft: Draft) -> None:
    names = [name for name in _WORDS.findall(loop.over) if reading.last(name)]
    lines = tuple(
        dict.fromkeys((loop.place, *(place for name in names for place in origin_of(reading, name))))
    )
    assumed = [each for name in names for each in reading.assumed if each.name == name]
    if loop.count is None and command.written and command.written in loop.over:
        question = (
            f"how many trials: whether its loop goes on depends on how {command.brief(60)} ends, and all "
        )
        question += "trials of a job run"
        todo = "give --set trials.count=1: a job whose run fails ends, and is not started again by itself"
        draft.ask(("trials", "count"), question, lines, "a run in the condition of its loop", todo=todo)
        return
    if loop.count is None:
        what = ", ".join(re.findall(r"\$\{?([A-Za-z_]\w*)", loop.over)) or loop.over
        draft.ask(("trials", "count"), f"how many trials: {loop.over}", lines, what)
        return
    lines = tuple(dict.fromkeys((*lines, *(each.place for each in assumed))))
    why = f"{assumed[0].name} is not given, so its default counts" if assumed else ""
    kind: Kind = "assumed" if assumed else "carried"
    draft.put(("trials", "count"), loop.count, lines, f"a loop over {loop.over}", why=why, kind=kind)


def _seed(
    reading: ShellReading, command: Command, loop: Loop | None, handed: Mapping[str, Value]
) -> tuple[str, int | None, tuple[Place, ...]]:
    """The variable with the seed, the first seed where it is known, and the lines."""
    given = {**dict(command.environment), **dict(command.prefix), **handed}
    for name, value in given.items():
        if not _SEED.search(name) or known(value) is not None:
            continue
        places = (
            (command.place,)
            if name in dict(command.prefix)
            else origin_of(reading, name, command.place) or (command.place,)
        )
        rising = loop is not None and any(loop.variable and loop.variable in _names(part) for part in value)
        if rising and loop is not None:
            base = next((each for each in reading.assigned if each.name == name and known(each.value)), None)
            numbers = {name: int(known(base.value) or 0)} if _is_number_of(base) else {}
            first = rounds.first_of_rising(value, reading, loop, numbers)
            if first is not None and not _grows(reading, command, name, loop):
                return name, first, (*places, *((base.place,) if base else ()))
            names = [each for part in value for each in _names(part)]
            random = [each for each in names if _was_random(reading, each)]
            if rounds.first_of_rising(value, reading, loop, dict.fromkeys(random, 0)) is not None:
                return name, None, places
            continue
        if any(_is_random(reading, part) for part in value):
            return name, None, places
    return "", None, ()


def _say_one_seed(reading: ShellReading, command: Command, seed: str, loop: Loop, draft: Draft) -> None:
    """A random number that is made before the loop is the same in all of its rounds, unless each adds its own
    number to it."""
    in_front = dict(command.prefix).get(seed, ())
    if loop.variable and any(loop.variable in _names(part) for part in in_front):
        return
    own = seed in dict(command.environment) and seed not in dict(command.prefix)
    names, seen, made = [seed] if own else list(command.uses), set[str](), list[Assigned]()
    while names:
        name = names.pop()
        each = None if name in seen else reading.at(name, command.place)
        seen.add(name)
        if each is not None and any(_is_random(reading, part) for part in each.value):
            made.append(each)
            names += each.uses
    again = {
        each.name
        for each in reading.assigned
        if loop in each.loops
        and not reading.is_in_subshell(each.place, loop.place.line)
        and any(_is_random(reading, part) for part in each.value)
    }
    if not made or any(loop in each.loops or each.name in again for each in made):
        return
    why = "all trials had one seed, and each of the job has another"
    todo = f"for one seed in all of them write trials.seed: null, and env.{seed} with a number"
    if "RANDOM" in command.uses:  # beside a number of each round
        seed = made[-1].name
        why = f"all trials had one {seed}, and in the job it is the seed of each"
        todo = "write a number for it in the command"
    lines = [each.place for each in made]
    draft.say("question", lines, f"{seed} is made once, before the loop", why=why, todo=todo)


def _grows(reading: ShellReading, command: Command, name: str, loop: Loop) -> bool:
    """Whether a round adds to what the one before it left in the variable, in the same shell."""
    if name in dict(command.prefix):
        return False
    made = [each for each in reading.assigned if each.name == name and loop in each.loops]
    return any(name in each.uses and not reading.is_in_subshell(each.place, loop.place.line) for each in made)


def _was_random(reading: ShellReading, name: str) -> bool:
    """Whether it was a random number at any time."""
    given = [each.value for each in reading.assigned if each.name == name]
    given += [each.default for each in reading.assumed if each.name == name]
    return any(_is_random(reading, part) for value in given for part in value)


def _is_number_of(base: Assigned | None) -> TypeGuard[Assigned]:
    return base is not None and (known(base.value) or "").isdecimal()


def _is_random(reading: ShellReading, part: Part) -> bool:
    if not isinstance(part, Unknown):
        return False
    if _RANDOM.search(part.name):
        return True
    each = reading.last(part.name)
    if each is None:
        return False
    if "RANDOM" in each.uses and known(each.value) is None:
        return True  # ${GIVEN:-$RANDOM}, where nobody gave it
    return any(isinstance(inner, Unknown) and bool(_RANDOM.search(inner.name)) for inner in each.value)


def _names(part: Part) -> list[str]:
    return _WORDS.findall(part.name) if isinstance(part, Unknown) else []


def _random_in(words: Sequence[Value]) -> bool:
    return any(isinstance(part, Unknown) and part.name == "RANDOM" for word in words for part in word)
