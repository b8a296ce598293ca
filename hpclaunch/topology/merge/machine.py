"""The merge itself: captures in, a node type and the report out."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from hpclaunch.spec.check_nodetype import node_type_problems
from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType, NumaNode, Variant
from hpclaunch.topology import model
from hpclaunch.topology.merge import cpus, gpus, hcas, places, switches, uses
from hpclaunch.topology.merge.cpus import Nodes
from hpclaunch.topology.merge.findings import Findings
from hpclaunch.topology.merge.gpus import Gpu
from hpclaunch.topology.merge.hcas import Hca
from hpclaunch.topology.merge.uses import Decided, Link, Use
from hpclaunch.topology.seen import Seen
from hpclaunch.values import cpulist
from hpclaunch.values.amount import counted
from hpclaunch.values.errors import InputError, Problem

VARIANT = "captured"
_KIB_PER_GIB = 1 << 20
_MOST_UNREAD = 5


class Merged(Struct, frozen=True):
    """A node type and what was found on the way: `unknown` no capture tells, `assumed` was concluded from the
    usual, `warnings` a user should know. `reasons` says of each HCA, by PCI address, what its use follows
    from, and `ask` has a line for each that a person should look at."""

    node_type: NodeType
    unknown: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    ask: tuple[str, ...] = ()


class _Shown(Struct, frozen=True):
    """What captures show of one machine: `relations` say how its devices hang together, and by the devices'
    keys `link` has the HCAs' first ports, `gpu_numa` and `hca_numa` the NUMA nodes. An HCA whose place is not
    told is missing there."""

    nodes: Nodes
    memory: dict[int, int]
    gpus: tuple[Gpu, ...]
    hcas: tuple[Hca, ...]
    relations: switches.Relations
    link: dict[str, Link]
    gpu_numa: dict[str, int]
    hca_numa: dict[str, int]

    @property
    def placed(self) -> list[Hca]:
        """The HCAs that a node type can have."""
        return [hca for hca in self.hcas if hca.key in self.hca_numa]


def merge(
    captures: Sequence[Seen], name: str, description: str = "", said: Mapping[str, Use] | None = None
) -> Merged:
    """One machine from its captures. `said` are uses of HCAs by name or PCI address, from the user.

    Raises InputError where captures contradict one another, one line for each contradiction with both
    sources; where something is missing that a node type needs, with the capture that would tell it; and for
    a name in `said` that no HCA has.
    """
    findings = Findings()
    shown = _shown(captures, findings)
    used = uses.uses(shown.hcas, shown.gpus, shown.link, shown.relations, said or {}, findings)
    node_type = _node_type(captures, name, description, shown, used, findings)
    wrong = node_type_problems(node_type)
    if wrong:  # a name that no device can have, or one that the user gave
        raise InputError([Problem(each.message) for each in wrong])
    reasons = {hca.key: _reason(used[hca.key]) for hca in shown.placed}
    return Merged(
        node_type,
        unknown=tuple(findings.unknown),
        assumed=tuple(findings.assumed),
        warnings=tuple(findings.warnings),
        unread=tuple(line for seen in captures for line in seen.unread),
        reasons={hca.pci: reasons[hca.key] for hca in shown.placed},
        ask=tuple(
            f"{hca.key} is written as {used[hca.key].use}: {reasons[hca.key]}"
            for hca in shown.placed
            if not used[hca.key].sure
        ),
    )


def _shown(captures: Sequence[Seen], findings: Findings) -> _Shown:
    """What all captures show together. Raises InputError as soon as the rest hangs on what they contradict
    one another in, or leave out."""
    nodes = cpus.nodes(captures, findings)
    memory = cpus.memories(captures, findings)
    all_gpus = gpus.gpus(captures, findings)
    all_hcas = hcas.hcas(captures, findings)
    if findings.contradictions:  # what hangs on what follows from which devices there are
        raise _refused(findings, captures)
    relations = switches.relations(captures, all_gpus, all_hcas, findings)
    link = uses.links(all_hcas, findings)
    if nodes is None:
        raise _refused(findings, captures)
    gpu_numa = gpus.numa(all_gpus, nodes, findings)
    hca_numa = places.numa(all_hcas, all_gpus, gpu_numa, relations, nodes, findings)
    if findings.contradictions or findings.missing:
        raise _refused(findings, captures)
    return _Shown(nodes, memory, all_gpus, all_hcas, relations, link, gpu_numa, hca_numa)


def _node_type(
    captures: Sequence[Seen],
    name: str,
    description: str,
    shown: _Shown,
    used: Mapping[str, Decided],
    findings: Findings,
) -> NodeType:
    """The machine as a node type. Raises InputError where something is missing that one needs."""
    nodes, memory = shown.nodes, shown.memory
    _say_devices(shown, findings)
    numa = _numa(nodes, memory, findings)
    if findings.missing:
        raise _refused(findings, captures)
    named = switches.switches(shown.relations, shown.gpus, shown.hcas)
    names = {hca.pci: hca.name for hca in shown.placed if hca.name}
    memory_gib = _memory(captures, nodes, memory, findings)
    return NodeType(
        name=name,
        description=description or _description(captures, shown.gpus, nodes),
        numa=numa,
        gpus=tuple(GpuSpec(gpu.pci, shown.gpu_numa[gpu.key], named.get(gpu.key, "")) for gpu in shown.gpus),
        hcas=tuple(_hca(hca, shown, used[hca.key].use, named.get(hca.key, "")) for hca in shown.placed),
        variants={VARIANT: Variant("the names in the captures", names, default=True)} if names else {},
        distances=nodes.distances,
        memory_gib=memory_gib,
        sources=findings.grouped_sources(),
    )


def _hca(hca: Hca, shown: _Shown, use: Use, switch: str) -> HcaSpec:
    link = shown.link[hca.key]
    return HcaSpec(
        pci=hca.pci,
        numa=shown.hca_numa[hca.key],
        use=use,
        switch=switch,
        link_layer=link.layer or "InfiniBand",
        rate_gbps=link.rate_gbps,
        port=link.port,
    )


def _refused(findings: Findings, captures: Sequence[Seen]) -> InputError:
    """What a capture left out may be the reason, so that is named too."""
    lines = [f"contradiction: {line}" for line in findings.contradictions]
    lines += [f"missing: {line}" for line in findings.missing]
    unread = [line for seen in captures for line in seen.unread]
    lines += unread[:_MOST_UNREAD]
    if len(unread) > _MOST_UNREAD:
        lines.append(f"{len(unread) - _MOST_UNREAD} more lines that were not understood")
    return InputError([Problem(line) for line in dict.fromkeys(lines)])


def _reason(decided: Decided) -> str:
    return (
        decided.why if decided.sure else f"{decided.why}; say --compute, --storage or --management to be sure"
    )


def _say_devices(shown: _Shown, findings: Findings) -> None:
    if not shown.gpus:
        findings.unknown.append("GPUs: no capture shows one; `nvidia-smi topo -m` or `lspci -D -nn` would")
    if not shown.hcas and shown.gpus:
        findings.unknown.append("HCAs: no capture shows one with its address; `ibdev2netdev -v` would")
    told = shown.relations.levels or any(shown.relations.paths.values())
    if shown.gpus and shown.hcas and not told:
        findings.unknown.append(
            "PCI switches: no capture tells them; `nvidia-smi topo -m` or `lspci -tv` does"
        )


def _description(captures: Sequence[Seen], all_gpus: Sequence[Gpu], nodes: Nodes) -> str:
    models = [each.model for gpu in all_gpus for each in gpu.seen if each.model]
    model = f" ({models[0]})" if models else ""
    cpu = next((f" ({seen.model})" for seen in captures if seen.model), "")
    sockets = len(set(nodes.socket.values()))
    parts = [counted(sockets, "socket"), counted(len(nodes.cores), "core") + cpu]
    parts.append(counted(len(all_gpus), "GPU") + model)
    return f"{', '.join(parts)}; from captures"


def _numa(nodes: Nodes, memory: Mapping[int, int], findings: Findings) -> tuple[NumaNode, ...]:
    numbers = sorted(nodes.cpus)
    sockets: dict[int, int] = {}
    for node in numbers:
        widths = {len(core) for core in nodes.cores if core[0] in nodes.cpus[node]}
        if len(widths) > 1:
            findings.missing.append(
                f"NUMA node {node} has cores of {' and of '.join(map(str, sorted(widths)))} threads, which a "
                "node type cannot say; capture it with all CPUs on line"
            )
        own = sorted({nodes.socket[cpu] for cpu in nodes.cpus[node]})
        if own:
            sockets[node] = nodes.socket[min(nodes.cpus[node])]
        if len(own) > 1:
            findings.assumed.append(
                f"NUMA node {node} has CPUs of sockets {', '.join(map(str, own))}: it is put on the first"
            )
    _place_empty([node for node in numbers if node not in sockets], numbers, nodes, sockets, findings)
    return tuple(
        NumaNode(
            node=node,
            socket=sockets[node],
            threads=model.thread_lists(core for core in nodes.cores if core[0] in nodes.cpus[node]),
            memory_gib=memory[node] // _KIB_PER_GIB or None if node in memory else None,
            l3=_caches(nodes, node),
        )
        for node in numbers
    )


def _place_empty(
    empty: Sequence[int], numbers: Sequence[int], nodes: Nodes, sockets: dict[int, int], findings: Findings
) -> None:
    """Puts NUMA nodes without CPUs (the memory of GPUs, CXL) on a socket too, and says by what."""
    found = {node: _nearest(node, numbers, nodes, sockets) for node in empty}
    why = "the nearest" if nodes.distances else "the first, as no capture tells the distances"
    for socket in sorted(set(found.values())):
        there = [node for node in empty if found[node] == socket]
        listed = cpulist.format_list(there)
        what = f"NUMA nodes {listed} have" if len(there) > 1 else f"NUMA node {listed} has"
        findings.assumed.append(f"{what} no CPUs: put on socket {socket}, {why}")
    sockets.update(found)


def _nearest(node: int, numbers: Sequence[int], nodes: Nodes, sockets: Mapping[int, int]) -> int:
    if not nodes.distances:
        return min(sockets.values(), default=0)
    row = nodes.distances[numbers.index(node)]
    with_cpus = [other for other in numbers if nodes.cpus[other]]
    return sockets[min(with_cpus, key=lambda other: row[numbers.index(other)])] if with_cpus else 0


def _caches(nodes: Nodes, node: int) -> tuple[str, ...]:
    """The CPUs of the node behind each cache: with sub-NUMA clusters a cache may reach beyond the node."""
    own = nodes.cpus[node]
    if not nodes.l3:
        return ()
    groups = {nodes.l3[cpu] & own for cpu in own}
    return tuple(cpulist.format_list(group) for group in sorted(groups, key=min))


def _memory(
    captures: Sequence[Seen], nodes: Nodes, memory: Mapping[int, int], findings: Findings
) -> int | None:
    total = max((seen.kib for seen in captures if seen.kib), default=0)
    if not total and memory and set(memory) >= set(nodes.cpus):
        total = sum(memory.values())
    if total:
        findings.source("memory_gib", [seen.origin for seen in captures if seen.kib or seen.numa])
    else:
        findings.unknown.append("the memory: no capture tells it; `numactl -H` does")
    return total // _KIB_PER_GIB or None
