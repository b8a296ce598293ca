"""Variables that the ranks have only where something is so that nobody tells."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.values.conversion import Place


def say(reading: ShellReading, command: Command, name: str, places: Sequence[Place], draft: Draft) -> None:
    """Say of a variable that ranks have it only where something is so that nobody tells."""
    if name not in reading.handed and name not in reading.perhaps_exported:
        return  # of thousands nearly all
    if name in dict(command.prefix) or name not in dict(command.environment):
        return
    if name in reading.handed:
        reads = reading.handed[name]
        where = f"{reads} reads it before the script gives it a value"
        why = f"it is exported where the shell of who submits has it alone ({where}), and taken for exported"
    else:
        on = next((one.conditions[-1] for one in reading.given(name) if one.exported and one.conditions), "")
        why = f"it is exported on a condition alone ({on or 'not told'}), and taken for exported"
    todo = f"where it is not, take {name} out of the job"
    draft.say("assumed", places, name, became=f"the ranks have {name}", why=why, todo=todo)
