"""A program by its bare name that srun finds in the working folder, where no folder of PATH has it.

slurmstepd gives execve(2) the name as it is when PATH does not have it, and that looks in the working folder;
a shell, and with it a rank of a job, looks in PATH alone.
"""

import re

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import base_name, known

_OF_FOLDER = re.compile(r"[\w.+-]+\.(?:exe|x|out|bin|sh|bash|csh|ksh|zsh|py|pl)")
_PLACES = that("copies", "files", "builds", "compiles") | {"ln"}


def say(reading: ShellReading, run: Step, draft: Draft) -> None:
    """Says that the program of a run may lie in the working folder: its name is one of a program that people
    build for themselves or of a script, or the script puts one of that name somewhere."""
    name = known(run.words[0]) if run.words else None
    if not name or "/" in name or ("command",) not in draft.facts or draft.facts["command",].is_open:
        return
    placed = (
        each.place
        for each in reading.commands
        if each.program in _PLACES and any(base_name(word) == name for word in each.words[1:])
    )
    place = next(placed, None)
    if place is None and not _OF_FOLDER.fullmatch(name):
        return
    why = "where no folder of PATH has it srun takes it from the working folder; a rank looks in PATH alone"
    todo = f"where it lies in the working folder write ./{name} in `command`"
    places = (run.command.place, *((place,) if place is not None else ()))
    draft.say("assumed", places, f"srun {name}", became=f"the {name} of PATH", why=why, todo=todo)
