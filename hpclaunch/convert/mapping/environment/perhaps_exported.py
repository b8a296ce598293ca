"""Variables that the ranks have only where something is so that nobody tells."""

from collections.abc import Collection, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.words.made import shown_condition
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.values.conversion import Place


def names(reading: ShellReading, command: Command) -> frozenset[str]:
    """The variables of a command that it has only where something is so that nobody tells."""
    given = {name for name, _ in command.environment} - {name for name, _ in command.prefix}
    return frozenset(given & (reading.handed.keys() | reading.perhaps_exported))


def say(reading: ShellReading, of: Collection[str], name: str, places: Sequence[Place], draft: Draft) -> None:
    """Say of a variable that ranks have it only where something is so that nobody tells, where it is one `of`
    `names`."""
    if name not in of:
        return
    if name in reading.handed:
        reads = reading.handed[name]
        where = f"{reads} reads it before the script gives it a value"
        why = f"it is exported where the shell of who submits has it alone ({where}), and taken for exported"
    else:
        on = next((one.conditions[-1] for one in reading.given(name) if one.exported and one.conditions), "")
        where = shown_condition(on) if on else "not told"
        why = f"it is exported on a condition alone ({where}), and taken for exported"
    todo = f"where it is not, take {name} out of the job"
    draft.say("assumed", places, name, became=f"the ranks have {name}", why=why, todo=todo)
