"""A batch script that starts another one, by a shell or srun: its own #SBATCH lines are the job's, and srun
starts the other once for each task."""

from collections.abc import Iterator

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import STEPS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell.directives import directives
from hpclaunch.readback.shell.values import known

_SIZES = ("nodes", "ntasks", "ntasks-per-node")
_MOST_SHOWN = 3


def say(reading: ShellReading, draft: Draft) -> None:
    """Say what of the script that is started is no part of the job, and how often srun starts it."""
    outer = {each.place.file for each in reading.directives}
    if not reading.started or reading.script in outer or not outer:
        return
    source = next(each for each in reading.sources if each.name == reading.script)
    own = directives(source)
    if own:
        lines = [" ".join(("#SBATCH", *each.words)) for each in own]
        what = "; ".join(lines[:_MOST_SHOWN]) + (", ..." if len(lines) > _MOST_SHOWN else "")
        files = ", ".join(sorted(outer))
        why = f"sbatch reads those of {files}, which starts this script: here they are comments"
        draft.say("without effect", [each.place for each in own], what, why=why)
    for command in _started_by_srun(reading):
        if _may_be_several(command, reading):
            why = (
                "srun starts the script once for each of its tasks, and each of these starts the ranks anew: "
                "the job has them once"
            )
            todo = "where each task was to have its own submit the job for each, with the nodes of one"
            draft.say("question", (command.place,), command.written, why=why, todo=todo)


def _started_by_srun(reading: ShellReading) -> Iterator[Command]:
    its = {each.place for each in reading.started}
    for command in reading.commands:
        if command.place in its and any(each.program in STEPS for each in layers(command.words)):
            yield command


def _may_be_several(command: Command, reading: ShellReading) -> bool:
    """Whether the step may have more tasks than one. srun's own options count more than the job's."""
    step = next(each for each in layers(command.words) if each.program in STEPS)
    given = {each.name: each.value for directive in reading.directives for each in directive.options}
    given |= {each.name: each.value for each in step.options}
    sizes = {name: known(given[name] or ()) for name in _SIZES if name in given}
    return sizes.get("ntasks") != "1" and any(each != "1" for each in sizes.values())
