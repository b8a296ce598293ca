"""Slots of mpirun that no line tells: it fills those of one node after the other, and Slurm gives it one for
each task, or where sbatch is asked for none one for so many CPUs as a task has (SLURM_TASKS_PER_NODE of
sbatch(1)): on a node that nobody shares that are many."""

from msgspec import structs

from hpclaunch.convert.mapping.ranks.mpi import FILLS, Told
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import FILLED, Ranks
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.readback.shell.values import known

_BY_SLOTS = frozenset(("mpirun", "mpiexec.hydra", "ibrun"))
_NOT_TOLD = (
    "how many Slurm gives it on a node no line tells: of cores with two threads two, of a whole node all"
)


def goes_by_slots(layer: Layer) -> bool:
    """Whether it fills the slots that Slurm gives it: no option says otherwise."""
    is_listed = layer.option("host") is not None or layer.option("hostfile") is not None
    return _fills(layer) and not is_listed


def _fills(layer: Layer) -> bool:
    policy = layer.option("map-by")
    return layer.program in _BY_SLOTS and (
        policy is None or (known(policy.value or ()) or "").lower() in FILLS
    )


def without_count(layer: Layer, of_slurm: Ranks, found: Allocation) -> Ranks:
    """The ranks of one that has no -np, and starts one in each slot."""
    if layer.program not in _BY_SLOTS or of_slurm.per_node is None or of_slurm.nodes is None:
        return of_slurm
    told = (found.tasks or 0, (found.nodes or 0) * (found.per_node or 0))
    if all(told) and told[0] != told[1]:
        doubt = f"{told[0]} tasks on {found.nodes} nodes with up to {found.per_node}: which are its slots"
        return structs.replace(of_slurm, per_node=None, doubt=doubt)
    if _are_told(found):
        return of_slurm
    doubt = f"without -np {layer.called} starts one in each slot, and {_NOT_TOLD}"
    return structs.replace(of_slurm, per_node=None, doubt=doubt)


def of_count(layer: Layer, sized: Ranks, told: Told | None, found: Allocation) -> Ranks:
    """The ranks of one with -np, as many on each node, with what is assumed for that."""
    total = (sized.nodes or 0) * (sized.per_node or 0)
    if not goes_by_slots(layer) or told is None or told.total != total or (sized.nodes or 1) == 1:
        return sized
    if not _are_told(found):
        many = f"{layer.called} fills the slots of one node before those of the next, and {_NOT_TOLD}"
        return structs.replace(sized, assumed=f"{many}; hpclaunch has as many on each")
    is_shared = found.tasks == total and not found.per_node and not found.whole and total > (found.nodes or 1)
    return structs.replace(sized, assumed=FILLED) if is_shared else sized


def of_list(layer: Layer, sized: Ranks, told: Told | None, found: Allocation) -> Ranks:
    """The ranks of one with -np and a list whose slots no line tells: fewer than the job has tasks may have
    been on the first hosts alone."""
    total = (sized.nodes or 0) * (sized.per_node or 0)
    option = layer.option("hostfile")
    if option is None or not _fills(layer) or told is None or told.total != total or sized.nodes == 1:
        return sized
    if not total or total == (found.tasks or (found.nodes or 0) * (found.per_node or 0)):
        return sized
    why = f"{layer.called} fills the slots of one host before those of the next, and how many each has in"
    return structs.replace(
        sized, assumed=f"{why} {option.written} no line tells; hpclaunch has as many on each"
    )


def _are_told(found: Allocation) -> bool:
    """Whether the slots of a node are: as tasks, or as one where a task has several CPUs of a shared node."""
    cpus = found.cpus_per_task or 1
    of_one = cpus > 1 and cpus % 2 == 0 and not found.whole
    return bool(found.tasks or found.per_node or found.tasks_per_gpu or of_one) or found.nodes is None
