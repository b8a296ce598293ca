"""Where ranks sit on one shape of node."""

from msgspec import Struct


class Gpu(Struct, frozen=True):
    """A GPU as the plan sees it: its index in PCI order, its PCI address ("" where it is not known), its NUMA
    node. `pools` are the keys of the shape's core pools from the nearest on, `hcas` the names of all compute
    HCAs from the one that it uses on."""

    index: int
    pci: str
    numa: int
    pools: tuple[int, ...] = ()
    hcas: tuple[str, ...] = ()


class Hca(Struct, frozen=True):
    """A compute HCA: the device name expected on this variant of the node, and its PCI address."""

    name: str
    pci: str
    numa: int
    port: int = 1
    link_layer: str = "InfiniBand"


class Cores(Struct, frozen=True):
    """Cores that jobs may use in one NUMA node, each as its sibling CPUs: ((48, 176), (49, 177), ...). GPUs
    divide the cores of one `pool` among them: a NUMA node, or with `spread` a socket."""

    pool: int
    node: int
    cores: tuple[tuple[int, ...], ...]


class Seat(Struct, frozen=True):
    """What one local rank owns: OS CPU numbers, NUMA nodes for memory, GPU indices, HCA names.

    Empty `cpus` or `mems` mean that the rank is not bound by the plan; empty `hcas` that none was chosen.
    `next_hcas` are the compute HCAs that stand in for one that is down, from the nearest on. On a part of a
    node `gpus` are positions among the GPUs that the job gets there (0 is the first in PCI order), and the
    rest is found on the node.
    """

    local_rank: int
    cpus: tuple[int, ...]
    mems: tuple[int, ...]
    gpus: tuple[int, ...]
    hcas: tuple[str, ...]
    next_hcas: tuple[str, ...] = ()


class NodeShape(Struct, frozen=True):
    """One kind of node in the job: its type, the hosts that are of it ("": all), how many CPUs jobs may use
    there, and a seat for each local rank. `cores` are all that jobs may use, by NUMA node."""

    node_type: str
    hosts: str
    cpu_count: int
    gpus: tuple[Gpu, ...]
    hcas: tuple[Hca, ...]
    seats: tuple[Seat, ...]
    cores: tuple[Cores, ...] = ()
