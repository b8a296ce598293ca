"""Where ranks sit on one shape of node."""

from msgspec import Struct


class Gpu(Struct, frozen=True):
    """A GPU as the plan sees it: its index in PCI order, its PCI address, its NUMA node."""

    index: int
    pci: str
    numa: int


class Hca(Struct, frozen=True):
    """A compute HCA: the device name expected on this variant of the node, and its PCI address."""

    name: str
    pci: str
    numa: int
    port: int = 1
    link_layer: str = "InfiniBand"


class Seat(Struct, frozen=True):
    """What one local rank owns: OS CPU numbers, NUMA nodes for memory, GPU indices, HCA names.

    Empty `cpus` or `mems` mean that the rank is not bound; empty `hcas` that none was chosen.
    """

    local_rank: int
    cpus: tuple[int, ...]
    mems: tuple[int, ...]
    gpus: tuple[int, ...]
    hcas: tuple[str, ...]


class NodeShape(Struct, frozen=True):
    """One kind of node in the job: its type, the hosts that are of it, how many CPUs jobs may use there, and
    a seat for each local rank."""

    node_type: str
    hosts: str
    cpu_count: int
    gpus: tuple[Gpu, ...]
    hcas: tuple[Hca, ...]
    seats: tuple[Seat, ...]
