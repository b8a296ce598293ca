"""Variables without which a script ends ([ -z "$TOKEN" ] && exit 1), and that it uses for nothing else: they
are for the ranks, which had them of the submitter's shell -> `inherit` and `secrets`."""

import re
from collections.abc import Sequence
from itertools import chain

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.environment.reached import Handed, inherit
from hpclaunch.convert.mapping.slurm.batch.export import Export
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.environments import LOADERS
from hpclaunch.convert.reading import Command, ShellReading, once
from hpclaunch.readback.shell.values import Unknown

SET_BY_OTHERS = "no line gives it a value, and what the script loads or sources may: the ranks had it"
# Commands that look at a variable or print it, and do nothing with it.
_LOOK = that("says") | {"exit", "test", "[", "[[", "return"}
# What they set no line tells.
_NAME = re.compile(r"[A-Za-z_]\w*")
_EXPORT = re.compile(r"(?:export|declare\s+-x|typeset\s+-x)\s+([^;&|]+)")


def put(reading: ShellReading, command: Command, export: Export, draft: Draft) -> None:
    """Put those of the submitter's shell. Where a module or a file that was not given may set one it is said,
    and not taken from there."""
    if not (reading.required and export.everything):
        return
    by_others = is_set_by_others(reading)
    given = {name for name, _ in (*command.environment, *command.prefix)}
    for name, places in reading.wanted.items():
        if name not in reading.required or not places or name in given:
            continue
        if name in _used(reading) and name not in _handed_on(reading):
            continue
        if owner(name):
            continue
        what = f"the script ends without {name}"
        if not by_others:
            inherit((name,), sorted(places, key=lambda each: (each.file, each.line)), draft, what)
        elif ("env", name) not in draft.facts:
            todo = f"where the program reads it write it under env.{name}, or in `inherit`"
            draft.say("left", places, what, why=SET_BY_OTHERS, todo=todo)


def is_set_by_others(reading: ShellReading) -> bool:
    """Whether the script has others set variables that no line names: modules, files that were not given."""
    not_given = any(not each.file for each in reading.sourced)
    return not_given or bool(reading.setters or reading.of(*LOADERS))


def say_stand_ins(reading: ShellReading, handed: Sequence[Handed], command: Command, draft: Draft) -> None:
    """Say what the script takes where the submitter's shell does not have a variable that it cannot do
    without (TOKEN="${TOKEN:-$OTHER}"): the job takes the first alone."""
    for each in handed:
        assigned = reading.at(each.name, command.place) if each.name in reading.required else None
        if assigned is None or not _is_itself(each):
            continue
        others = [name for name in assigned.uses if name != each.name and not reading.given(name)]
        if not others or not (draft.lists("inherit", each.name) or draft.lists("secrets", each.name)):
            continue
        draft.say(
            "assumed",
            (assigned.place,),
            each.name,
            became=f"what {each.name} is in the shell of who submits",
            why=f"where it is not set there the script takes {' or '.join(others)}, and the job does not",
            todo=f"where {others[0]} alone is set there: export {each.name}=${others[0]}, and submit",
        )


def _is_itself(each: Handed) -> bool:
    part = each.value[0] if len(each.value) == 1 else None
    return isinstance(part, Unknown) and part.kind == "variable" and part.name == each.name


@once
def _handed_on(reading: ShellReading) -> frozenset[str]:
    """Those that the script exports as they are: it may use them in what the job leaves out, and the ranks
    have them all the same."""
    lists = (_EXPORT.fullmatch(each.written) for each in reading.statements)
    return frozenset(name for found in lists if found for name in found[1].split() if name.isidentifier())


@once
def _used(reading: ShellReading) -> frozenset[str]:
    """The variables that something is done with."""
    commands = (each.uses for each in reading.commands if each.program not in _LOOK)
    over = {loop.over for each in reading.commands for loop in each.loops}
    loops = (_NAME.findall(text) for text in over)
    return frozenset(chain.from_iterable(chain(commands, loops, (each.uses for each in reading.assigned))))
