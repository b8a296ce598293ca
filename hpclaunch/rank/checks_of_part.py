"""Ranks on a part of a node: which GPUs they have is only known there, so rules are checked, not lists."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from hpclaunch.rank import checks
from hpclaunch.rank.checks import CORES_UNBOUND, Finding, Node, listed, unknown
from hpclaunch.rank.observed import Report
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.placement import Gpu


def rank(node: Node, report: Report) -> Iterator[Finding]:
    """The rules that one rank can break alone."""
    by_address = checks.gpus_by_address(node, report)
    seat = node.shape.seats[report.local]
    own = [by_address[pci] for pci in report.own if pci in by_address]
    if by_address and node.binding.finds_gpus and report.gpus is not None and len(own) != len(seat.gpus):
        cause = node.warned(*CORES_UNBOUND) or node.other_type
        yield Finding("own GPUs", str(len(seat.gpus)), ", ".join(report.own) or "none", cause)
    if node.binding.cpus:
        yield from _cores(node, report, own)
    if report.cpus:
        yield from checks.memory(
            node, report, _memory_nodes(node, report, own), exact=_knows_cores(node, own)
        )
    if seat.hcas:
        yield from checks.hcas(node, report, seat.hcas)
    elif own and all(gpu.hcas for gpu in own):
        yield from checks.hcas(node, report, tuple(dict.fromkeys(gpu.hcas[0] for gpu in own)))


def _knows_cores(node: Node, own: list[Gpu]) -> bool:
    """Whether it is known which cores are the rank's: it is bound to them, or they are those of its GPUs."""
    return node.binding.cpus or bool(own)


def _memory_nodes(node: Node, report: Report, own: list[Gpu]) -> list[int]:
    """The NUMA nodes of the rank's cores; of one that may run anywhere, those of the cores that its GPUs are
    nearest to."""
    assert report.cpus is not None
    cpus = [cpu for cpu in report.cpus if cpu in node.node_of]
    if not node.binding.cpus and own:
        there = {node.pool_of[cpu] for cpu in cpus}
        pools = {next((pool for pool in gpu.pools if pool in there), None) for gpu in own}
        cpus = [cpu for cpu in cpus if node.pool_of[cpu] in pools]
    return sorted({node.node_of[cpu] for cpu in cpus})


def _cores(node: Node, report: Report, own: list[Gpu]) -> Iterator[Finding]:
    if report.cpus is None:
        yield unknown("cores", "/proc/self/status cannot be read")
        return
    if words := node.warned(*CORES_UNBOUND):
        yield Finding("cores", "its part of the job's cores", listed(report.cpus), words)
        return
    seen = frozenset(report.cpus)
    if strange := seen - node.core_of.keys():
        cause = f"{node.other_type}, or they are CPUs that the site reserves"
        yield Finding("cores", "CPUs that jobs may use", format_list(strange), cause)
    # Without its own GPUs a rank has whatever cores the others leave.
    near = {gpu.pools[0] for gpu in own if gpu.pools}
    far = sorted(cpu for cpu in seen & node.pool_of.keys() if node.pool_of[cpu] not in near)
    if near and far:
        expected = sorted({part.node for part in node.shape.cores if part.pool in near})
        # man gres.conf, "Cores": what is given with a GPU are cores of its socket. Kubernetes' documentation,
        # "Control Topology Management Policies on a node".
        cause = (
            "Slurm gave the job no cores next to its GPU: it gives those of the socket (gres.conf, Cores=), "
            "and those of the NUMA node with SlurmdParameters=numa_node_as_socket"
        )
        if node.binding.pods:
            cause = "the kubelet gave no cores next to the GPU: set its Topology Manager and its CPU manager"
        yield Finding("cores", f"in NUMA nodes {format_list(expected)}", format_list(far), cause)
    split = sorted(cpu for cpu in seen & node.core_of.keys() if not seen.issuperset(node.core_of[cpu]))
    if split:
        cause = (
            "the kubelet gave the pod single threads of cores: its CPU manager needs full-pcpus-only"
            if node.binding.pods
            else "Slurm gave the job single threads of cores: SelectTypeParameters needs CR_Core"
        )
        yield Finding("SMT siblings", "together", f"{format_list(split)} without theirs", cause)


def among_ranks(nodes: Mapping[str, Node], reports: Iterable[Report]) -> Iterator[tuple[Report, Finding]]:
    """The rules that ranks of one node keep among them: no core and no GPU is in two, unless there are fewer
    than ranks."""
    ordered = sorted(reports, key=lambda report: (report.node, report.rank))
    for name, group in groupby(ordered, key=lambda report: report.node):
        if name not in nodes:
            continue
        ranks = list(group)
        if nodes[name].binding.cpus and not nodes[name].warned(*CORES_UNBOUND):
            yield from _shared_cores(nodes[name], ranks)
        yield from _shared_gpus(nodes[name], ranks)


def _shared_cores(node: Node, ranks: list[Report]) -> Iterator[tuple[Report, Finding]]:
    cores = {cpu: node.core_of.get(cpu, (cpu,)) for report in ranks for cpu in report.cpus or ()}
    if len(set(cores.values())) < len(ranks):
        return
    owner: dict[int, int] = {}
    for report in ranks:
        taken = sorted(cpu for cpu in report.cpus or () if cpu in owner)
        for cpu in report.cpus or ():
            owner.setdefault(cpu, report.rank)
        # Ranks that share a GPU may share the few cores beside it.
        few = len({cores[cpu] for cpu in report.cpus or ()}) == 1
        if taken and not few:
            cause = (
                "the wrapper could not bind the ranks within the pod's cores"
                if node.binding.pods
                else "the ranks were not bound within what Slurm granted: the step has another --cpu-bind"
            )
            others = sorted({owner[cpu] for cpu in taken})
            observed = f"{format_list(taken)} also of rank {', '.join(map(str, others))}"
            yield report, Finding("cores", "of this rank alone", observed, cause)


def _shared_gpus(node: Node, ranks: list[Report]) -> Iterator[tuple[Report, Finding]]:
    seats = node.shape.seats
    for index, report in enumerate(ranks):
        for other in ranks[:index]:
            both = set(report.own) & set(other.own)
            if both and not set(seats[report.local].gpus) & set(seats[other.local].gpus):
                cause = f"{node.other_type}: two of the job's GPUs have one address there"
                observed = f"{', '.join(sorted(both))} also of rank {other.rank}"
                yield report, Finding("own GPUs", "of this rank alone", observed, cause)
