"""The plan: every decision about a launch, already made. `render` and `schedulers` only carry it out."""

from typing import Literal

from msgspec import Struct

from hpclaunch.values.longrun import LongRun
from hpclaunch.values.placement import NodeShape
from hpclaunch.values.pods import KubernetesTarget
from hpclaunch.values.preflight import Preflight
from hpclaunch.values.rankgroups import RankGroups
from hpclaunch.values.steps import StageIn, Step, Trials
from hpclaunch.values.sweep import Sweep
from hpclaunch.values.words import EnvVar, Option


class Mount(Struct, frozen=True):
    """A host path seen inside the container. `volume` is the site's name for it, if it has one; on
    Kubernetes there may be no path behind that (`source` is "")."""

    source: str
    target: str
    read_only: bool = False
    volume: str = ""


class Container(Struct, frozen=True):
    """The container of a rank, in no scheduler's words. `workdir` empty: the image's own. `shared` is the
    squashfs file, on a file system that all nodes see, that the image is imported to before its first
    use ("": each node imports it for itself)."""

    image: str
    mounts: tuple[Mount, ...] = ()
    workdir: str = ""
    writable: bool = True
    mount_home: bool = False
    remap_root: bool = False
    entrypoint: bool = False
    env: tuple[str, ...] = ()
    save: str = ""
    shared: str = ""


class Common(Struct, frozen=True):
    """What is launched, whichever scheduler does it. Two sites are compared on this.

    `argv` is what a rank executes and `cwd` where (empty in a container: the image's own directory).
    `shapes` has one entry, or one for each node type that the job may get nodes of, told apart by `hosts`.
    `minutes` is the time limit, None for the partition's own, 0 for no limit. `inherit` and `secrets`
    are names of variables. `steps` are in the order in which they run. `long_run` is None for a job that
    says nothing of how it ends. With a `sweep` this is what all its points have in common, with `groups`
    what they have, and `argv` is empty.
    """

    name: str
    nodes: int
    ranks_per_node: int
    gpus_per_node: int
    shapes: tuple[NodeShape, ...]
    whole_node: bool
    argv: tuple[str, ...]
    cwd: str
    environment: tuple[EnvVar, ...]
    inherit: tuple[str, ...]
    secrets: tuple[str, ...]
    container: Container | None
    mpi: Literal["pmix", "pmi2", "none"]
    rendezvous: Literal["none", "torch"]
    minutes: int | None
    verify: bool = False
    stage_in: tuple[StageIn, ...] = ()
    steps: tuple[Step, ...] = ()
    trials: Trials | None = None
    sweep: Sweep | None = None
    long_run: LongRun | None = None
    groups: RankGroups | None = None

    @property
    def shape(self) -> NodeShape:
        """The first of the shapes, which is the only one of most jobs."""
        return self.shapes[0]


class HostSteps(Struct, frozen=True):
    """How the steps of a job run outside its container: in `folder`, with this environment and the
    variables `inherit` of the submitter's. Of the script's own variables `hidden` do not reach them."""

    folder: str
    environment: tuple[EnvVar, ...]
    inherit: tuple[str, ...]
    hidden: tuple[str, ...]


class SlurmSteps(Struct, frozen=True):
    """What Slurm needs for a job that does more than to start its ranks once. `once` are the options of a
    step that has one task on each of its nodes, but for those that say which nodes; `image` is what Enroot
    imports to the container's shared file. With `one_container` its container steps have one file system
    in common, by its name."""

    once: tuple[Option, ...]
    host: HostSteps
    image: str = ""
    one_container: bool = False


class SlurmTarget(Struct, frozen=True):
    """The launch in Slurm's words.

    `sbatch` become #SBATCH lines, `srun` and `pyxis` the options of the step. `cpu_masks` and
    `mem_masks` have one hexadecimal entry for each local rank, or are empty: not bound by a mask;
    `mem_policy` is what --mem-bind does with them: mask_mem, or prefer,mask_mem.
    `path` is the folder of srun where it is not on the usual PATH, or ""; `keep` are the variables (names,
    or patterns of bash) of its own shell that the script does not clear.
    `wrapper` are the settings of the rank wrapper, `host_env` what hooks and daemons on the host must
    see before the container exists. `beside` is None for a job that starts its ranks once, and no more.
    `told` are variables of the ranks that Slurm alone knows: each `value` is the name of Slurm's own, which
    is not set for 0. `of_groups` are the options of each group's own step, of groups in separate worlds.
    `components` are the #SBATCH lines of a heterogeneous job's further components, each an allocation.
    `preflight` is the check of the nodes before the ranks start, None for most jobs. `watched`: srun may
    not end when its ranks have.
    """

    version: str
    sbatch: tuple[Option, ...]
    srun: tuple[Option, ...]
    pyxis: tuple[Option, ...]
    cpu_masks: tuple[str, ...]
    mem_masks: tuple[str, ...]
    mem_policy: str
    path: str
    keep: tuple[str, ...]
    wrapper: tuple[Option, ...]
    host_env: tuple[EnvVar, ...]
    beside: SlurmSteps | None = None
    told: tuple[EnvVar, ...] = ()
    of_groups: tuple[tuple[Option, ...], ...] = ()
    components: tuple[tuple[Option, ...], ...] = ()
    preflight: Preflight | None = None
    watched: bool = False


class LocalTarget(Struct, frozen=True):
    """The launch as child processes of this machine. `launcher` is empty, or mpirun with its options, and
    `host_env` what mpirun itself must see; `keep` and `wrapper` are as under Slurm. `beside` is None for a
    job that starts its ranks once, and no more."""

    launcher: tuple[str, ...]
    wrapper: tuple[Option, ...]
    keep: tuple[str, ...]
    host_env: tuple[EnvVar, ...]
    beside: HostSteps | None = None


class LaunchPlan(Struct, frozen=True):
    """A whole launch. `warnings` say what the tool did not do, and what the job overrode.

    Where groups of ranks differ in more than command and variables `parts` are their own launches, in the
    order of the ranks: what each has on its nodes, and of the options of srun those that are not the same for
    all. Then `common` has the nodes of all, and in place of ranks, GPUs and shapes of a node those of the
    first group; the target has no masks.
    """

    site: str
    scheduler: Literal["slurm", "kubernetes", "local"]
    common: Common
    target: SlurmTarget | KubernetesTarget | LocalTarget
    warnings: tuple[str, ...]
    parts: tuple["LaunchPlan", ...] = ()

    @property
    def each(self) -> tuple["LaunchPlan", ...]:
        """The launches whose nodes are alike: those of unlike groups, or this one."""
        return self.parts or (self,)

    def settings_for(self, shape: NodeShape) -> dict[str, str]:
        """The settings of the rank wrapper on nodes of this shape, by name: those before the first `hosts=`,
        and those after its own."""
        found: dict[str, str] = {}
        counts = True
        for option in self.target.wrapper:
            name, _, value = option.text.partition("=")
            if name == "hosts":
                counts = value == shape.hosts
            if counts:
                found[name] = value
        return found
