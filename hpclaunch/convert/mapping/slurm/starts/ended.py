"""Scripts that come to an `exit` before what starts their ranks, by the values that their variables have."""

import re

from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, CONTAINERS, STEPS, any_of
from hpclaunch.convert.reading import Command, ShellReading

_STARTS = re.compile(rf"(?<![\w./-]){any_of(STEPS, BY_MPI, BY_TORCH, CONTAINERS, ('sbatch',))}(?![\w./-])")


def before_the_run(reading: ShellReading) -> Command | None:
    """The `exit`, None where the script does not end so, or nothing behind it starts anything."""
    last = reading.commands[-1] if reading.commands else None
    if last is None or last.program != "exit" or last.within or last.place.file != reading.script:
        return None
    # Of a script that stands in this one no more is behind it than that script has.
    own = reading.of_submitted or reading.statements
    behind = (each for each in own if each.place.file == last.place.file)
    starts = any(each.place.line > last.place.line and _STARTS.search(each.written) for each in behind)
    return last if starts else None


def said(command: Command) -> tuple[str, str]:
    """Why nothing starts ranks, and what to do."""
    line = f"`{command.brief(40)}` ({command.place})"
    why = f"with the values that its variables have the script ends at {line}"
    return why, "convert again with --env for the variables that the test before that needs"
