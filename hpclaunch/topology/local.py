"""This machine as a node type named `local`."""

import os
from collections.abc import Iterable

from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType, NumaNode, Variant
from hpclaunch.topology import model
from hpclaunch.topology.machine import Cpu, Device, InfinibandDevice, Machine, read_machine
from hpclaunch.values import cpulist

VARIANT = "this-machine"
_KIB_PER_GIB = 1024 * 1024


def read_local() -> NodeType:
    """This machine, with the CPUs that this process may use. Raises HpclaunchError where /sys is no help."""
    return node_type(read_machine(), os.sched_getaffinity(0))


def node_type(machine: Machine, allowed: Iterable[int] | None = None) -> NodeType:
    """The node type of a machine. `allowed` are the CPUs that may be used, None for all that are online.

    A NUMA node without CPUs, or with none that is allowed, stays in the list with no threads, since its
    memory, GPUs and distances are still there.
    """
    usable = frozenset(cpu.number for cpu in machine.cpus)
    if allowed is not None:
        usable &= frozenset(allowed)
    by_number = {cpu.number: cpu for cpu in machine.cpus}
    sockets = {memory.node: by_number[memory.cpus[0]].package for memory in machine.memories if memory.cpus}
    nodes = tuple(memory.node for memory in machine.memories)
    distances = tuple(memory.distances for memory in machine.memories)
    square = all(len(row) == len(nodes) for row in distances)

    def socket(index: int) -> int:
        """Memory alone has no package: it counts with the nearest node that has CPUs."""
        if nodes[index] in sockets or not sockets:
            return sockets.get(nodes[index], 0)
        near = min(sockets, key=lambda node: distances[index][nodes.index(node)] if square else node)
        return sockets[near]

    return NodeType(
        name="local",
        description="this machine",
        numa=tuple(
            NumaNode(
                node=memory.node,
                socket=socket(index),
                threads=_threads([by_number[cpu] for cpu in memory.cpus if cpu in usable], usable),
                memory_gib=_gib(memory.kib),
                l3=_caches(machine.caches, [cpu for cpu in memory.cpus if cpu in usable]),
            )
            for index, memory in enumerate(machine.memories)
        ),
        distances=distances if square else (),
        gpus=tuple(
            GpuSpec(pci=gpu.pci, numa=_known(gpu.numa, nodes), switch=_switch(gpu)) for gpu in machine.gpus
        ),
        hcas=_hcas(machine.hcas, nodes),
        variants={
            VARIANT: Variant(
                when="the names that /sys/class/infiniband has now",
                # Reversed, so that the first of two names at one address stays.
                names={hca.device.pci: hca.name for hca in reversed(machine.hcas)},
                default=True,
            )
        },
        memory_gib=_gib(machine.kib),
    )


def _threads(cpus: list[Cpu], usable: frozenset[int]) -> tuple[str, ...]:
    cores = {tuple(cpu for cpu in one.siblings if cpu in usable) for one in cpus}
    return model.thread_lists(cores)


def _caches(caches: tuple[tuple[int, ...], ...], cpus: list[int]) -> tuple[str, ...]:
    """The CPUs of a NUMA node by the L3 that they are behind; nothing where one of them is behind none."""
    shares = [shared for cache in caches if (shared := sorted(set(cache).intersection(cpus)))]
    if sorted(cpu for shared in shares for cpu in shared) != sorted(cpus):
        return ()
    return tuple(cpulist.format_list(shared) for shared in sorted(shares))


def _switch(device: Device) -> str:
    """The bridges above a device as a path. Devices below one switch have its upstream port in common, and
    differ in the port that each hangs on. A name in a node type has no colon."""
    return "/".join(device.path).replace(":", "-")


def _hcas(hcas: tuple[InfinibandDevice, ...], nodes: tuple[int, ...]) -> tuple[HcaSpec, ...]:
    """One HCA for each PCI address, with its first port. Ethernet ports beside InfiniBand ones carry the
    machine's own traffic; where all are Ethernet (RoCE) they are all that a job has."""
    infiniband = any(hca.ports[0].link_layer == "InfiniBand" for hca in hcas)
    found: dict[str, HcaSpec] = {}
    for hca in hcas:
        port = hca.ports[0]
        ethernet = port.link_layer == "Ethernet"
        found.setdefault(
            hca.device.pci,
            HcaSpec(
                pci=hca.device.pci,
                numa=_known(hca.device.numa, nodes),
                use="management" if ethernet and infiniband else "compute",
                switch=_switch(hca.device),
                link_layer="Ethernet" if ethernet else "InfiniBand",
                rate_gbps=port.rate_gbps,
                port=port.number,
            ),
        )
    return tuple(found.values())


def _known(numa: int, nodes: tuple[int, ...]) -> int:
    """The kernel says -1 for a device whose firmware does not tell; the first node stands in for it."""
    return numa if numa in nodes else nodes[0]


def _gib(kib: int | None) -> int | None:
    return None if kib is None else kib // _KIB_PER_GIB
