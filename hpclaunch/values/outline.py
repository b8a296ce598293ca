"""A machine as a picture shows it: what sits in which socket and NUMA node, and behind which PCI switch."""

from typing import Literal

from msgspec import Struct


class NumaOutline(Struct, frozen=True):
    """A NUMA node and its cores, each as its sibling CPUs: ((48, 176), (49, 177), ...). `caches` has for
    each core the number of its last-level cache, cores with one cache side by side; it is empty where the
    caches are not known."""

    node: int
    cores: tuple[tuple[int, ...], ...]
    caches: tuple[int, ...] = ()
    memory_gib: int | None = None


class SocketOutline(Struct, frozen=True):
    """A socket, and its NUMA nodes in the order of their numbers."""

    socket: int
    nodes: tuple[NumaOutline, ...]


class GpuOutline(Struct, frozen=True):
    """A GPU: its index in PCI order, its PCI address ("" where it is not known), and the PCI switches above
    it from the CPU outwards."""

    index: int
    pci: str
    numa: int
    switch: tuple[str, ...] = ()


class HcaOutline(Struct, frozen=True):
    """A function of a network adapter. `name` is what this variant of the node calls it, "" where no source
    tells it."""

    name: str
    pci: str
    numa: int
    switch: tuple[str, ...] = ()
    use: Literal["compute", "storage", "management"] = "compute"
    link_layer: Literal["InfiniBand", "Ethernet"] = "InfiniBand"
    rate_gbps: int | None = None


class Outline(Struct, frozen=True):
    """A node. `reserved` are the CPUs that the site keeps from jobs."""

    name: str
    description: str
    sockets: tuple[SocketOutline, ...]
    gpus: tuple[GpuOutline, ...] = ()
    hcas: tuple[HcaOutline, ...] = ()
    reserved: tuple[int, ...] = ()
