"""Where the nodes of a site file and those of the running cluster differ."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from hpclaunch.cluster.slurmnode import SlurmNode, slurm_node
from hpclaunch.spec import hosts
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.values.amount import counted
from hpclaunch.values.cluster import Cluster, ClusterNode, Gres, Partition
from hpclaunch.values.errors import InputError

# Less than this part of the node type's memory is not the memory of the type: administrators keep some of it.
LEAST_MEMORY = 0.85


def node_drift(
    site: Site, machines: Mapping[str, NodeType], cluster: Cluster, partition: Partition | None
) -> Iterator[tuple[str, str]]:
    """(key of the site, message) for each difference; many nodes that differ alike are one."""
    known = {node.name: node for node in cluster.nodes}
    asleep = powered_down(cluster)
    named: set[str] = set()
    for index, group in enumerate(site.node_types):
        key = f"node_types.{index}"
        try:
            expected = slurm_node(machines[group.type], group.mig)
        except InputError as error:
            yield key, str(error)
            continue
        if group.hosts is None:
            yield from ((key, message) for message in _counted(group, expected, cluster, partition))
            continue
        names = hosts.expand(group.hosts)
        named.update(names)
        missing = [name for name in names if name not in known and name not in asleep]
        if missing:
            yield key, f"{hosts.fold(missing)}: not known to the cluster"
        there = [known[name] for name in names if name in known]
        for message, unlike in _alike((node.name, _unlike(expected, node)) for node in there).items():
            yield key, f"{hosts.fold(unlike)}: {message}"
        outside = [node.name for node in there if partition and partition.name not in node.partitions]
        if partition is not None and outside:
            yield key, f"{hosts.fold(outside)}: not in the partition {partition.name}"
    if all(group.hosts is not None for group in site.node_types):
        yield from _unnamed(cluster.nodes, named, partition)


def powered_down(cluster: Cluster) -> frozenset[str]:
    """The nodes that are in a partition and that Slurm does not show: cloud nodes without power."""
    known = {node.name for node in cluster.nodes}
    found: set[str] = set()
    for partition in cluster.partitions:
        with suppress(ValueError):  # a list of nodes that no site file could have
            found.update(hosts.expand(partition.nodes))
    return frozenset(found - known)


def layout(node: ClusterNode) -> str:
    """A node in words: 2 sockets of 64 cores, 2 threads each; 8 a100."""
    threads = counted(node.threads_per_core, "thread")
    sockets = counted(node.sockets, "socket")
    return f"{sockets} of {node.cores_per_socket} cores, {threads} each; {_gpus(node.gpus)}"


def is_like(expected: SlurmNode, node: ClusterNode) -> bool:
    """Whether the node has the CPUs and GPUs that are expected."""
    return not (_cpus_unlike(expected, node) or _gpus_unlike(expected, node))


def _unlike(expected: SlurmNode, node: ClusterNode) -> str:
    found = [_cpus_unlike(expected, node), _gpus_unlike(expected, node)]
    if expected.memory_known and node.memory_mib < LEAST_MEMORY * expected.memory_mib:
        found.append(f"{node.memory_mib} MiB of memory, and a {expected.name} has {expected.memory_mib}")
    return "; ".join(part for part in found if part)


def _cpus_unlike(expected: SlurmNode, node: ClusterNode) -> str:
    keys = ("sockets", "cores_per_socket", "threads_per_core")
    there, said = (tuple(getattr(each, key) for key in keys) for each in (node, expected))
    if there in (said, expected.numa_as_sockets):
        return ""
    return "{}x{}x{} sockets, cores, threads, and a {} has {}x{}x{}".format(*there, expected.name, *said)


def _gpus_unlike(expected: SlurmNode, node: ClusterNode) -> str:
    """Slurm's nodes may have GPUs without a type, which are like those of any."""
    said = tuple(Gres(kind, number) for kind, number in expected.mig.items()) or (
        (Gres(expected.gpu_type, len(expected.gpu_numa)),) if expected.gpu_numa else ()
    )
    number = sum(gres.count for gres in said)
    untyped = not expected.mig and (
        not expected.gpu_type or (len(node.gpus) == 1 and node.gpus[0].type == "")
    )
    if untyped and number == sum(gres.count for gres in node.gpus):
        return ""
    if sorted(said, key=repr) == sorted(node.gpus, key=repr):
        return ""
    return f"{_gpus(node.gpus)}, and a {expected.name} has {_gpus(said)}"


def _gpus(gpus: Sequence[Gres]) -> str:
    return " and ".join(f"{gres.count} {gres.type or 'GPUs'}" for gres in gpus) or "no GPUs"


def _alike(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Message -> the names of the nodes that it is about."""
    found: dict[str, list[str]] = {}
    for name, message in pairs:
        if message:
            found.setdefault(message, []).append(name)
    return found


def _counted(
    group: NodeGroup, expected: SlurmNode, cluster: Cluster, partition: Partition | None
) -> Iterator[str]:
    there = [
        node
        for node in cluster.nodes
        if is_like(expected, node) and (partition is None or partition.name in node.partitions)
    ]
    if len(there) < (group.count or 0):
        yield f"{group.count} {group.type} nodes, and the cluster has {len(there)} like them"


def _unnamed(
    nodes: Iterable[ClusterNode], named: set[str], partition: Partition | None
) -> Iterator[tuple[str, str]]:
    others = [
        node
        for node in nodes
        if node.name not in named and (partition is None or partition.name in node.partitions)
    ]
    where = f"in the partition {partition.name} and " if partition is not None else ""
    for shape, names in _alike((node.name, layout(node)) for node in others).items():
        yield "node_types", f"{hosts.fold(names)}: {where}in no group of the site ({shape})"
