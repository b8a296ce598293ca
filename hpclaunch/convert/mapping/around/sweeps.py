"""Loops around the run that give it another variable or argument each time -> `sweep`.

The points of a sweep are jobs of their own. A loop is one only where nothing tells that its rounds need each
other: they start nothing but the run, on no condition, and change nothing that the next one reads.
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import rounds
from hpclaunch.convert.mapping.slurm.batch.asked import of_batch
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.words.hosts import loops_of_trials
from hpclaunch.convert.mapping.words.variables import names_in as _names
from hpclaunch.convert.programs.beside import PLUMBING, that
from hpclaunch.convert.reading import Command, Loop, ShellReading
from hpclaunch.readback.shell.values import Part, Unknown, known, known_parts

# What of a round changes nothing, beside the run.
_PLUMBING = that("says") | {"date", "set", "pwd", "wait", "tee"}
# What of the rest of a script may run again for each point.
_READS_OR_SETS = (PLUMBING - {"command", "eval"}) | that("enters", "devices", "settings")
_PLAIN = re.compile(r"[^\s*?\[\]~]+")  # one word, and no pattern of file names
# With these a round may take up what another one left, or not be reached.
_GOES_ON = re.compile(r"resume|restart|checkpoint|ckpt", re.IGNORECASE)
_LEAVES = re.compile(r"\b(?:break|continue|exit|return)\b")
_MOST = 1000
_WHY = (
    "each point is a job of its own, and one runs at a time: it has the nodes and `time` of the whole loop, "
    "what stands before the loop is done for each, and one that fails ends no other"
)
_BECAME = "a sweep: its rounds do not depend on each other"
_TODO = "lower `time` to what one point takes; where a round needs what the one before it made, write one job"


def of(reading: ShellReading, run: Step) -> tuple[Loop, ...]:
    """The loops around the run that are a sweep, the outermost first."""
    command = run.command
    loops = tuple(each for each in loops_of_trials(command) if _gives_values(each, run))
    names = {each.variable for each in loops}
    alone = not (command.background or command.conditions or command.function)
    of_array = any(each.name == "array" for each in of_batch(reading))
    options = {name for each in run.asked for name in _names(each.value or ())}
    if not loops or not alone or of_array or names & options or len(names) < len(loops):
        return ()
    count = 1
    for each in loops:
        count *= each.count or 0
    others = [each for each in reading.commands if each is not command and each.program not in _PLUMBING]
    if count > _MOST or any(_is_in(each, loops) for each in others) or _GOES_ON.search(run.text):
        return ()
    if not all(map(_may_be_repeated, others)) or _takes_up(run, names):
        return ()
    changes = rounds.changed(reading, command, loops) or _reads_on(reading, command, loops)
    return () if changes or _is_left(reading, command, loops) else loops


def variables(loops: Sequence[Loop], run: Step) -> dict[str, str]:
    """The variable of a point for that of each loop. One that was not exported reached no rank, and so it has
    a name there that hardly a program reads."""
    handed = _handed(run)
    names = [each.variable for each in loops]
    return {name: name if name in handed or name.islower() else f"LOOP_{name}" for name in names}


def _handed(run: Step) -> set[str]:
    """The variables that the script gives the run."""
    return {name for name, _ in (*run.command.environment, *run.command.prefix)}


def put(loops: Sequence[Loop], run: Step, draft: Draft) -> None:
    """The sweep of these loops."""
    if not loops:
        return
    own = variables(loops, run)
    grid = {f"env.{own[each.variable]}": [known(value) or "" for value in each.values] for each in loops}
    places = tuple(dict.fromkeys(each.place for each in loops))
    what = " and ".join(f"a loop over {each.over}" for each in loops)
    draft.put(("sweep",), {"max_running": 1, "grid": grid}, places, what, why=_WHY)
    draft.say("assumed", places, what, became=_BECAME, why=_WHY, todo=_TODO)
    kept = [each for each in loops if each.variable not in _handed(run)]
    if kept:
        names = " and ".join(own[each.variable] for each in kept)
        why = "a point gives its values to ranks as variables: the shell kept the loop's own to itself"
        todo = "where the program reads a variable of that name give it another one in the job file"
        draft.say(
            "assumed", [each.place for each in kept], what, became=f"ranks have {names}", why=why, todo=todo
        )


def _gives_values(loop: Loop, run: Step) -> bool:
    """Whether it is known what it goes through, and the run has it among its words or variables. One that
    counts its rounds repeats it."""
    texts = [known(value) for value in loop.values]
    if not loop.variable or len(texts) < 2 or loop.count != len(texts):
        return False
    if not all(text and _PLAIN.fullmatch(text) for text in texts) or len(set(texts)) < len(texts):
        return False
    if [(text or "").lstrip("0") for text in texts] == [str(number + 1) for number in range(len(texts))]:
        return False
    command = run.command
    given = [*run.words, *(value for _, value in (*command.prefix, *command.environment))]
    return any(loop.variable in _names(value) for value in given)


def _may_be_repeated(command: Command) -> bool:
    """Whether a command outside of the loop may run for each point: what else a script does before or after
    the loop may wipe what another point made, or need all of them."""
    words = [known(word) or "" for word in command.words]
    if command.within == "output" or command.program in _READS_OR_SETS:
        return True
    return command.program == "mkdir" and any(re.fullmatch(r"-\w*p\w*|--parents", word) for word in words)


def _takes_up(run: Step, names: set[str]) -> bool:
    """Whether the words look like those of rounds that read what another one wrote: a path that is named
    twice, or one with the variable in a sum."""
    texts = [part for word in run.words for part in re.split(r"[\s=:,]+", known(word) or "") if "/" in part]
    if len(set(texts)) < len(texts):
        return True
    sums = (word for word in run.words if any(_is_sum_of(part, names) for part in word))
    return any(re.sub(r"^-[\w-]*=?", "", text) for word in sums if (text := known_parts(word)))


def _is_sum_of(part: Part, names: set[str]) -> bool:
    return isinstance(part, Unknown) and part.name not in names and bool(_names((part,)) & names)


def _is_in(command: Command, loops: Sequence[Loop]) -> bool:
    lines = {each.place for each in loops}
    return any(each.place in lines for each in command.loops)


def _reads_on(reading: ShellReading, command: Command, loops: Sequence[Loop]) -> bool:
    """Whether a round may read what the one before it gave a variable: one that has a value, or a default,
    before the loop too, or whose own value is in the new one."""
    names = {each.variable for each in loops}
    first = min(each.place.line for each in loops)
    file = command.place.file
    inside = [each for each in reading.assigned if each.place.file == file and each.place.line >= first]
    before = {each.name for each in reading.assigned if each not in inside}
    before |= {each.name for each in reading.assumed} | set(reading.wanted)
    return any(each.name in each.uses or each.name in before - names for each in inside)


def _is_left(reading: ShellReading, command: Command, loops: Sequence[Loop]) -> bool:
    """Whether a round may end the loop, or itself before the run."""
    first = min(each.place.line for each in loops)
    statements = (each for each in reading.statements if each.place.file == command.place.file)
    return any(each.place.line >= first and _LEAVES.search(each.written) for each in statements)
