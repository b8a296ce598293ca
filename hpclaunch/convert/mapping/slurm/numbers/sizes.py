"""How many nodes, ranks and GPUs: of the job as a whole, and of a step."""

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod

from msgspec import Struct, structs

from hpclaunch.convert.mapping.slurm.batch.asked import (
    GPUS,
    Asked,
    number,
    of_batch,
    origin_of,
    outside_allocation,
)
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.to_fill_in import to_fill_in
from hpclaunch.readback.shell.values import Part, Unknown
from hpclaunch.readback.slurm import forms
from hpclaunch.values.conversion import Place

_NODES_OF_SLURM = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
_TASKS_OF_SLURM = ("SLURM_NTASKS", "SLURM_NPROCS")
# By the option that each of them says again (sbatch(1), "Output environment variables").
GPU_VARIABLES = {
    "gpus": "SLURM_GPUS",
    "gpus-per-node": "SLURM_GPUS_PER_NODE",
    "gpus-per-task": "SLURM_GPUS_PER_TASK",
}


_KIND = re.compile(r"[\w.+-]*")
# What else says how many tasks there are.
_TELL_TASKS = frozenset(("ntasks", "ntasks-per-node", "ntasks-per-gpu"))
_LONGEST = 8  # digits of what a node may have
# Of -N 2 -n 16 Slurm 22.05 starts 14 on one node and 2 on the other where jobs share nodes, and 8 on each
# with --exclusive.
FILLED = (
    "where jobs share nodes Slurm fills one after the other, and some had more ranks than others; hpclaunch "
    "has as many on each"
)
_PARTS = ("sockets-per-node", "cores-per-socket", "threads-per-core")


class Allocation(Struct, frozen=True):
    """What the job has as a whole; None is what nothing tells. `tasks` are of all nodes, `per_node` those on
    one, `gpus` those on a node, `sockets` a node's; `whole`: it asks for nodes that nobody shares, `ranged`:
    for so many or so many.
    `gpus_asked`: what the options for GPUs say, by Slurm's variables. `places`: the lines of each field."""

    nodes: int | None = None
    tasks: int | None = None
    per_node: int | None = None
    gpus: int | None = None
    cpus_per_task: int | None = None
    tasks_per_gpu: int | None = None
    sockets: int | None = None
    whole: bool = False
    ranged: bool = False
    gpus_asked: dict[str, int] = {}
    places: dict[str, tuple[Place, ...]] = {}

    @property
    def numbers(self) -> dict[str, int]:
        """Slurm's own variables in the script, as far as they are known (sbatch(1), "Output environment
        variables")."""
        tasks = self.tasks
        if tasks is None and self.nodes and self.per_node:
            tasks = self.nodes * self.per_node
        pairs = (
            ("SLURM_JOB_NUM_NODES", self.nodes),
            ("SLURM_NNODES", self.nodes),
            ("SLURM_NTASKS", tasks),
            ("SLURM_NPROCS", tasks),
            ("SLURM_NTASKS_PER_NODE", self.per_node),
            ("SLURM_CPUS_PER_TASK", self.cpus_per_task),
            ("SLURM_GPUS_ON_NODE", self.gpus),
        )
        return {**self.gpus_asked, **{name: value for name, value in pairs if value is not None}}


class Ranks(Struct, frozen=True):
    """The sizes of a step: `nodes` and `per_node`, None where they are not told, with why (`doubt`); on other
    machines than most it has others, as `assumed` says."""

    nodes: int | None
    per_node: int | None
    places: tuple[Place, ...]
    doubt: str = ""
    assumed: str = ""


def last(asked: Sequence[Asked]) -> dict[str, Asked]:
    """By its name the option that counts."""
    return {each.name: each for each in asked}


def sizes(reading: ShellReading, asked: Sequence[Asked] | None = None) -> Allocation:
    """The sizes of the allocation, by what is asked of sbatch."""
    given = last(of_batch(reading) if asked is None else asked)
    places: dict[str, tuple[Place, ...]] = {}

    def count(name: str, field: str, slurm: Mapping[str, int]) -> int | None:
        each = given.get(name)
        if each is not None:
            places[field] = each.places
            return number(each.value, reading, slurm)
        return None

    nodes = count("nodes", "nodes", {})
    slurm = {"SLURM_JOB_NUM_NODES": nodes} if nodes else {}
    tasks = count("ntasks", "tasks", slurm)
    per_node = count("ntasks-per-node", "per_node", slurm)
    if "nodes" not in given and tasks:
        if per_node:
            nodes, places["nodes"] = -(-tasks // per_node), (*places["tasks"], *places["per_node"])
        elif tasks == 1:
            nodes, places["nodes"] = 1, places["tasks"]
    elif nodes and tasks and tasks < nodes:
        # sbatch warns that it cannot run so few on so many nodes, and asks for fewer (src/sbatch/opt.c).
        nodes, places["nodes"] = tasks, (*places["nodes"], *places["tasks"])
    if "nodes" not in given and nodes is None:
        nodes = _by_gpus(given, places)
    if nodes and "nodes" in given and not given.keys() & _TELL_TASKS:
        tasks = _by_parts(given, nodes, places)
    found = Allocation(
        nodes=nodes,
        tasks=tasks,
        per_node=per_node,
        cpus_per_task=count("cpus-per-task", "cpus_per_task", slurm),
        tasks_per_gpu=count("ntasks-per-gpu", "tasks_per_gpu", slurm),
        sockets=count("sockets-per-node", "sockets", slurm),
        whole="exclusive" in given and not given["exclusive"].text,
        ranged=_is_range(given.get("nodes")),
        gpus_asked=_gpus_asked(given, places),
        places=places,
    )
    gpus = gpus_of(reading, given, found)
    return structs.replace(found, gpus=gpus.number, places={**places, "gpus": gpus.places})


def _by_parts(given: Mapping[str, Asked], nodes: int, places: dict[str, tuple[Place, ...]]) -> int | None:
    """The tasks of -N 2 --sockets-per-node=2: where nothing else tells them, sbatch makes one for each of the
    sockets, cores and threads that it is asked for (src/sbatch/opt.c, "1 proc / min_[socket * core * thread]
    default", of Slurm 19.05 to 26.11)."""
    texts, lines = _parts(given)
    if texts:
        places["tasks"] = lines
    return nodes * prod(_count(text) for text in texts) or None if texts else None


def _parts(given: Mapping[str, Asked]) -> tuple[list[str | None], tuple[Place, ...]]:
    """How many sockets, cores and threads are asked for, as far as they are, and the lines."""
    texts = {name: given[name].text for name in _PARTS if name in given}
    lines = [place for name in texts for place in given[name].places]
    whole = given.get("extra-node-info")
    if whole is not None:
        texts.update(zip(_PARTS, (whole.text or "?:?:?").split(":"), strict=False))
        lines += whole.places
    return list(texts.values()), tuple(lines)


def _count(text: str | None) -> int:
    return int(text) if text and len(text) < _LONGEST and text.isascii() and text.isdecimal() else 0


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
        assumed = "" if per_node or found.whole or not 1 < nodes < (found.tasks or 0) else FILLED
        return Ranks(nodes, tasks // nodes, (*of_tasks, *lines), assumed=assumed)
    is_range = _is_range(own) if own else found.ranged
    if tasks and per_node and not is_range:
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
    if per_node and (tasks is None or not is_range) and (tasks is not None or not _is_own_number(given)):
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
    parts, of_parts = _parts(given)
    if len(parts) == len(_PARTS):  # srun makes tasks of them where it has all three (src/srun/opt.c)
        each = prod(map(_count, parts))
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


def _is_range(each: Asked | None) -> bool:
    low, dash, high = ((each.text if each is not None else "") or "").partition("-")
    return bool(dash) and low != high


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
    return own is not None and "ntasks-per-node" not in given and _source(own) not in _TASKS_OF_SLURM


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


class Gpus(Struct, frozen=True):
    """How many GPUs on a node (None: not told), of which kind ("": any), the lines, and the option or
    variable as it is written ("": nothing speaks of GPUs). `in_all`: it tells those of several nodes."""

    number: int | None
    kind: str = ""
    places: tuple[Place, ...] = ()
    written: str = ""
    in_all: bool = False


def gpus_of(reading: ShellReading, given: Mapping[str, Asked], found: Allocation) -> Gpus:
    """The GPUs on a node, by the options, or by a launcher's own variable."""
    seen: list[Gpus] = []
    for name, way in _WAYS.items():
        each = given.get(name)
        if each is not None:
            count, kind = way(each, found) if each.text != "0" else (0, "")  # none on any node
            beside = next(
                (found.places[field] for field in _BESIDE.get(name, ()) if field in found.places), ()
            )
            in_all = name == "gpus" and (found.nodes or 1) > 1
            seen.append(Gpus(count, kind, (*each.places, *beside), each.written, in_all))
    told = next((each for each in seen if each.number is not None), None)
    if told is not None:
        return told
    for name in GPUS:
        variable = reading.last(name)
        count = number(variable.value, reading, {}) if variable is not None else None
        if count is not None:
            return Gpus(count, "", origin_of(reading, name), name)
    return seen[0] if seen else Gpus(None)


def _gpus_asked(given: Mapping[str, Asked], places: dict[str, tuple[Place, ...]]) -> dict[str, int]:
    """The numbers of such options; one with a kind (h100:8) is none."""
    found = {}
    for name, variable in GPU_VARIABLES.items():
        each = given.get(name)
        if each is not None and (each.text == "0" or _count(each.text)):
            found[variable], places[name] = _count(each.text), each.places
    return found


def _by_gpus(given: Mapping[str, Asked], places: dict[str, tuple[Place, ...]]) -> int | None:
    """The nodes of --gpus=16 --gpus-per-node=8, which Slurm works out itself, and of one GPU alone."""
    total, each = given.get("gpus"), given.get("gpus-per-node")
    if total is None:
        return None
    all_gpus, _ = _gpus(total)
    if each is None:
        if all_gpus != 1 or "ntasks" in given:
            return None
        places["nodes"] = total.places
        return 1
    on_node, _ = _gpus(each)
    if not all_gpus or not on_node or all_gpus % on_node:
        return None
    places["nodes"] = (*total.places, *each.places)
    return all_gpus // on_node


def _gpus(each: Asked) -> tuple[int | None, str]:
    try:
        count, kind = forms.gpus(each.text) if each.text else (None, "")
        # A list of kinds (a100:4,v100:2) is no kind, and its last number not that of all.
        return (None, "") if to_fill_in(kind) or "," in kind else (count, kind)
    except ValueError:
        return None, ""


def _of_gres(each: Asked, found: Allocation) -> tuple[int | None, str]:
    text = each.text or ""
    count, kind, others = forms.gpus_of_gres(text)
    parts = map(forms.gpus_of_gres, text.split(","))
    if len({of_part for number, of_part, _ in parts if number}) > 1:
        return None, ""  # GPUs of several kinds, and a job has one
    if not _KIND.fullmatch(kind) or to_fill_in(kind):
        return None, ""  # gpu:<how many>, which to Slurm is one of that kind
    return (None if not each.text or (others and not count) else count), kind


def _of_all_nodes(each: Asked, found: Allocation) -> tuple[int | None, str]:
    count, kind = _gpus(each)
    nodes = found.nodes or (1 if count == 1 else None)  # one GPU is on one node
    if count is None or not nodes or count % nodes:
        return None, kind
    return count // nodes, kind


def _of_a_task(each: Asked, found: Allocation) -> tuple[int | None, str]:
    count, kind = _gpus(each)
    tasks = found.per_node
    if tasks is None and found.tasks and found.nodes and found.tasks % found.nodes == 0:
        tasks = found.tasks // found.nodes
    return (count * tasks if count is not None and tasks else None), kind


def _of_a_socket(each: Asked, found: Allocation) -> tuple[int | None, str]:
    count, kind = _gpus(each)
    return (count * found.sockets if count is not None and found.sockets else None), kind


_WAYS: dict[str, Callable[[Asked, Allocation], tuple[int | None, str]]] = {
    "gres": _of_gres,
    "gpus-per-node": lambda each, found: _gpus(each),
    "gpus-per-task": _of_a_task,
    "gpus": _of_all_nodes,
    "gpus-per-socket": _of_a_socket,
}
OF_GPUS = _WAYS.keys()
# The lines of these sizes are needed too.
_BESIDE = {"gpus-per-task": ("per_node", "tasks"), "gpus": ("nodes",), "gpus-per-socket": ("sockets",)}
