"""What one capture of a machine shows: partial facts, each with the line that it stands on.

A reader of a format makes a `Seen` of a text; `merge` makes a node type of several. A field that a capture
does not tell is None or empty, never guessed.
"""

from typing import Literal

from msgspec import Struct, field

# How far two devices are apart, in nvidia-smi's words: the same board, one bridge, several bridges of one
# switch, one host bridge, one NUMA node, elsewhere. NVLink is not among them: it joins GPUs alone.
Level = Literal["X", "PIX", "PXB", "PHB", "NODE", "SYS"]


class Origin(Struct, frozen=True):
    """Where a fact was read: the capture's name as the user gave it, the format, the line from 1 (0: the
    whole of it)."""

    file: str
    format: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.format})" if self.line else f"{self.file} ({self.format})"


class CpuSeen(Struct, frozen=True):
    """A CPU. `core` tells SMT siblings (equal core and socket); `siblings` names them outright. `l3` is any
    number that CPUs behind one last-level cache share."""

    number: int
    origin: Origin
    socket: int | None = None
    core: int | None = None
    siblings: tuple[int, ...] = ()
    numa: int | None = None
    l3: int | None = None


class NumaSeen(Struct, frozen=True):
    """A NUMA node. `cpus` is None where the capture does not tell them, () where it says there are none.
    `distances` maps other nodes to distances."""

    node: int
    origin: Origin
    cpus: tuple[int, ...] | None = None
    kib: int | None = None
    distances: dict[int, int] = field(default_factory=dict)


class GpuSeen(Struct, frozen=True):
    """A GPU, known by index (PCI order), PCI address, or both. `path` are the bridges above it, from the
    root port down; `cpus` its CPU affinity as the driver says it."""

    origin: Origin
    index: int | None = None
    pci: str = ""
    numa: int | None = None
    model: str = ""
    path: tuple[str, ...] = ()
    cpus: tuple[int, ...] | None = None


class HcaSeen(Struct, frozen=True):
    """A port's device function, known by name (mlx5_0), PCI address, or both. `state` is as the source says
    it (ACTIVE, Down)."""

    origin: Origin
    name: str = ""
    pci: str = ""
    numa: int | None = None
    port: int | None = None
    link_layer: str = ""
    rate_gbps: int | None = None
    state: str = ""
    netdev: str = ""
    model: str = ""
    path: tuple[str, ...] = ()


class Distance(Struct, frozen=True):
    """How far two devices are apart. A device is "GPU0" (by index) or an HCA's name, or a PCI address."""

    origin: Origin
    a: str
    b: str
    level: Level


class Seen(Struct, frozen=True):
    """All that one capture tells. `sockets`, `cores_per_socket` and `threads_per_core` are what a summary
    says. `paths` are the bridges above PCI addresses, also of devices whose kind the capture does not tell.
    `unread` are lines that were not understood, in a user's words: they are named, not dropped."""

    origin: Origin
    cpus: tuple[CpuSeen, ...] = ()
    numa: tuple[NumaSeen, ...] = ()
    gpus: tuple[GpuSeen, ...] = ()
    hcas: tuple[HcaSeen, ...] = ()
    levels: tuple[Distance, ...] = ()
    cpu_count: int | None = None
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    model: str = ""
    kib: int | None = None
    paths: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
