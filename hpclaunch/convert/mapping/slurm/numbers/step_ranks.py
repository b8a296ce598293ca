"""How many ranks a step has on each of its nodes."""

from collections.abc import Mapping, Sequence
from math import prod

from msgspec import Struct, structs

from hpclaunch.convert.mapping.slurm.batch.asked import Asked, number, outside_allocation
from hpclaunch.convert.mapping.slurm.numbers.sizes import (
    OF_GPUS,
    PARTS,
    Allocation,
    Gpus,
    count_of,
    gpus_of,
    is_range,
    last,
    parts,
)
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import Part, Unknown
from hpclaunch.values.conversion import Place

_NODES_OF_SLURM = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
TASKS_OF_SLURM = ("SLURM_NTASKS", "SLURM_NPROCS")
_COUNTS = frozenset(("ntasks", "ntasks-per-node"))
# Of -N 2 -n 16 Slurm 22.05 starts 14 on one node and 2 on the other where jobs share nodes, and 8 on each
# with --exclusive.
FILLED = (
    "where jobs share nodes Slurm fills one after the other, and some had more ranks than others; hpclaunch "
    "has as many on each"
)


class Ranks(Struct, frozen=True):
    """The sizes of a step: `nodes` and `per_node`, None where they are not told, with why (`doubt`); on other
    machines than most it has others, as `assumed` says."""

    nodes: int | None
    per_node: int | None
    places: tuple[Place, ...]
    doubt: str = ""
    assumed: str = ""


def ranks(reading: ShellReading, step: Sequence[Asked], found: Allocation, place: Place) -> Ranks:
    """How many ranks a step has on each of its nodes: its own options, and where it leaves them out those of
    the job, which srun reads from its environment (srun(1), "Input environment variables")."""
    given = last(step)
    own = given.get("nodes")
    nodes = number(own.value, reading, found.numbers) if own else found.nodes
    lines = own.places if own else found.places.get("nodes", ())
    per_node, of_per_node = _per_node(reading, given, found)
    tasks, of_tasks, every = _tasks(reading, given, found)
    if every:
        return Ranks(nodes, 1, (*of_tasks, *lines))
    if tasks is not None and nodes is not None:
        if per_node and tasks == nodes * per_node:
            return Ranks(nodes, per_node, (*of_per_node, *of_tasks))
        if tasks < nodes:
            # srun warns that it cannot run so few on so many nodes, and takes fewer.
            return Ranks(tasks, 1, of_tasks)
        if tasks % nodes or (per_node and tasks > nodes * per_node):
            limit = f", at most {per_node} on each" if per_node else ""
            doubt = f"{tasks} ranks on {nodes} nodes{limit}: how many are on each is not told"
            return Ranks(nodes, None, (*of_tasks, *lines), doubt)
        assumed = "" if found.whole or not 1 < nodes < (found.tasks or 0) else FILLED
        return Ranks(nodes, tasks // nodes, (*of_tasks, *lines), assumed=assumed)
    ranged = is_range(own) if own else found.ranged
    # A core with two threads has place for one more task than sbatch was asked for; many do not fit so.
    only_here = given.keys() & _COUNTS == {"ntasks"} and (found.tasks, found.per_node) == (None, 1)
    if only_here and nodes is None and tasks == 2 and outside_allocation(reading) is None:
        doubt = f"{tasks} ranks, and on how many nodes is not told"
        return Ranks(None, None, (*of_tasks, *of_per_node), doubt)
    if tasks and per_node and not ranged:
        # Slurm takes as many nodes as that needs; the second is the most that one of them gets (srun(1)).
        nodes, both = -(-tasks // per_node), (*of_tasks, *of_per_node)
        if tasks > per_node and tasks % per_node:
            doubt = f"{tasks} ranks, at most {per_node} on each node: how many are on each is not told"
            return Ranks(nodes, None, both, doubt)
        return Ranks(nodes, min(tasks, per_node), both)
    each = _on_each_node(reading, given, found) if nodes is None and tasks is None else None
    if each and "ntasks-per-node" not in given:
        return Ranks(None, each, of_tasks)
    # Beside its own -n the number on a node that sbatch was given is the most (srun(1), --ntasks-per-node).
    if per_node and (tasks is None or not ranged) and (tasks is not None or not _is_own_number(given)):
        return Ranks(nodes, per_node, of_per_node)
    if tasks is not None:
        if tasks == 1:
            return Ranks(1, 1, of_tasks)
        return Ranks(None, None, of_tasks, f"{tasks} ranks, and on how many nodes is not told")
    if of_tasks or of_per_node:
        return Ranks(nodes, None, of_tasks or of_per_node, "how many ranks there are is not told")
    if found.tasks_per_gpu and found.gpus:
        return Ranks(nodes, found.tasks_per_gpu * found.gpus, found.places["tasks_per_gpu"])
    if "tasks_per_gpu" in found.places:
        return Ranks(nodes, None, found.places["tasks_per_gpu"], "how many GPUs a node has is not told")
    each_part, of_parts = parts(given)
    if len(each_part) == len(PARTS):  # srun makes tasks of them where it has all three (src/srun/opt.c)
        each = prod(map(count_of, each_part))
        return Ranks(nodes, each or None, of_parts, "" if each else "how many ranks there are is not told")
    of_cpus = given.get("cpus-per-task")
    if of_cpus is not None and not of_cpus.written.startswith("SLURM_"):
        return _by_cpus(reading, of_cpus, Ranks(nodes, 1, (*of_cpus.places, *lines)), found)
    # One task for each node is srun's default (srun(1), --ntasks).
    return Ranks(nodes, 1, (place, *lines))


def _by_cpus(reading: ShellReading, own: Asked, ranks: Ranks, found: Allocation) -> Ranks:
    """A srun with -c and nothing that tells its tasks starts one for every so many of the job's CPUs
    (srun(1), --cpus-per-task): those that sbatch was asked for with -c, up to whole cores, and all of a node
    where nobody shares it."""
    each, all_cpus = number(own.value, reading, found.numbers), found.cpus_per_task
    if outside_allocation(reading) is not None:
        all_cpus = each  # it asks for its own
    doubt = f"{own.written} without -n starts one for every {each or 'so many'} CPUs of the job on a node"
    if not each or not all_cpus or found.whole or all_cpus // each != (all_cpus + all_cpus % 2) // each:
        return structs.replace(ranks, per_node=None, doubt=doubt)
    assumed = f"{doubt}, more where it has whole nodes"
    return structs.replace(ranks, per_node=max(all_cpus // each, 1), assumed=assumed)


def _per_node(
    reading: ShellReading, given: Mapping[str, Asked], found: Allocation
) -> tuple[int | None, tuple[Place, ...]]:
    own, of_gpus = given.get("ntasks-per-node"), given.get("ntasks-per-gpu")
    if own is not None:
        return number(own.value, reading, found.numbers), own.places
    if of_gpus is not None:
        each = number(of_gpus.value, reading, found.numbers)
        its = gpus_of(reading, given, found) if given.keys() & OF_GPUS else Gpus(found.gpus)
        return (each * its.number if each and its.number else None), (*of_gpus.places, *its.places)
    return found.per_node, found.places.get("per_node", ())


def _tasks(
    reading: ShellReading, given: Mapping[str, Asked], found: Allocation
) -> tuple[int | None, tuple[Place, ...], bool]:
    """How many ranks in all, the lines, and whether it is one for each node however many there are."""
    own = given.get("ntasks")
    if own is None:
        if "ntasks-per-node" in given and "ntasks" not in given:
            return None, (), False
        return found.tasks, found.places.get("tasks", ()), False
    if _source(own) in _NODES_OF_SLURM:
        return found.nodes, own.places, True
    return number(own.value, reading, found.numbers), own.places, False


def _source(own: Asked) -> str:
    """The variable that an option's value is, "" for another value."""
    return "".join(_name_of(part) for part in own.value or ()).strip("$({ )}")


def _is_own_number(given: Mapping[str, Asked]) -> bool:
    """Whether a step says itself how many ranks it has in all, and neither how many on a node nor Slurm's own
    number of them."""
    own = given.get("ntasks")
    return own is not None and "ntasks-per-node" not in given and _source(own) not in TASKS_OF_SLURM


def _on_each_node(reading: ShellReading, given: Mapping[str, Asked], found: Allocation) -> int | None:
    """The ranks on a node of -N $NNODES -n $((NNODES * 8)), however many nodes those are."""
    own, tasks = given.get("nodes"), given.get("ntasks")
    if tasks is None:
        return None
    names = {_name_of(part) for part in (own.value or () if own else ())} or set(_NODES_OF_SLURM)
    if names & set(_NODES_OF_SLURM):
        names = set(_NODES_OF_SLURM)
    counts = {
        number(tasks.value, reading, {**found.numbers, **dict.fromkeys(names, nodes)}) for nodes in (1, 2, 3)
    }
    each = min((count for count in counts if count), default=0)
    return each if counts == {each, 2 * each, 3 * each} else None


def _name_of(part: Part) -> str:
    return part.name if isinstance(part, Unknown) and part.kind in ("variable", "number") else "-"
