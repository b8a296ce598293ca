"""What a job has on one kind of node of the site."""

from hpclaunch.plan import hcas as hca_choice
from hpclaunch.plan import placement
from hpclaunch.spec.job import Bind
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup
from hpclaunch.topology import model
from hpclaunch.values import cpulist
from hpclaunch.values.placement import Gpu, Hca, NodeShape


def shape(
    machine: NodeType,
    group: NodeGroup,
    hcas: tuple[Hca, ...],
    gpus: int,
    ranks: int,
    bind: Bind,
    whole: bool,
) -> NodeShape:
    """A node of the group with these compute HCAs: all of it, or the part that `gpus` of its GPUs are.

    Raises InputError for lists of `bind` that do not fit, and where no CPU is left for jobs.
    """
    reserved = frozenset(cpulist.parse(group.reserved_cpus))
    cores, pools = placement.core_pools(machine, bind, reserved)
    orders = hca_choice.orders(hca_choice.gpu_costs(machine, hcas, bind.pairing))
    return NodeShape(
        node_type=machine.name,
        hosts=group.hosts or "",
        cpu_count=model.cpu_count(machine) - len(reserved),
        gpus=tuple(
            Gpu(number, gpu.pci, gpu.numa, pools[number], tuple(hcas[index].name for index in orders[number]))
            for number, gpu in enumerate(machine.gpus)
        ),
        hcas=hcas,
        seats=placement.whole_node(machine, gpus, ranks, bind, hcas, reserved)
        if whole
        else placement.part_of_node(gpus, ranks, bind, hcas),
        cores=cores,
    )


def with_slices(machine: NodeType, group: NodeGroup, slices: int, ranks: int, bind: Bind) -> NodeShape:
    """A node of which the job gets MIG slices. Slurm chooses them when the job starts, so no rank has cores,
    memory or an HCA of its own, and no slice has a PCI address."""
    return NodeShape(
        node_type=machine.name,
        hosts=group.hosts or "",
        cpu_count=model.cpu_count(machine) - len(cpulist.parse(group.reserved_cpus)),
        gpus=(),
        hcas=(),
        seats=placement.part_of_node(slices, ranks, bind, ()),
    )
