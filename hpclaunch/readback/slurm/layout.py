"""How many nodes, ranks and GPUs, and which cores each rank gets, from the options of sbatch and srun."""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct, structs

from hpclaunch.readback.slurm import forms
from hpclaunch.values.launch import SeenSeat, SeenTable, Unbridged

TALK = frozenset({"q", "quiet", "v", "verbose", "sort", "nosort"})
_NONE = frozenset({"", "no", "none"})


class Layout(Struct, frozen=True):
    """The sizes of a launch. Fields as those of Launch."""

    nodes: int
    ranks_per_node: int
    gpus_per_node: int
    gpu_kind: str
    numbering: str
    unread: tuple[str, ...]
    unbridged: tuple[Unbridged, ...]


def layout(batch: Mapping[str, str], step: Mapping[str, str]) -> Layout:
    """The sizes, by the options of sbatch and of srun, which come first and where they are left out are the
    job's."""
    unread: list[str] = []
    unbridged: list[Unbridged] = []
    own, job = _Numbers(step, unread), _Numbers(batch, unread)
    nodes = own.get("nodes") or job.get("nodes") or 1
    if job.get("nodes") not in (None, nodes):
        unread.append(f"srun has {nodes} of the job's {job.get('nodes')} nodes")
    ranks = own.get("ntasks") or (None if own.get("ntasks-per-node") else job.get("ntasks"))
    per_node = own.get("ntasks-per-node") or job.get("ntasks-per-node")
    if ranks and not (per_node and nodes * per_node == ranks):
        if own.get("ntasks-per-node") or ranks % nodes:
            unread.append(f"{ranks} ranks on {nodes} nodes: how many are on each is not told")
        per_node = max(1, ranks // nodes)
    per_node = per_node or 1
    gpus, kind = _gpus(step, nodes, per_node, unread, unbridged)
    of_job, kind_of_job = _gpus(batch, nodes, per_node, unread, unbridged)
    if gpus is not None and of_job is not None and (gpus, kind) != (of_job, kind_of_job):
        unread.append(f"srun has {gpus} GPUs of the job's {of_job} on a node")
    return Layout(
        nodes=nodes,
        ranks_per_node=per_node,
        gpus_per_node=(of_job if gpus is None else gpus) or 0,
        gpu_kind=kind_of_job if gpus is None else kind,
        numbering=_numbering(step.get("distribution") or batch.get("distribution") or "", per_node, unread),
        unread=tuple(unread),
        unbridged=tuple(unbridged),
    )


def bound(
    step: Mapping[str, str], tables: tuple[SeenTable, ...], unread: list[str], unbridged: list[Unbridged]
) -> tuple[SeenTable, ...]:
    """The tables with what srun binds ranks to. Where the rank's wrapper binds it as well, that comes later
    and counts."""
    cpus = _binding("--cpu-bind", step.get("cpu-bind", ""), ("mask_cpu", "map_cpu"), unread, unbridged)
    preferred = bool(re.match(r"(?:[a-z]+,)*p(?:refer)?,", step.get("mem-bind", "").lower()))
    mems = _binding("--mem-bind", step.get("mem-bind", ""), ("mask_mem", "map_mem"), unread, unbridged)
    return tuple(
        structs.replace(table, seats=tuple(_seat(seat, cpus, mems, preferred) for seat in table.seats))
        for table in tables
    )


class _Numbers:
    def __init__(self, given: Mapping[str, str], unread: list[str]):
        self._given = given
        self._unread = unread

    def get(self, name: str) -> int | None:
        text = self._given.get(name)
        if text is None:
            return None
        try:
            return forms.count(text) or None
        except ValueError as error:
            message = f"--{name}: {error}"
            if message not in self._unread:
                self._unread.append(message)
            return None


def _gpus(
    given: Mapping[str, str], nodes: int, ranks: int, unread: list[str], unbridged: list[Unbridged]
) -> tuple[int | None, str]:
    """How many GPUs on a node and of which type; None where nothing says it."""
    if "gres" in given:
        number, kind, others = forms.gpus_of_gres(given["gres"])
        unbridged += [
            Unbridged(f"--gres={each}", "a resource of Slurm's that is no GPU")
            for each in others
            if all(each != f"--gres={other.what}" for other in unbridged)
        ]
        return number, kind
    ways: tuple[tuple[str, Callable[[int], int]], ...] = (
        ("gpus-per-node", lambda number: number),
        ("gpus-per-task", lambda number: number * ranks),
        ("gpus", lambda number: number // nodes),
    )
    for name, on_node in ways:
        if name in given:
            try:
                number, kind = forms.gpus(given[name])
            except ValueError as error:
                unread.append(f"--{name}: {error}")
                continue
            return on_node(number), kind
    return None, ""


def _numbering(distribution: str, ranks: int, unread: list[str]) -> str:
    """The first part of --distribution is how ranks go over nodes (srun(1)); the others, over the cores of
    one, say nothing where ranks are bound by a mask or not at all."""
    first = re.split(r"[:,]", distribution, maxsplit=1)[0].lower()
    if first in ("", "*", "block", "pack", "nopack") or first == f"plane={ranks}":
        return "block"
    if first == "cyclic" or first == "plane=1":
        return "cyclic"
    if first not in ("arbitrary",) and not re.fullmatch(r"plane=\d+", first):
        unread.append(f"--distribution={distribution}")
    return first


def _binding(
    option: str, text: str, kinds: tuple[str, str], unread: list[str], unbridged: list[Unbridged]
) -> list[tuple[int, ...]]:
    """What --cpu-bind or --mem-bind gives each local rank, in turn; empty where Slurm leaves them alone."""
    # Words on what is printed stand before and behind the kind (srun(1), --cpu-bind).
    words = [word for word in text.split(",") if word.lower() not in TALK | {"p", "prefer"}]
    text = ",".join(words)
    kind, _, numbers = text.partition(":")
    kind = kind.lower()
    if kind in _NONE:
        return []
    try:
        if kind == kinds[0]:
            return forms.masks(numbers)
        if kind == kinds[1]:
            return forms.numbers(numbers)
    except ValueError as error:
        unread.append(f"{option}: {error}")
        return []
    unbridged.append(Unbridged(f"{option}={text}", "a binding that Slurm works out on the node"))
    return []


def _seat(
    seat: SeenSeat, cpus: list[tuple[int, ...]], mems: list[tuple[int, ...]], preferred: bool
) -> SeenSeat:
    changes: dict[str, object] = {}
    if cpus and not seat.cpus:
        changes["cpus"] = cpus[seat.local_rank % len(cpus)]
    if mems and not seat.mems:
        changes["mems"] = mems[seat.local_rank % len(mems)]
        changes["memory"] = "preferred" if preferred else "membind"
    return structs.replace(seat, **changes)
