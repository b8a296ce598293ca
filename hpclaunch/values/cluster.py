"""A running Slurm as its own commands show it."""

from msgspec import Struct, field


class Gres(Struct, frozen=True):
    """GPUs of a node: Slurm's name of the type ("" where it has none), and how many."""

    type: str
    count: int


class ClusterNode(Struct, frozen=True):
    """A node as `scontrol show nodes` tells it. `memory_mib` is what jobs may ask for; `gres` are all its
    generic resources in Slurm's words, `gpus` those of them that are GPUs; `state` is Slurm's own word with
    its flags: IDLE+DRAIN, DOWN*."""

    name: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int
    gpus: tuple[Gres, ...] = ()
    partitions: tuple[str, ...] = ()
    gres: str = ""
    features: tuple[str, ...] = ()
    state: str = "UNKNOWN"


class Partition(Struct, frozen=True):
    """A partition. `nodes` is a host list; `accounts` are those that may use it, () for all; `oversubscribe`
    is Slurm's own word: NO, EXCLUSIVE, YES:4, FORCE:4."""

    name: str
    nodes: str = ""
    default: bool = False
    accounts: tuple[str, ...] = ()
    oversubscribe: str = "NO"
    state: str = "UP"


class Cluster(Struct, frozen=True):
    """The whole. `config` has the keys of `scontrol show config` in small letters. `nodes` lacks cloud nodes
    that are powered down, which Slurm shows in partitions alone. `leaves` are the hosts of each leaf
    switch or block. None stands for what could not be asked: the accounts of a cluster that
    keeps none, and what srun says where it is not installed."""

    config: dict[str, str]
    nodes: tuple[ClusterNode, ...]
    partitions: tuple[Partition, ...]
    leaves: tuple[str, ...] = ()
    mpi: tuple[str, ...] | None = None
    srun_options: frozenset[str] | None = None
    accounts: tuple[str, ...] | None = None
    unread: tuple[str, ...] = field(default_factory=tuple)

    @property
    def version(self) -> str:
        """As in "22.05.8"."""
        return self.config.get("slurm_version", "")
