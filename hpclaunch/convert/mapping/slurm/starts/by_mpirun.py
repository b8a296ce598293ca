"""An mpirun in an allocation as the run: its own options count ranks, and Slurm's where it has none."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from hpclaunch.convert.mapping.container import enroot
from hpclaunch.convert.mapping.ranks import mpi, mpi_variables, slots
from hpclaunch.convert.mapping.slurm.batch.allocation import is_for_several
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, number
from hpclaunch.convert.mapping.slurm.batch.hosts_not_told import perhaps_given
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import TASKS_OF_SLURM, Ranks, ranks
from hpclaunch.convert.mapping.slurm.srun.sruns import Step, fallbacks, prepares
from hpclaunch.convert.mapping.slurm.starts import chosen_hosts, host_slots, unfilled
from hpclaunch.convert.mapping.slurm.starts.chosen_hosts import Chosen
from hpclaunch.convert.mapping.words.host_lists import lists
from hpclaunch.convert.mapping.words.made import untold_number
from hpclaunch.convert.programs.environments import MODULES
from hpclaunch.convert.programs.layers import MPI, Layer, Option, layers
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Unknown, known, shown

_MOST = 200  # commands that are looked at: a benchmark has dozens, and some a hundred
_MANY = 10**9
_ON_ONE_MACHINE = 128  # ranks


def run_of(
    reading: ShellReading, found: Allocation, asked: Sequence[Asked] = ()
) -> tuple[Step, Layer] | None:
    """The mpirun of the script with the most ranks, the last of several, and its own layer; None where there
    is none, or none that does more than prepare the nodes. `asked` are the options of the container that the
    whole script is in."""
    its = _commands(reading)
    instead = fallbacks([command for command, *_ in its])
    its = [each for each in its if id(each[0]) not in instead] or its
    steps = [_of_mpirun(reading, *each, found, tuple(asked)) for each in its[-_MOST:]]
    steps = [each for each in steps if not prepares(each[0])]
    return max(reversed(steps), key=lambda each: total(each[0].ranks), default=None)


def _commands(reading: ShellReading) -> list[tuple[Command, tuple[Layer, ...], int]]:
    return [
        (command, its_layers, index)
        for command in reading.commands
        for its_layers in (layers(command.words),)
        for index, layer in enumerate(its_layers)
        if layer.program in MPI and not (command.within or command.signals)
    ]


def total(size: Ranks) -> int:
    """How many ranks there are; more than any number where that is not told."""
    return size.nodes * size.per_node if size.nodes and size.per_node else _MANY


def all_of(reading: ShellReading, found: Allocation) -> list[Step]:
    """Each mpirun of the script that starts ranks, as a step."""
    return [
        _of_mpirun(reading, command, its_layers, index, found, ())[0]
        for command, its_layers, index in _commands(reading)[-_MOST:]
    ]


def like(reading: ShellReading, found: Allocation, run: Step, by: Layer) -> list[Step]:
    """Each other mpirun that starts as many ranks by the same options: a step of the job is the same. Where a
    node has one rank a step of the job would be without MPI."""
    its = (
        _of_mpirun(reading, command, its_layers, index, found, ())
        for command, its_layers, index in _commands(reading)[-_MOST:]
        if command is not run.command
    )
    size = (run.ranks.nodes, run.ranks.per_node)
    if None in size or run.ranks.per_node == 1:
        return []
    options = [(each.name, each.value) for each in by.options]
    return [
        step
        for step, layer in its
        if (step.ranks.nodes, step.ranks.per_node) == size
        and [(each.name, each.value) for each in layer.options] == options
        and [each.program for each in step.before] == [each.program for each in run.before]
    ]


def _of_mpirun(
    reading: ShellReading,
    command: Command,
    found_layers: tuple[Layer, ...],
    index: int,
    found: Allocation,
    asked: tuple[Asked, ...],
) -> tuple[Step, Layer]:
    layer = mpi_variables.with_variables(found_layers[index], command)
    of_file = next(lists(reading), None)
    listed = of_file if found.nodes is None else None
    nodes = found.nodes or mpi.nodes_of(layer) or (listed.hosts.count if listed is not None else None)
    total = mpi.told_by(layer, lambda option: number(option.value, reading, found.numbers))
    chosen = None
    if found.nodes is not None and found.nodes > 1:
        is_all = total is not None and total.is_total and total.total == found.nodes * (found.per_node or 0)
        is_all = is_all or _is_all_tasks(layer)
        chosen = chosen_hosts.of(reading, command, layer, found.nodes, of_all=is_all)
    if chosen is not None:
        nodes = chosen.count
    size = mpi.ranks_of(reading, command, layer, nodes, found.numbers)
    if listed is not None and size is not None:
        size = structs.replace(size, places=(*size.places, *listed.hosts.places))
    of_slurm = ranks(reading, (), found, command.place)
    if size is None:
        # mpirun starts a rank in each slot, and those are Slurm's tasks where no list of hosts says others.
        listed_ranks = _of_list(reading, command, layer, nodes)
        of_hosts = _of_hosts(command, layer) if found.nodes is None else None
        of_hosts = _of_chosen(chosen, of_slurm) if chosen is not None else listed_ranks or of_hosts
        sized = of_hosts or unfilled.without_count(layer, of_slurm, found)
        names = (shown(word) for each in (command, *reading.of(*MODULES)) for word in each.words)
        divided = slots.divided(layer, names)
        if divided is not None and (sized.per_node or 1) * (sized.nodes or 2) > 1:
            sized = Ranks(sized.nodes, None, (*sized.places, command.place), divided[1])
    elif (filled := _filled(reading, layer, found)) is not None:
        sized = structs.replace(filled, places=size.places)
    elif size.per_node is None and nodes is None and found.per_node and _is_all_tasks(layer):
        sized = Ranks(None, found.per_node, (*found.places.get("per_node", ()), *size.places))
    elif size.per_node is None and nodes is None and _is_of_one_machine(reading, command, layer, total):
        assert total is not None
        sized = Ranks(None, total.total, size.places)
    elif size.per_node is None:
        is_told = total is not None and (total.total if total.is_total else total.per_node) is not None
        of_nodes = f"{size.what} on {nodes or 'an unknown number of'} nodes"
        doubt = of_nodes if is_told else untold_number(reading, _written(layer, size.what))
        sized = Ranks(nodes, None, size.places, doubt)
    else:
        sized = of_all(reading, layer, Ranks(nodes, size.per_node, size.places), found.numbers)
        sized = unfilled.of_count(layer, sized, total, found)
    if found.nodes is None and chosen is None:
        by_list = listed is not None and layer.option("host") is None
        lines = (command.place, *(listed.hosts.places if listed is not None and by_list else ()))
        sized = host_slots.sized(layer, total, host_slots.of(layer, listed), lines) or sized
    else:
        of_each = host_slots.of(layer, of_file)
        if not of_each:
            sized = unfilled.of_list(layer, sized, total, found)
        elif len(of_each) <= (found.nodes or 0):
            places = (command.place, *(of_file.hosts.places if of_file and not layer.option("host") else ()))
            sized = host_slots.sized(layer, total, of_each, places) or sized
    before = found_layers[:index]
    of_enroot, inner, of_container = enroot.of(reading, command, found_layers[index + 1 :])
    if of_enroot is None and before:  # the container may be around mpirun
        of_enroot, before, of_container = enroot.of(reading, command, before)
    if chosen is not None and chosen.count is None:
        option = chosen.option
        asked = (*asked, Asked("nodes", (Unknown("output", ""),), option.written, chosen.places, "command"))
    return Step(command, (*asked, *of_container), sized, inner, before, of_enroot), layer


def _written(layer: Layer, what: str) -> Option:
    """The option that is written so."""
    return next((each for each in layer.options if each.written == what), Option("", None, what))


def _of_chosen(chosen: Chosen, of_slurm: Ranks) -> Ranks:
    """A rank in each slot of the hosts of -H. Where it says none a host has one by some releases of Open MPI,
    and by others and in hydra those of Slurm's tasks."""
    per_node = chosen.slots or (1 if of_slurm.per_node == 1 else None)
    doubt = f"{chosen.option.written} does not say how many each host has"
    return Ranks(chosen.count, per_node, chosen.places, "" if per_node else doubt)


def _is_all_tasks(layer: Layer) -> bool:
    """Whether mpirun starts as many ranks as the job has tasks: on each node those of --ntasks-per-node,
    however many nodes there are."""
    option = layer.option("np")
    its = option.value if option is not None and option.value else ()
    return len(its) == 1 and isinstance(its[0], Unknown) and its[0].name in TASKS_OF_SLURM


def of_all(reading: ShellReading, layer: Layer, size: Ranks, numbers: Mapping[str, int]) -> Ranks:
    """Where -np counts all ranks and another option those on a node: -np 8 with 4 on each takes two nodes, of
    however many there are (mpirun(1) of Open MPI, "--map-by": ppr), and -np 2 with 4 on each the first one
    (Intel MPI's Developer Reference, "Global Hydra Options": -ppn places consecutive ranks)."""
    option = layer.option("np")
    per_node = size.per_node
    total = number(option.value, reading, numbers) if option is not None else None
    if option is None or not per_node or not (size.nodes or total):
        return size
    if not total:
        return Ranks(size.nodes, None, size.places, f"{option.written}, at most {per_node} on each node")
    whole = (size.nodes or -(-total // per_node)) * per_node
    if total > whole:
        doubt = f"{option.written}, which are more than {per_node} on each of {size.nodes} nodes"
        return Ranks(size.nodes, None, size.places, doubt)
    if total <= per_node:
        return Ranks(1, total, size.places)
    if total % per_node:
        doubt = f"{option.written}, at most {per_node} on each node: the last node has fewer ranks"
        return Ranks(-(-total // per_node), None, size.places, doubt)
    return Ranks(total // per_node, per_node, size.places)


def _is_of_one_machine(reading: ShellReading, command: Command, layer: Layer, told: mpi.Told | None) -> bool:
    """Whether neither the script nor mpirun knows of other machines: all ranks are on the one on which
    it is typed. So many that no machine has them are another scheduler's."""
    if told is None or not told.total or told.total > _ON_ONE_MACHINE:
        return False
    if any(layer.option(name) is not None for name in ("host", "hostfile")):
        return False
    return not is_for_several(reading) and next(perhaps_given(reading, command), None) is None


def _of_list(reading: ShellReading, command: Command, layer: Layer, nodes: int | None) -> Ranks | None:
    """The slots of the list of hosts that mpirun is given, None where it is given none."""
    option = layer.option("hostfile")
    if option is None:
        return None
    found = next((each for each in lists(reading) if each.slots), None)
    if found is None:
        doubt = f"{option.written} says how many ranks each host has, and its lines are not told"
        return Ranks(nodes, None, (command.place,), doubt)
    return Ranks(nodes, found.slots, found.hosts.places)


def _of_hosts(command: Command, layer: Layer) -> Ranks | None:
    """A rank in each slot of the hosts that -H names, and each has one where none is told (mpirun(1))."""
    nodes, slots = mpi.nodes_of(layer), mpi.slots_of(layer)
    return Ranks(nodes, slots or 1, (command.place,)) if nodes else None


def _filled(reading: ShellReading, layer: Layer, found: Allocation) -> Ranks | None:
    """Where fewer ranks than the allocation has tasks go: mpirun fills the slots of one node after the other,
    and those are Slurm's tasks: mpirun(1) of Open MPI, "--map-by": slot is the default; of hydra's nodes each
    has SLURM_TASKS_PER_NODE (slurm_rmk of MPICH), or with Intel MPI what the scheduler says, and the next one
    follows when it is full (its Developer Guide, "Controlling Process Placement"). None where they are as
    many, or the options say otherwise."""
    told = mpi.told_by(layer, lambda option: number(option.value, reading, found.numbers))
    if told is None or not told.is_total or not unfilled.goes_by_slots(layer):
        return None
    slots, total = found.per_node, told.total
    if total == 1:
        return Ranks(1, 1, ())
    if not slots or not found.nodes or not total or total >= slots * found.nodes:
        return None
    offset = layer.option("o") if layer.program == "ibrun" else None
    if offset is not None and known(offset.value or ()) != "0":
        return Ranks(None, None, (), f"{offset.written} begins behind other ranks")
    if total <= slots:
        return Ranks(1, total, ())
    if total % slots:
        doubt = f"{told.option.written} on nodes with {slots} tasks each: the last node has fewer ranks"
        return Ranks(-(-total // slots), None, (), doubt)
    return Ranks(total // slots, slots, ())
