"""What a script exports whose run is not found -> `env`: whatever its run is, the ranks had it."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment import exported
from hpclaunch.convert.mapping.slurm import export
from hpclaunch.convert.mapping.slurm.asked import of_batch
from hpclaunch.convert.mapping.slurm.sizes import Allocation
from hpclaunch.convert.reading import ShellReading


def put(reading: ShellReading, found: Allocation, draft: Draft) -> None:
    """Put what is exported to the last command that may start something."""
    commands = (each for each in reversed(reading.commands) if each.environment and not each.within)
    last = next(commands, None)
    if last is None:
        return
    ranks = exported.Ranks(
        export.of(last, None, of_batch(reading)),
        options=(),
        slurm=found.numbers,
        read_inside=(),
        trial="",
        swept=(),
        stand_ins={},
        gpus=draft.number("gpus_per_node"),
        container=False,
    )
    exported.put(reading, last, ranks, draft)
