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
)
from hpclaunch.convert.programs.srun import TELL_TASKS
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.to_fill_in import to_fill_in
from hpclaunch.readback.slurm import forms
from hpclaunch.values.conversion import Place

# By the option that each of them says again (sbatch(1), "Output environment variables").
GPU_VARIABLES = {
    "gpus": "SLURM_GPUS",
    "gpus-per-node": "SLURM_GPUS_PER_NODE",
    "gpus-per-task": "SLURM_GPUS_PER_TASK",
}


_KIND = re.compile(r"[\w.+-]*")
_LONGEST = 8  # digits of what a node may have
PARTS = ("sockets-per-node", "cores-per-socket", "threads-per-core")


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
    if nodes and "nodes" in given and given.keys().isdisjoint(TELL_TASKS):
        tasks = _by_parts(given, nodes, places)
        if tasks is None and "gpus-per-task" in given:
            # Slurm 22.05 refuses them without a number of tasks, and takes one on each node for that.
            tasks, places["tasks"] = nodes, (*given["gpus-per-task"].places, *places["nodes"])
    found = Allocation(
        nodes=nodes,
        tasks=tasks,
        per_node=per_node,
        cpus_per_task=count("cpus-per-task", "cpus_per_task", slurm),
        tasks_per_gpu=count("ntasks-per-gpu", "tasks_per_gpu", slurm),
        sockets=count("sockets-per-node", "sockets", slurm),
        whole="exclusive" in given and not given["exclusive"].text,
        ranged=is_range(given.get("nodes")),
        gpus_asked=_gpus_asked(given, places),
        places=places,
    )
    gpus = gpus_of(reading, given, found)
    return structs.replace(found, gpus=gpus.number, places={**places, "gpus": gpus.places})


def _by_parts(given: Mapping[str, Asked], nodes: int, places: dict[str, tuple[Place, ...]]) -> int | None:
    """The tasks of -N 2 --sockets-per-node=2: where nothing else tells them, sbatch makes one for each of the
    sockets, cores and threads that it is asked for (src/sbatch/opt.c, "1 proc / min_[socket * core * thread]
    default", of Slurm 19.05 to 26.11)."""
    texts, lines = parts(given)
    if texts:
        places["tasks"] = lines
    return nodes * prod(count_of(text) for text in texts) or None if texts else None


def parts(given: Mapping[str, Asked]) -> tuple[list[str | None], tuple[Place, ...]]:
    """How many sockets, cores and threads are asked for, as far as they are, and the lines."""
    texts = {name: given[name].text for name in PARTS if name in given}
    lines = [place for name in texts for place in given[name].places]
    whole = given.get("extra-node-info")
    if whole is not None:
        texts.update(zip(PARTS, (whole.text or "?:?:?").split(":"), strict=False))
        lines += whole.places
    return list(texts.values()), tuple(lines)


def count_of(text: str | None) -> int:
    """The number that a text is, 0 for any other text."""
    return int(text) if text and len(text) < _LONGEST and text.isascii() and text.isdecimal() else 0


def is_range(each: Asked | None) -> bool:
    """Whether it asks for one of several numbers: -N 2-4."""
    low, dash, high = ((each.text if each is not None else "") or "").partition("-")
    return bool(dash) and low != high


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


def gpus_beside(given: Mapping[str, Asked], found: Allocation) -> list[tuple[Asked, int]]:
    """The options that tell how many GPUs a node has, each with its number, where these are not the same."""
    ways = [(given[name], _WAYS[name](given[name], found)[0]) for name in _OF_NODES if name in given]
    told = [(each, count) for each, count in ways if count]
    return told if len({count for _, count in told}) > 1 else []


def _gpus_asked(given: Mapping[str, Asked], places: dict[str, tuple[Place, ...]]) -> dict[str, int]:
    """The numbers of such options; one with a kind (h100:8) is none."""
    found = {}
    for name, variable in GPU_VARIABLES.items():
        each = given.get(name)
        if each is not None and (each.text == "0" or count_of(each.text)):
            found[variable], places[name] = count_of(each.text), each.places
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
_OF_NODES = [name for name in _WAYS if name != "gpus-per-task"]  # a node may have more than its tasks
# The lines of these sizes are needed too.
_BESIDE = {"gpus-per-task": ("per_node", "tasks"), "gpus": ("nodes",), "gpus-per-socket": ("sockets",)}
