"""The node type: a machine model as data. HCAs and GPUs are keyed by PCI address, since `mlx5_N` shifts
with every card that is added or removed."""

from typing import Literal

from msgspec import Struct, field


class NumaNode(Struct, frozen=True, forbid_unknown_fields=True):
    """A NUMA node. `threads` has one kernel CPU list for each hardware thread of a core: entry i of the
    first list and entry i of the second are SMT siblings. `l3` has a kernel CPU list for each last-level
    cache, or nothing where that is not known."""

    node: int
    socket: int
    threads: tuple[str, ...]
    memory_gib: int | None = None
    l3: tuple[str, ...] = ()


class GpuSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A GPU in PCI order (the index that CUDA_DEVICE_ORDER=PCI_BUS_ID gives). `pci` is "" where no source
    tells it, and then for all GPUs of the machine. `switch` is the PCI switch that it hangs on, as a path
    from the CPU outwards: "pex0" (a switch), "pex0/1" (inner switch 1 of it). What begins alike is nearer."""

    pci: str
    numa: int
    switch: str = ""


class HcaSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A function of a network adapter. Only `use: compute` carries a job's traffic. `switch` as a GPU's."""

    pci: str
    numa: int
    use: Literal["compute", "storage", "management"] = "compute"
    switch: str = ""
    link_layer: Literal["InfiniBand", "Ethernet"] = "InfiniBand"
    rate_gbps: int | None = None
    port: int = 1


class Variant(Struct, frozen=True, forbid_unknown_fields=True):
    """One numbering of the HCAs: PCI address -> device name. An HCA that is not named is absent."""

    when: str
    names: dict[str, str]
    default: bool = False


class Source(Struct, frozen=True, forbid_unknown_fields=True):
    """Where facts come from, and how sure they are: high (two sources or an official table), medium, low."""

    of: str
    source: str
    confidence: Literal["high", "medium", "low"]


class NodeType(Struct, frozen=True, forbid_unknown_fields=True):
    """A machine model. `distances` is the NUMA distance matrix in the order of `numa`, as in
    /sys/devices/system/node/node*/distance; `gres` the GPU type's name in Slurm."""

    name: str
    description: str
    numa: tuple[NumaNode, ...]
    version: Literal[1] = 1
    gpus: tuple[GpuSpec, ...] = ()
    hcas: tuple[HcaSpec, ...] = ()
    variants: dict[str, Variant] = field(default_factory=dict)
    distances: tuple[tuple[int, ...], ...] = ()
    gres: str = "gpu"
    memory_gib: int | None = None
    env: dict[str, str] = field(default_factory=dict)
    sources: tuple[Source, ...] = ()
