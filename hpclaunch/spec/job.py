"""The job file: what to run, and nothing about where."""

from typing import Literal

from msgspec import Struct, field

from hpclaunch.spec.groups import GroupSpec
from hpclaunch.spec.longrun import NotifySpec, SignalSpec
from hpclaunch.spec.preflight import PreflightSpec
from hpclaunch.spec.profile import ProfileSpec
from hpclaunch.spec.sweep import DependsOn, MetricSpec, SweepSpec


class Bind(Struct, frozen=True, forbid_unknown_fields=True):
    """Where ranks sit. A list holds one entry for each local rank: CPU lists, NUMA lists, HCA names.

    `hcas: strict` is `nearest`, and ends a job that meets a node with an unusable HCA. Of two HCAs behind
    the GPU's PCI switch `pairing: index` takes them in the order of their numbers, as NVIDIA's launchers do;
    `switch` takes the one on the same inner switch.
    """

    cpus: Literal["local", "spread", "none"] | tuple[str, ...] = "local"
    smt: bool = True
    memory: Literal["local", "prefer", "none"] | tuple[str, ...] = "local"
    hcas: Literal["nearest", "strict", "all", "none"] | tuple[str, ...] = "nearest"
    pairing: Literal["index", "switch"] = "index"


class MountSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """The long form of a mount: a volume that the site names, or a path of the host. `file`: the path is a
    file and no folder, which Kubernetes must be told."""

    target: str
    volume: str | None = None
    source: str | None = None
    read_only: bool = False
    file: bool = False


class ContainerSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """How the container behaves. The defaults are written out, since sites' defaults differ.

    `mpi` is the MPI in the image, which starts the ranks where no scheduler does (unset: as the site says).
    `privileged` gives the container every right on its node; only Kubernetes can, and it is warned of.
    `env` names variables whose value from outside wins over the image's own before its entrypoint and
    hooks run; `save` is a file that the root filesystem is saved to when the step ends. `hcas` are the
    HCAs that Enroot's hook lets into the container (MELLANOX_VISIBLE_DEVICES); unset leaves it alone.
    """

    writable: bool = True
    mount_home: bool = False
    remap_root: bool = False
    entrypoint: bool = False
    env: tuple[str, ...] = ()
    save: str | None = None
    hcas: Literal["compute", "all"] | None = None
    mpi: Literal["openmpi", "intel", "mpich"] | None = None
    privileged: bool = False


class ImageSpec(Struct, frozen=True, forbid_unknown_fields=True, rename={"import_": "import"}):
    """The long form of an image. `import: shared` brings it once to a squashfs file in the folder that the
    site names (slurm.image_folder), where all nodes use it; a path that begins with / is that folder."""

    ref: str
    import_: str | None = None


class StepSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A command beside the ranks' own: a list is executed as it is, a text given to /bin/sh -c.

    `where` unset is the container where the job has an image. `per` node is once on each node, job once on
    the first, rank as the job's own command. An `optional` step may fail, or be left out with a warning.
    """

    run: str | tuple[str, ...]
    where: Literal["container", "host"] | None = None
    per: Literal["node", "job", "rank"] = "node"
    optional: bool = False
    name: str | None = None


class TrialsSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """The command run `count` times. `seed` names the variable that has each trial's seed: `first_seed`, and
    one more each time, or unset a random one. `log` is the file of each trial's output, with {trial} in its
    name. `keep_going`: a trial that fails does not stop the next."""

    count: int
    seed: str | None = "SEED"
    first_seed: int | None = None
    log: str | None = None
    keep_going: bool = False


class StageInSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """The long form of SRC:DST: a folder copied to each node. Each is a path, or a volume that the site
    names."""

    source: str
    target: str


class JobFabric(Struct, frozen=True, forbid_unknown_fields=True):
    """What the job wants of the network between nodes. `sharp`: reductions in the switches."""

    sharp: bool = False


class SiteHints(Struct, frozen=True, forbid_unknown_fields=True):
    """The little in a job file that is about the person and the place.

    `sbatch` and `srun` are options passed on as they are, not checked. On Kubernetes: `queue` is Kueue's,
    `user` the number of the container's user, and with `share_nodes` several workers may be on one node.
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
    namespace: str | None = None
    queue: str | None = None
    priority_class: str | None = None
    user: int | None = None
    share_nodes: bool = False


class Job(Struct, frozen=True, forbid_unknown_fields=True):
    """One job. `gpu_type` is Slurm's name of a kind of GPU, or a MIG profile (1g.5gb). `locality: unit` asks
    for nodes of one scalable unit. `verify` makes each rank report where it is, for `hpclaunch verify`.
    `time` is the limit in minutes (0: no limit, None: the partition's), read from any of
    Slurm's forms. `directory` is what relative paths start from: the folder of the job file, unless it is
    set.
    `stage_in` is done first, then `setup`, then for each trial `before_each` and the command, and `after` in
    the end, whatever became of the others. With `requeue` a job that lost a node, or its place to another,
    starts again. `groups` are unlike parts of the job, on nodes of their own, in one MPI `world` or each in a
    separate one; without them there is a `command`.
    """

    name: str
    command: str | tuple[str, ...] = ""
    version: Literal[1] = 1
    image: str | ImageSpec | None = None
    workdir: str | None = None
    nodes: int = 1
    gpus_per_node: int | None = None
    gpu_type: str | None = None
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
    locality: Literal["any", "unit"] = "any"
    fabric: JobFabric = JobFabric()
    verify: bool = False
    trials: int | TrialsSpec | None = None
    stage_in: tuple[str | StageInSpec, ...] = ()
    setup: tuple[StepSpec, ...] = ()
    before_each: tuple[StepSpec, ...] = ()
    after: tuple[StepSpec, ...] = ()
    requeue: bool = False
    signal: SignalSpec | None = None
    notify: NotifySpec | None = None
    chain: int | None = None
    profile: ProfileSpec | None = None
    sweep: SweepSpec | None = None
    metrics: dict[str, str | MetricSpec] = field(default_factory=dict)
    depends_on: tuple[str | DependsOn, ...] = ()
    preflight: PreflightSpec | None = None
    groups: dict[str, GroupSpec] = field(default_factory=dict)
    world: Literal["one", "separate"] = "one"
    sites: dict[str, SiteHints] = field(default_factory=dict)
    directory: str = ""

    @property
    def image_name(self) -> str | None:
        """The image's reference or path, in whichever form it was written."""
        return self.image.ref if isinstance(self.image, ImageSpec) else self.image

    @property
    def long_run(self) -> bool:
        """Whether the job says what becomes of it when it does not end by itself. Who checks and plans that
        is loaded for such jobs alone."""
        unlike = (self.signal, self.notify, self.chain)
        return self.requeue or any(each is not None for each in unlike)

    @property
    def one_of_many(self) -> bool:
        """Whether the job is about several runs: points of a sweep, what to read in their logs, or other
        jobs. Who checks that is loaded for such jobs alone."""
        return self.sweep is not None or bool(self.metrics or self.depends_on)

    @property
    def unlike_parts(self) -> bool:
        """Whether the job has groups, or says how they are. Who checks and plans that is loaded for such jobs
        alone."""
        return bool(self.groups) or self.world != "one"

    @property
    def beside_ranks(self) -> bool:
        """Whether the job does more than to start its ranks once. Who checks and plans that is loaded for
        such jobs alone."""
        imports = isinstance(self.image, ImageSpec) and self.image.import_ is not None
        steps = self.stage_in or self.setup or self.before_each or self.after
        return self.trials is not None or imports or bool(steps)
