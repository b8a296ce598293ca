"""The site file: written once by the people who run the machine."""

from typing import Literal

from msgspec import Struct, field, structs

from hpclaunch.spec.kubernetes import Allocatable, KubernetesSite, Toleration
from hpclaunch.spec.limits import LimitsSpec
from hpclaunch.spec.preflight import PreflightSite
from hpclaunch.spec.ssh import SshSite
from hpclaunch.values.slurmaccess import API_OF_RELEASE, RestServer, SlurmAccess, Via


class NodeGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes of one type: which hosts ("dgx[001-140]") or how many, which HCA variant they have, and the
    CPUs that the system keeps for itself (a kernel list). `mig` are the MIG slices that the scheduler gives
    out on each node in place of whole GPUs, profile -> number: {1g.5gb: 56}. On Kubernetes `selector` are
    the labels of these nodes, with `tolerations` of their taints and what pods can have of them."""

    type: str
    hosts: str | None = None
    count: int | None = None
    variant: str | None = None
    reserved_cpus: str = ""
    mig: dict[str, int] = field(default_factory=dict)
    selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    allocatable: Allocatable = Allocatable()


class SlurmRest(Struct, frozen=True, forbid_unknown_fields=True):
    """The site's slurmrestd: `url` is unix:/PATH, http://HOST:PORT or https://HOST:PORT, and `api` the
    version of its API, unless it is the one that came with the site's Slurm. A token is in SLURM_JWT, or in
    `token_file` ("~" stands for the user's home); `user` is who it is for, where that is not the user here;
    `ca_file` are the authorities that an https server is checked against, unless they are the system's."""

    url: str
    api: str | None = None
    token_file: str | None = None
    user: str | None = None
    ca_file: str | None = None


class SlurmSite(Struct, frozen=True, forbid_unknown_fields=True):
    """The site's Slurm. `mpi_plugin` maps the job's family to the plugin's name in `srun --mpi=list`;
    `exclusive` true forces whole nodes; `path` is the folder of srun and scontrol on the compute nodes
    where it is not on the usual PATH; `conf` the slurm.conf of this cluster where it is not the default;
    `image_folder` a folder that all nodes see, for images that are imported once (`import: shared`), and
    `image_import` where `hpclaunch image import` does it: on a compute node, or where it is called; `via` how
    Slurm is reached: by its commands, its library in this process (pyslurm), or slurmrestd."""

    version: str
    pyxis: str | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    mpi_plugin: dict[str, str] = field(default_factory=dict)
    exclusive: bool | None = None
    path: str | None = None
    conf: str | None = None
    image_folder: str | None = None
    image_import: Literal["node", "here"] = "node"
    via: Via = "auto"
    rest: SlurmRest | None = None

    @property
    def access(self) -> SlurmAccess:
        """How this cluster is reached."""
        if self.rest is None:
            return SlurmAccess(self.via)
        rest = self.rest
        api = rest.api or API_OF_RELEASE.get(".".join(self.version.split(".")[:2]), "")
        server = RestServer(rest.url, api, rest.token_file, rest.user, rest.ca_file)
        return SlurmAccess(self.via, server)


class Network(Struct, frozen=True, forbid_unknown_fields=True):
    """Interfaces for sockets (NCCL_SOCKET_IFNAME and the like), and those never to use."""

    socket_ifname: str | None = None
    exclude: tuple[str, ...] = ()


class Sharp(Struct, frozen=True, forbid_unknown_fields=True):
    """How this site gives SHARP (reductions in the InfiniBand switches): the value of `--network` that its
    Slurm plugin or Enroot hook reads, and what NCCL needs beside NCCL_COLLNET_ENABLE=1."""

    network: str | None = "sharp"
    env: dict[str, str] = field(default_factory=dict)


class Fabric(Struct, frozen=True, forbid_unknown_fields=True):
    """The network between nodes: `unit` nodes make a scalable unit, `topology` is Slurm's plugin
    (TopologyPlugin: tree or block), `sharp` is set where SHARP runs."""

    unit: int | None = None
    topology: Literal["tree", "block", "none"] = "none"
    sharp: Sharp | None = None


class Nfs(Struct, frozen=True, forbid_unknown_fields=True):
    """A folder that an NFS server exports."""

    server: str
    path: str


class EmptyDir(Struct, frozen=True, forbid_unknown_fields=True):
    """A folder that lives as long as the pod: on the node's disk, or in its memory."""

    memory: bool = False
    size: str | None = None


class Csi(Struct, frozen=True, forbid_unknown_fields=True):
    """Existing data behind a claim, for `site export storage`: Spectrum Scale's driver is
    spectrumscale.csi.ibm.com, and its handle ends with path=/gpfs/...."""

    driver: str
    handle: str
    attributes: dict[str, str] = field(default_factory=dict)


class StorageClass(Struct, frozen=True, forbid_unknown_fields=True):
    """How volumes of a class are made on request, for `site export storage`."""

    provisioner: str
    parameters: dict[str, str] = field(default_factory=dict)
    reclaim: Literal["Delete", "Retain"] = "Delete"


# What a volume may have for Kubernetes besides a path: one of these keys.
SOURCES = ("claim", "nfs", "config_map", "empty_dir")


class Volume(Struct, frozen=True, forbid_unknown_fields=True):
    """What stands behind a volume's name: a path on every node (on Kubernetes a hostPath, where nothing else
    is there), a claim, an NFS export, a config map, or an empty folder. `file`: the path is a file. `folder`
    is a folder inside the claim. The rest says what `site export storage` makes: the claim's size, its class,
    and the existing data (`csi`) or how its class makes it (`provision`)."""

    path: str | None = None
    file: bool = False
    claim: str | None = None
    folder: str | None = None
    nfs: Nfs | None = None
    config_map: str | None = None
    empty_dir: EmptyDir | None = None
    size: str | None = None
    access: Literal["ReadWriteMany", "ReadOnlyMany", "ReadWriteOnce"] = "ReadWriteMany"
    storage_class: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    csi: Csi | None = None
    provision: StorageClass | None = None

    @property
    def behind(self) -> str:
        """The key of what stands behind it in pods: "path", which is then a hostPath, or one of SOURCES."""
        return next((key for key in SOURCES if getattr(self, key) is not None), "path")


class Site(Struct, frozen=True, forbid_unknown_fields=True):
    """One site."""

    name: str
    scheduler: Literal["slurm", "kubernetes", "local"]
    node_types: tuple[NodeGroup, ...]
    version: Literal[1] = 1
    extends: str | None = None
    container: Literal["pyxis", "none"] = "none"
    slurm: SlurmSite | None = None
    ssh: SshSite | None = None
    kubernetes: KubernetesSite | None = None
    network: Network = Network()
    fabric: Fabric = Fabric()
    limits: LimitsSpec | None = None
    preflight: PreflightSite | None = None
    volumes: dict[str, Volume] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)

    @property
    def access(self) -> SlurmAccess | None:
        """How its Slurm is reached, None where it has none."""
        if self.slurm is None or self.scheduler != "slurm":
            return None
        access = self.slurm.access
        return structs.replace(access, login=self.ssh.login(self.slurm.path)) if self.ssh else access
