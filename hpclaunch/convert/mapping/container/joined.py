"""A container that another step keeps running while the run joins it: it has the mounts of that step.

A step whose --container-name is that of a container that runs is started in it, and its own
--container-mounts are ignored (pyxis, README "--container-name" and the test "attach to running container
with --container--mounts").
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.container.options import SWITCHES
from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import shown

_FLAGS = re.compile(r":(auto|create|exec|no_exec)$")
_OF_ITS_OWN = (":create", ":no_exec")  # which join no container


def by(reading: ShellReading, run: Step, steps: Sequence[Step]) -> Step | None:
    """The step that makes the run's container and goes on in it while the run starts."""
    name = _name(run)
    if not name or name.endswith(_OF_ITS_OWN):
        return None
    at = {id(each): number for number, each in enumerate(reading.commands)}
    own = at.get(id(run.command), 0)
    waits = [number for number, each in enumerate(reading.commands) if each.program == "wait"]
    for step in reversed(steps):
        number = at.get(id(step.command), own)
        if number < own and step.command.background and _bare(_name(step)) == _bare(name):
            return step if not any(number < wait < own for wait in waits) else None
    return None


def switches(run: Step, keeper: Step) -> tuple[Asked, ...]:
    """Those of the container that the run does not say itself."""
    own = {SWITCHES[each.name][0] for each in run.asked if each.name in SWITCHES}
    return tuple(each for each in keeper.asked if each.name in SWITCHES and SWITCHES[each.name][0] not in own)


def say_ignored(asked: Sequence[Asked], keeper: Step, draft: Draft) -> None:
    """Say of the run's own mounts that its container has none of them."""
    for each in asked:
        why = f"the run joins the container of {keeper.command.brief(60)}, and Pyxis takes no mounts then"
        todo = "where the program needs them write them under mounts"
        draft.say("left", each.places, each.written, why=why, todo=todo)


def _name(step: Step) -> str:
    option = step.option("container-name")
    return shown(option.value or ()) if option is not None else ""


def _bare(name: str) -> str:
    return _FLAGS.sub("", name)
