"""What makes slurmd believe that this machine is the node type: text for hwloc, and values for preload.c."""

from hpclaunch.cluster.slurmnode import SlurmNode
from hpclaunch.values.errors import InputError, Problem

_GIB = 1 << 30


def hwloc_synthetic(node: SlurmNode) -> str:
    """The machine as hwloc's $HWLOC_SYNTHETIC describes it (hwloc manual, "Synthetic topologies").

    Every thread's OS number is spelled, so that SMT siblings and even/odd numberings come out as they
    are. Raises InputError where NUMA nodes differ in size, which the form cannot say.
    """
    sizes = {len(group.cores) for group in node.numa}
    per_socket = len(node.numa) // node.sockets
    if len(sizes) != 1 or per_socket * node.sockets != len(node.numa):
        message = f"{node.name}: the sandbox needs NUMA nodes of one size, as many on each socket"
        raise InputError([Problem(message, "node type", ("numa",))])
    nodes = ",".join(str(group.node) for group in node.numa)
    cpus = ",".join(str(cpu) for group in node.numa for core in group.cores for cpu in core)
    memory = node.memory_mib // 1024 // len(node.numa) * _GIB
    return (
        f"pack:{node.sockets} numa:{per_socket}(memory={memory} indexes={nodes}) "
        f"core:{sizes.pop()} pu:{node.threads_per_core}(indexes={cpus})"
    )


def compiler_definitions(node: SlurmNode) -> tuple[str, ...]:
    """The NUMA node of each CPU, as preload.c wants it on the compiler's command line."""
    node_of = {cpu: group.node for group in node.numa for core in group.cores for cpu in core}
    numbers = ",".join(str(node_of[cpu]) for cpu in sorted(node_of))
    return (f"-DNUMA_OF_CPU={numbers}", f"-DNUMA_NODES={max(node_of.values()) + 1}")
