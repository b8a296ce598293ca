"""The run of a script that keeps what it puts out: OUT=$(mpirun ./bench)."""

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import preparations
from hpclaunch.convert.mapping.around.logs import OF_RECORD
from hpclaunch.convert.mapping.slurm.srun.sruns import Step, is_preparation
from hpclaunch.convert.programs.layers import MPI, PER_GPU, layers
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import shown

_STARTS = ("srun", *MPI)
_LONGEST = 60


def opened(reading: ShellReading) -> ShellReading:
    """The reading with what starts ranks within $(...) as any other command, for a script in which nothing
    else starts any, or only a command of its own."""
    return structs.replace(
        reading,
        commands=tuple(
            structs.replace(each, within="") if _starts(each) and each.within == "output" else each
            for each in reading.commands
        ),
    )


def may_outweigh(reading: ShellReading, run: Step) -> bool:
    """Whether something within $(...) may be the run in place of a command of the script's own, which neither
    has its output nor depends on it. What starts a process for each GPU is the run itself."""
    if any(layer.program in PER_GPU for layer in run.inner):
        return False
    kept = {each.place for each in reading.commands if each.within == "output" and _starts(each)}
    given = [each for each in reading.assigned if each.place in kept]
    used = (reading.at(name, run.command.place) for name in reading.used_by(run.command))
    is_given = any(each.exported for each in given) or any(each in given for each in used)
    on = [*_STARTS, *(each.name for each in given)]
    return (
        bool(kept)
        and not is_given
        and not any(name in each for each in run.command.conditions for name in on)
    )


def outweighs(kept: Step, run: Step) -> bool:
    """Whether it is no command of the script's own, does not only prepare, and has several ranks, or a number
    that is not told: of one rank it may only ask for something. What is called a run goes before another."""
    several = kept.ranks.per_node != 1 or kept.ranks.nodes != 1
    if not _starts(kept.command) or is_preparation(kept) or preparations.asks(kept.words) or not several:
        return False
    return preparations.runs(kept.words) or not preparations.runs(run.words)


def say(run: Command, draft: Draft) -> None:
    """Say what becomes of the output."""
    todo = "what the script makes of it, do with that log"
    words = " ".join(map(shown, run.words))
    draft.say("left", (run.place,), f"the output of {words} as a value", why=OF_RECORD, todo=todo)


def say_taken(kept: Step, own: Step, draft: Draft) -> None:
    """Say that it was taken for the run before a command of the script's own."""
    why = (
        f"which is the job's run: {kept.text[:_LONGEST]} was taken, which may have several ranks, and it may "
        f"be {own.text[:_LONGEST]}"
    )
    todo = "where it is write that as `command`, and how many ranks it has"
    # What becomes of the other one is told of its own line.
    draft.say("question", (kept.command.place,), "2 commands may be the run", why=why, todo=todo)


def _starts(command: Command) -> bool:
    return any(layer.program in _STARTS for layer in layers(command.words))
