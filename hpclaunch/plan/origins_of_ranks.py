"""Where the cores, memory, GPUs and HCAs of the ranks came from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from hpclaunch.plan.origin import Origin, Place
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup
from hpclaunch.topology import model
from hpclaunch.values.launchplan import Common
from hpclaunch.values.placement import NodeShape


def of_ranks(
    job: Job, common: Common, groups: Sequence[tuple[int, NodeGroup]], machines: Mapping[str, NodeType]
) -> Iterator[Origin]:
    """A row for each column of the rank table, or for each rank where the job has a list."""
    yield Origin("bind.smt", "true" if job.bind.smt else "false", (Place("job", ("bind", "smt")),))
    if job.bind.hcas in ("nearest", "strict"):
        yield Origin("bind.pairing", job.bind.pairing, (Place("job", ("bind", "pairing")),))
    for shape, (_, group) in zip(common.shapes, groups, strict=True):
        machine = machines[group.type]
        behind = f" ({shape.node_type})" if len(common.shapes) > 1 else ""
        facts = _Facts(group, machine, shape)
        yield from _column(
            f"cores{behind}", "cpus", job, facts.numa({c for s in shape.seats for c in s.cpus})
        )
        nodes = {node for seat in shape.seats for node in seat.mems}
        yield from _column(f"memory{behind}", "memory", job, facts.numa_nodes(nodes) or facts.numa(()))
        gpus = [Place(group.type, ("gpus", gpu.index)) for gpu in shape.gpus]
        if gpus and common.gpus_per_node:
            words = f"{common.gpus_per_node} for {common.ranks_per_node} ranks, in PCI order"
            ranks = Place("job", ("ranks_per_node",))
            yield Origin(f"GPU{behind}", words, (ranks,), "default: one for each rank", tuple(gpus))
        yield from _column(f"HCA{behind}", "hcas", job, facts.hcas())


class _Facts:
    """The lines of a node type that a shape of node uses."""

    def __init__(self, group: NodeGroup, machine: NodeType, shape: NodeShape):
        self.group = group
        self.machine = machine
        self.shape = shape

    def numa(self, cpus: Iterable[int]) -> tuple[Place, ...]:
        """The NUMA nodes of these CPUs; of all that jobs may use where ranks have none of their own."""
        wanted = set(cpus) or {cpu for part in self.shape.cores for core in part.cores for cpu in core}
        return self.numa_nodes(
            {
                node.node
                for node in self.machine.numa
                for core in model.cores(self.machine, node.node)
                if not wanted.isdisjoint(core)
            }
        )

    def numa_nodes(self, nodes: set[int]) -> tuple[Place, ...]:
        return tuple(
            Place(self.group.type, ("numa", index))
            for index, node in enumerate(self.machine.numa)
            if node.node in nodes
        )

    def hcas(self) -> tuple[Place, ...]:
        used = {name for seat in self.shape.seats for name in seat.hcas}
        addresses = {hca.pci for hca in self.shape.hcas if hca.name in used or not used}
        return tuple(
            Place(self.group.type, ("hcas", index))
            for index, hca in enumerate(self.machine.hcas)
            if hca.pci in addresses
        )


def _column(what: str, key: str, job: Job, facts: tuple[Place, ...]) -> Iterator[Origin]:
    wanted = getattr(job.bind, key)
    if isinstance(wanted, tuple):
        for rank, entry in enumerate(wanted):
            yield Origin(f"{what} of rank {rank}", entry, (Place("job", ("bind", key, rank)),))
    else:
        used = () if wanted == "none" else facts
        yield Origin(what, wanted, (Place("job", ("bind", key)),), "default", used)
