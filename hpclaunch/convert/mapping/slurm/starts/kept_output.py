"""The run of a script that keeps what it puts out: OUT=$(mpirun ./bench)."""

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around.logs import OF_RECORD
from hpclaunch.convert.programs.layers import MPI, layers
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import shown

_STARTS = ("srun", *MPI)


def opened(reading: ShellReading) -> ShellReading:
    """The reading with what starts ranks within $(...) as any other command, for a script in which nothing
    else starts any."""
    return structs.replace(
        reading,
        commands=tuple(
            structs.replace(each, within="") if _starts(each) and each.within == "output" else each
            for each in reading.commands
        ),
    )


def say(run: Command, draft: Draft) -> None:
    """Say what becomes of the output."""
    todo = "what the script makes of it, do with that log"
    words = " ".join(map(shown, run.words))
    draft.say("left", (run.place,), f"the output of {words} as a value", why=OF_RECORD, todo=todo)


def _starts(command: Command) -> bool:
    return any(layer.program in _STARTS for layer in layers(command.words))
