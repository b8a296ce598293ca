"""An mpirun in an allocation as the run: its own options count ranks, and Slurm's where it has none."""

from collections.abc import Sequence

from msgspec import structs

from hpclaunch.convert.mapping.ranks import mpi
from hpclaunch.convert.mapping.slurm.asked import Asked
from hpclaunch.convert.mapping.slurm.sizes import Allocation, Ranks, ranks
from hpclaunch.convert.mapping.slurm.sruns import Step, fallbacks
from hpclaunch.convert.mapping.words.host_lists import lists
from hpclaunch.convert.programs.layers import MPI, Layer, layers
from hpclaunch.convert.reading import Command, ShellReading


def run_of(
    reading: ShellReading, found: Allocation, asked: Sequence[Asked] = ()
) -> tuple[Step, Layer] | None:
    """The last mpirun of the script and its own layer, None where there is none. `asked` are the options of
    the container that the whole script is in."""
    its = [
        (command, its_layers, index)
        for command in reading.commands
        for its_layers in (layers(command.words),)
        for index, layer in enumerate(its_layers)
        if layer.program in MPI and not (command.within or command.signals)
    ]
    instead = fallbacks([command for command, *_ in its])
    its = [each for each in its if id(each[0]) not in instead] or its
    return _of_mpirun(reading, *its[-1], found, tuple(asked)) if its else None


def _of_mpirun(
    reading: ShellReading,
    command: Command,
    found_layers: tuple[Layer, ...],
    index: int,
    found: Allocation,
    asked: tuple[Asked, ...],
) -> tuple[Step, Layer]:
    layer = found_layers[index]
    listed = next(lists(reading), None) if found.nodes is None else None
    nodes = found.nodes or mpi.nodes_of(layer) or (listed.hosts.count if listed is not None else None)
    size = mpi.ranks_of(reading, command, layer, nodes, found.numbers)
    if listed is not None and size is not None:
        size = structs.replace(size, places=(*size.places, *listed.hosts.places))
    of_slurm = ranks(reading, (), found, command.place)
    if size is None:
        # mpirun starts a rank in each slot, and those are Slurm's tasks.
        sized = of_slurm
    elif size.per_node is None:
        sized = Ranks(nodes, None, size.places, f"{size.what} on {nodes or 'an unknown number of'} nodes")
    else:
        sized = Ranks(nodes, size.per_node, size.places)
    return Step(command, asked, sized, found_layers[index + 1 :], found_layers[:index]), layer
