"""A node type as Slurm counts it: sockets, cores, threads, and its own core numbers near each GPU."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NoReturn

from msgspec import Struct, field

from hpclaunch.spec.nodetype import NodeType, NumaNode
from hpclaunch.topology import model
from hpclaunch.values.cpulist import HIGHEST, format_list, parse
from hpclaunch.values.errors import InputError, Problem

_KEPT_BY_SYSTEM = 1000 / 1024  # firmware and kernel keep some 2 % of what is fitted
_UNKNOWN_GIB = 1024


class NumaCpus(Struct, frozen=True):
    """One NUMA node. `cores` has the OS CPU numbers of each core's threads: (48, 176), (49, 177), ...

    `first_core` is the number that Slurm gives to the first of these cores: Slurm counts cores from 0,
    socket by socket, whatever numbers the kernel gives to CPUs.
    """

    node: int
    socket: int
    first_core: int
    cores: tuple[tuple[int, ...], ...]

    @property
    def core_range(self) -> str:
        """Its cores in Slurm's numbering: "48-63"."""
        return format_list(range(self.first_core, self.first_core + len(self.cores)))


class SlurmNode(Struct, frozen=True):
    """A node as slurmd reports it. `numa` is in the order in which Slurm counts cores; `gpu_numa` has the
    NUMA node of each GPU, `memory_mib` what jobs may ask for, `gpu_type` is Slurm's name or "".
    `memory_known` is false where the node type does not tell the memory and `memory_mib` is made up. `mig`
    are the MIG slices in place of whole GPUs, profile -> number."""

    name: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int
    numa: tuple[NumaCpus, ...]
    gpu_numa: tuple[int, ...] = ()
    gpu_type: str = ""
    memory_known: bool = True
    mig: dict[str, int] = field(default_factory=dict)

    @property
    def gres(self) -> str:
        """The GPUs as slurm.conf's Gres= has them: "gpu:a100:8", "gpu:1g.5gb:56", or ""."""
        if self.mig:
            return ",".join(f"gpu:{profile}:{slices}" for profile, slices in self.mig.items())
        kind = f"gpu:{self.gpu_type}" if self.gpu_type else "gpu"
        return f"{kind}:{len(self.gpu_numa)}" if self.gpu_numa else ""

    @property
    def cpu_count(self) -> int:
        """How many CPUs (hardware threads) Slurm counts."""
        return self.sockets * self.cores_per_socket * self.threads_per_core

    @property
    def numa_as_sockets(self) -> tuple[int, int, int] | None:
        """Sockets, cores and threads under SlurmdParameters=numa_node_as_socket; None where that changes
        nothing, or where NUMA nodes differ in size."""
        sizes = {len(group.cores) for group in self.numa}
        if len(sizes) > 1 or len(self.numa) == self.sockets:
            return None
        return len(self.numa), sizes.pop(), self.threads_per_core

    def cores_near(self, numa: int) -> str:
        """`core_range` of the NUMA node of this number, as gres.conf wants it."""
        return next(group.core_range for group in self.numa if group.node == numa)


def slurm_node(node_type: NodeType, mig: Mapping[str, int] = MappingProxyType({})) -> SlurmNode:
    """What slurmd would report on a machine of this type, with these MIG slices.

    NUMA nodes that are memory alone, as a Grace's GPUs are, have no part in it. Raises InputError where a
    machine has no form in slurm.conf: a GPU on such a node, sockets of different size, cores with different
    numbers of threads, CPU numbers with gaps.
    """
    groups = []
    next_core = 0
    for spec in _in_order(node_type):
        cores = model.cores(node_type, spec.node)
        if cores:
            groups.append(NumaCpus(spec.node, spec.socket, next_core, cores))
            next_core += len(cores)
    with_cores = {group.node for group in groups}
    if not groups:
        _refuse(node_type, "it has no CPUs, and Slurm is told of a machine by its cores")
    for index, gpu in enumerate(node_type.gpus):
        if gpu.numa not in with_cores:
            _refuse(node_type, f"GPU {index} is on NUMA node {gpu.numa}, which has no CPUs to name as near")
    sockets: dict[int, int] = {}
    for group in groups:
        sockets[group.socket] = sockets.get(group.socket, 0) + len(group.cores)
    threads_per_core = {len(core) for group in groups for core in group.cores}
    if len(set(sockets.values())) != 1 or len(threads_per_core) != 1:
        _refuse(node_type, "Slurm needs sockets of one size, and cores with as many threads")
    cpus = sorted(cpu for group in groups for core in group.cores for cpu in core)
    if cpus != list(range(len(cpus))):
        _refuse(node_type, f"its CPUs are not numbered 0 to {len(cpus) - 1}")
    gib = model.memory_gib(node_type)
    return SlurmNode(
        name=node_type.name,
        sockets=len(sockets),
        cores_per_socket=sockets[groups[0].socket],
        threads_per_core=threads_per_core.pop(),
        memory_mib=int((gib or _UNKNOWN_GIB) * 1024 * _KEPT_BY_SYSTEM),
        numa=tuple(groups),
        gpu_numa=tuple(gpu.numa for gpu in node_type.gpus),
        gpu_type="" if node_type.gres == "gpu" else node_type.gres,
        memory_known=gib is not None,
        mig=dict(mig),
    )


def _in_order(node_type: NodeType) -> list[NumaNode]:
    """NUMA nodes as hwloc, and with it slurmd, counts them: socket by socket, each by its lowest CPU,
    whatever numbers the kernel gives to sockets and nodes."""

    def lowest(numa: NumaNode) -> int:
        return min((cpu for text in numa.threads for cpu in parse(text)), default=HIGHEST)

    sockets: dict[int, int] = {}
    for numa in node_type.numa:
        sockets[numa.socket] = min(sockets.get(numa.socket, HIGHEST), lowest(numa))
    return sorted(node_type.numa, key=lambda numa: (sockets[numa.socket], lowest(numa)))


def _refuse(node_type: NodeType, message: str) -> NoReturn:
    raise InputError([Problem(f"{node_type.name}: {message}", "node type", ("numa",))])
