"""What the pods of jobs can have of a node's CPUs and memory: what the site says (node_types.allocatable),
else a part of the machine's. Of both the kubelet, the system and daemon sets keep some."""

from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup
from hpclaunch.topology import model
from hpclaunch.values import cpulist, quantity

# The part that is left for pods where a site does not say how much.
FOR_PODS = 0.9


def cpus(group: NodeGroup, machine: NodeType) -> int:
    """Whole CPUs, at least one; those that the system keeps for itself (reserved_cpus) are not among them."""
    left = model.cpu_count(machine) - len(cpulist.parse(group.reserved_cpus))
    return group.allocatable.cpu or max(1, int(left * FOR_PODS))


def memory(group: NodeGroup, machine: NodeType) -> int | None:
    """Bytes, None where nothing tells how much there is."""
    if group.allocatable.memory is not None:
        return quantity.whole(group.allocatable.memory)
    fitted = model.memory_gib(machine)
    return None if fitted is None else int(fitted * FOR_PODS) << 30


def rounded(size: int) -> int:
    """Bytes as pods ask for them: down to whole GiB, or MiB where it is less than one."""
    unit = 30 if size >= 1 << 30 else 20
    return size >> unit << unit
