"""The job file: what to run, and nothing about where."""

from typing import Literal

from msgspec import Struct, field


class Bind(Struct, frozen=True, forbid_unknown_fields=True):
    """Where ranks sit. A list holds one entry for each local rank: CPU lists, NUMA lists, HCA names."""

    cpus: Literal["local", "spread", "none"] | tuple[str, ...] = "local"
    smt: bool = True
    memory: Literal["local", "prefer", "none"] | tuple[str, ...] = "local"
    hcas: Literal["nearest", "all", "none"] | tuple[str, ...] = "nearest"


class MountSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """The long form of a mount: a volume that the site names, or a path of the host."""

    target: str
    volume: str | None = None
    source: str | None = None
    read_only: bool = False


class ContainerSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """How the container behaves. The defaults are written out, since sites' defaults differ.

    `env` names variables whose value from outside wins over the image's own before its entrypoint and
    hooks run; `save` is a file that the root filesystem is saved to when the step ends.
    """

    writable: bool = True
    mount_home: bool = False
    remap_root: bool = False
    entrypoint: bool = False
    env: tuple[str, ...] = ()
    save: str | None = None


class SiteHints(Struct, frozen=True, forbid_unknown_fields=True):
    """The little in a job file that is about the person and the place.

    `sbatch` and `srun` are options passed on as they are, not checked.
    """

    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    reservation: str | None = None
    constraint: str | None = None
    nodelist: str | None = None
    exclude: str | None = None
    mail: str | None = None
    node_type: str | None = None
    sbatch: tuple[str, ...] = ()
    srun: tuple[str, ...] = ()


class Job(Struct, frozen=True, forbid_unknown_fields=True):
    """One job. `time` is the limit in minutes (0: no limit, None: the partition's), read from any of
    Slurm's forms. `directory` is the absolute folder of the job file, which relative paths start from.
    """

    name: str
    command: str | tuple[str, ...]
    version: Literal[1] = 1
    image: str | None = None
    workdir: str | None = None
    nodes: int = 1
    gpus_per_node: int | None = None
    ranks_per_node: int | None = None
    mpi: Literal["pmix", "pmi2", "none"] = "none"
    rendezvous: Literal["none", "torch"] = "none"
    time: int | None = None
    env: dict[str, str] = field(default_factory=dict)
    inherit: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    mounts: tuple[str | MountSpec, ...] = ()
    container: ContainerSpec = ContainerSpec()
    bind: Bind = Bind()
    sites: dict[str, SiteHints] = field(default_factory=dict)
    directory: str = ""
