"""What a script exports whose run is not found -> `env`: whatever its run is, the ranks had it."""

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment import exported
from hpclaunch.convert.mapping.slurm.batch import export
from hpclaunch.convert.mapping.slurm.batch.asked import of_batch
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value
from hpclaunch.values.conversion import Place


def put(
    reading: ShellReading, found: Allocation, draft: Draft, *, image: bool = False
) -> list[tuple[str, Value]]:
    """Put what is exported to the last command that may start something, and what is exported behind it: the
    script may only make the line of its run (LINE="srun ./a"), which somebody starts. `image`: the ranks are
    in one, and the script is not. Returns the variables that the command's text would have to make."""
    commands = (each for each in reversed(reading.commands) if each.environment and not each.within)
    last = next(commands, None)
    if last is None and not reading.at_end:
        return []
    end = Command(Place(reading.script), ()) if last is None else last
    missing = {name for name, _ in reading.at_end}.difference(name for name, _ in end.environment)
    behind = tuple(each for each in reading.at_end if each[0] in missing)
    its = structs.replace(end, environment=end.environment + behind)
    return put_to(reading, its, found, draft, image=image)


def put_to(
    reading: ShellReading, command: Command, found: Allocation, draft: Draft, *, image: bool = False
) -> list[tuple[str, Value]]:
    """Put what is exported to a command. Returns the variables that the command's text would have to make."""
    gpus = draft.number("gpus_per_node")
    handed = export.of(reading, command, None, of_batch(reading))
    ranks = exported.Ranks(handed, slurm=found.numbers, gpus=gpus, container=image)
    return exported.put(reading, command, ranks, draft)
