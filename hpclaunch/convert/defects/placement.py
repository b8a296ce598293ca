"""Ranks on CPUs that the machine has not, or away from their GPU; HCAs that it has not. Only where the user
names the node type: a label in the original tells nothing about the machine.

Source of what NVIDIA's bind.sh does: MLPerf training results v0.7 and v1.1, bind.sh of the resnet benchmark.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert.defects import search
from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.draft import Draft, dotted, shown
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell import tree
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import model
from hpclaunch.values import cpulist
from hpclaunch.values.conversion import Finding, Place
from hpclaunch.values.errors import InputError

_CLUSTERS = {
    "circe": ("mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_7", "mlx5_8", "mlx5_9", "mlx5_10"),
    "selene": ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9"),
    "azure": tuple(f"mlx5_ib{number}" for number in range(8)),
}


class Binding(Struct, frozen=True):
    """CPUs (or the CPUs of NUMA nodes) by local rank, and where the original says so."""

    what: str
    place: Place
    cpus: Mapping[int, tuple[int, ...]]
    mems: Mapping[int, tuple[int, ...]] = {}


def find(reading: ShellReading, parsed: list[Parsed], options: Options) -> Iterator[Finding]:
    """What the node type contradicts."""
    machine = options.node_type
    if machine is None:
        return
    for each in parsed:
        for binding in (*_arrays(each), *_cases(each)):
            yield from _against(machine, binding)
        for call in each.calls:
            yield from _of_bind_sh(machine, each, call)


def of_job(draft: Draft, options: Options, told: Iterable[Finding]) -> Iterator[Finding]:
    """What the node type contradicts of the job's own `bind`, whatever wrote it. `told` are the defects that
    were found in the texts: an array of CPUs is among them."""
    facts = [fact for kind in ("cpus", "memory") if (fact := draft.facts.get(("bind", kind))) is not None]
    if options.node_type is None:
        return
    before = {(place.file, place.line, each.why) for each in told for place in each.places}
    for fact in facts:
        if not isinstance(fact.value, list):
            continue
        lists = {rank: found for rank, text in enumerate(fact.value) if (found := _numbers(text)) is not None}
        of_cpus = fact.key[1] == "cpus"
        what = f"{dotted(fact.key)}: {shown(fact.value)}"
        binding = Binding(what, fact.places[0], lists if of_cpus else {}, {} if of_cpus else lists)
        for each in _against(options.node_type, binding):
            if (each.places[0].file, each.places[0].line, each.why) not in before:
                yield replace(each, places=fact.places)


def _against(machine: NodeType, binding: Binding) -> Iterator[Finding]:
    there = {
        cpu: numa.node for numa in machine.numa for core in model.cores(machine, numa.node) for cpu in core
    }
    missing = sorted({cpu for cpus in binding.cpus.values() for cpu in cpus if cpu not in there})
    if missing:
        yield Finding(
            "defect",
            (binding.place,),
            binding.what,
            why=f"a {machine.name} has no CPU {cpulist.format_list(missing)}: with such a list numactl and "
            "srun start no rank, and taskset leaves those CPUs out",
        )
    numa = {node.node for node in machine.numa}
    absent = sorted({node for mems in binding.mems.values() for node in mems if node not in numa})
    if absent:
        yield Finding(
            "defect",
            (binding.place,),
            binding.what,
            why=f"a {machine.name} has no NUMA node {cpulist.format_list(absent)}",
        )
    if missing or len(binding.cpus) != len(machine.gpus):
        return
    away: dict[int, tuple[set[int], int]] = {}
    for rank, cpus in sorted(binding.cpus.items()):
        own, gpu = {there[cpu] for cpu in cpus}, machine.gpus[rank].numa
        if own and gpu not in own:
            away[rank] = own, gpu
    if away:
        yield _away(machine, binding, away)


def _away(machine: NodeType, binding: Binding, away: dict[int, tuple[set[int], int]]) -> Finding:
    rank, (own, gpu) = next(iter(away.items()))
    sockets = {model.socket_of(machine, numa) for numa in own}
    far = "" if model.socket_of(machine, gpu) in sockets else ", on the other socket"
    return Finding(
        "defect",
        (binding.place,),
        binding.what,
        why=f"local rank{'s' if len(away) > 1 else ''} {cpulist.format_list(away)} of a "
        f"{machine.name} run away from their GPU: rank {rank} is on NUMA node "
        f"{cpulist.format_list(own)} and its GPU on {gpu}{far}",
    )


def _of_bind_sh(machine: NodeType, parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    words = [search.literal(word) or parsed.text(word).strip("'\"") for word in call.args]
    at = next((index for index, word in enumerate(words) if word.rpartition("/")[2] == "bind.sh"), None)
    if at is None:
        return
    given = {}
    for word in words[at + 1 :]:
        if word == "--" or not word.startswith("--"):
            break
        name, _, value = word[2:].partition("=")
        given[name] = value
    place = parsed.place(call)
    cpu = given.get("cpu", "node")
    if cpu.startswith("exclusive"):
        yield from _against(machine, _exclusive(machine, place, smt="nosmt" not in cpu))
    elif cpu == "node" and machine.gpus:
        yield from _against(machine, _by_node(machine, place))
    if given.get("ib") == "single":
        yield from _hcas(machine, place, given.get("cluster", ""))


def _exclusive(machine: NodeType, place: Place, smt: bool) -> Binding:
    """Equal parts of all cores by number, and each with the CPU one "all cores" further for its sibling."""
    cores = sum(len(model.cores(machine, numa.node)) for numa in machine.numa)
    ranks = max(len(machine.gpus), 1)
    each = cores // ranks
    cpus = {}
    for rank in range(ranks):
        first = tuple(range(rank * each, (rank + 1) * each))
        cpus[rank] = first + (tuple(cpu + cores for cpu in first) if smt else ())
    return Binding(f"bind.sh --cpu=exclusive{'' if smt else ',nosmt'}", place, cpus)


def _by_node(machine: NodeType, place: Place) -> Binding:
    """Ranks over NUMA nodes in the order of their numbers."""
    nodes = [numa.node for numa in machine.numa if model.cores(machine, numa.node)]
    ranks = len(machine.gpus)
    each = max(ranks // max(len(nodes), 1), 1)
    cpus = {}
    for rank in range(ranks):
        node = nodes[min(rank // each, len(nodes) - 1)]
        cpus[rank] = tuple(cpu for core in model.cores(machine, node) for cpu in core)
    return Binding("bind.sh --cpu=node", place, cpus)


def _hcas(machine: NodeType, place: Place, cluster: str) -> Iterator[Finding]:
    try:
        names = model.device_names(machine, None)
        compute = {hca.name for hca in model.named_hcas(machine, None)}
    except InputError:
        return
    if not names:
        return
    if "$" in cluster or (cluster and cluster not in _CLUSTERS):
        return
    meant = set(_CLUSTERS[cluster]) if cluster else set(names.values())
    absent, storage = sorted(meant - set(names.values())), sorted((meant & set(names.values())) - compute)
    what = f"bind.sh --ib=single{' --cluster=' + cluster if cluster else ''}"
    if absent:
        yield Finding("defect", (place,), what, why=f"a {machine.name} has no {', '.join(absent)}")
    if storage:
        yield Finding(
            "defect",
            (place,),
            what,
            why=f"{', '.join(storage)} of a {machine.name} are no compute HCAs: ranks would send over "
            "storage or management ports",
        )


def _arrays(parsed: Parsed) -> Iterator[Binding]:
    """bind_cpu_cores=(...) and bind_mem=(...) of a topology file."""
    found: dict[str, dict[int, tuple[int, ...]]] = {}
    places: dict[str, Place] = {}
    for node in parsed.nodes:
        if not isinstance(node, tree.Assign) or node.array is None or node.name is None:
            continue
        kind = {"bind_cpu_cores": "cpus", "bind_mem": "mems"}.get(node.name.value)
        if kind:
            places[kind] = parsed.place(node)
            found[kind] = _elements(node.array)
    if found:
        place = places.get("cpus") or places["mems"]
        yield Binding("bind_cpu_cores=(...)", place, found.get("cpus", {}), found.get("mems", {}))


def _elements(array: tree.ArrayExpr) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    position = 0
    for element in array.elems:
        if isinstance(element.index, tree.Word):
            index = search.literal(element.index) or ""
            position = int(index) if re.fullmatch(r"\d{1,4}", index) else position
        numbers = _numbers(search.literal(element.value) if element.value else None)
        if numbers is not None:
            found[position] = numbers
        position += 1
    return found


def _cases(parsed: Parsed) -> Iterator[Binding]:
    """case $LOCAL_RANK in 0) ... numactl --physcpubind=LIST --membind=N ..."""
    for node in parsed.nodes:
        if not isinstance(node, tree.CaseClause):
            continue
        cpus: dict[int, tuple[int, ...]] = {}
        mems: dict[int, tuple[int, ...]] = {}
        for item in node.items:
            ranks = [text for text in search.literals(item.patterns) if re.fullmatch(r"\d{1,4}", text)]
            for call in search.calls(item):
                for rank in map(int, ranks):
                    _of_numactl(call, "physcpubind", rank, cpus)
                    _of_numactl(call, "membind", rank, mems)
        if cpus or mems:
            yield Binding("numactl by local rank", parsed.place(node), cpus, mems)


def _of_numactl(
    call: tree.CallExpr,
    option: Literal["physcpubind", "membind"],
    rank: int,
    found: dict[int, tuple[int, ...]],
) -> None:
    words = [search.literal(word) or "" for word in call.args]
    if "numactl" not in (word.rpartition("/")[2] for word in words):
        return
    short = {"physcpubind": "-C", "membind": "-m"}[option]
    for word, following in zip(words, [*words[1:], ""], strict=True):
        text = following if word in (f"--{option}", short) else word.removeprefix(f"--{option}=")
        numbers = _numbers(text) if word in (f"--{option}", short) or text != word else None
        if numbers:
            found[rank] = numbers


def _numbers(text: str | None) -> tuple[int, ...] | None:
    try:
        return cpulist.parse(text) if text else None
    except ValueError:
        return None
