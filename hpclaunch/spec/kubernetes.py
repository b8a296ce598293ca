"""What a site file says of a Kubernetes or OpenShift cluster."""

from typing import Literal

from msgspec import Struct, field

# Who serves v1 beside the MPI operator.
TRAINING_OPERATOR = "training-operator"

SHARED = "rdma"  # the domain of the shared device plugin's resources


class MpiJobApi(Struct, frozen=True, forbid_unknown_fields=True):
    """Which MPIJob the cluster serves, where the operator's version does not tell."""

    api: Literal["v2beta1", "v1", "v1alpha2"] = "v2beta1"
    operator: Literal["mpi-operator", "training-operator"] = "mpi-operator"


class RunAs(Struct, frozen=True, forbid_unknown_fields=True):
    """The user that containers run as. sshd takes only one that the image knows, and `home` is its own."""

    user: int
    home: str
    group: int | None = None


class Sshd(Struct, frozen=True, forbid_unknown_fields=True):
    """The sshd of the workers. For images that have none `kit` is an image whose `folder` holds bin/ssh and
    sbin/sshd: it is copied into each pod before the container starts."""

    port: int = 2222
    kit: str | None = None
    folder: str = "/opt/ssh"


class Gang(Struct, frozen=True, forbid_unknown_fields=True):
    """All workers start or none, by the scheduler that the MPI operator was told of."""

    scheduler: Literal["volcano", "scheduler-plugins"]
    queue: str | None = None
    scheduler_name: str | None = None


class Toleration(Struct, frozen=True, forbid_unknown_fields=True):
    """A taint of the nodes that jobs may ignore."""

    key: str | None = None
    operator: Literal["Exists", "Equal"] = "Exists"
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None


class LauncherPod(Struct, frozen=True, forbid_unknown_fields=True):
    """The pod that runs mpirun: it has no GPU, and needs little. Where all nodes have taints it needs
    `tolerations` too."""

    cpu: int = 2
    memory: str = "4Gi"
    selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()


class SecretKey(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a secret of jobs lies in the namespace: the Secret's name, and the key in it."""

    name: str
    key: str


class Allocatable(Struct, frozen=True, forbid_unknown_fields=True):
    """What pods can have of a node, after the kubelet's and the daemon sets' part: whole CPUs, and memory."""

    cpu: int | None = None
    memory: str | None = None


class KubernetesSite(Struct, frozen=True, forbid_unknown_fields=True):
    """The site's cluster. `mpi_operator` is the operator's version; without it and `mpijob` only jobs of one
    node run. `rdma` maps an HCA, by its name or PCI address, to the device plugin's resource (shared_ib0:
    rdma/shared_ib0; with a `/` as it is). `networks` are Multus attachments of the workers, `shm` the size of
    /dev/shm, `worker_wait` the seconds that the launcher waits for workers where the operator does not do
    that, `ttl` the seconds that a finished job stays, `mpi` what images have unless a job says another.
    `openshift` with `profile`: `root` needs the SCC of `site export rbac`, `rootless` has a fixed user.

    For the administrator's exports alone: `rdma_interfaces` are the network interfaces behind each shared
    resource of `rdma`, `machine_pool` is the machine config pool of the nodes, and `submitters` are who may
    submit: user:NAME, group:NAME, or serviceaccount:NAMESPACE:NAME.
    """

    namespace: str = "default"
    context: str | None = None
    version: str | None = None
    mpi_operator: str | None = None
    mpijob: MpiJobApi | None = None
    mpi: Literal["openmpi", "intel", "mpich"] = "openmpi"
    openshift: bool = False
    profile: Literal["root", "rootless"] = "root"
    run_as: RunAs | None = None
    service_account: str | None = None
    image_pull_secrets: tuple[str, ...] = ()
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    gpu_resource: str = "nvidia.com/gpu"
    rdma: dict[str, str] = field(default_factory=dict)
    networks: tuple[str, ...] = ()
    hugepages: dict[str, str] = field(default_factory=dict)
    shm: str | None = None
    sshd: Sshd = Sshd()
    worker_wait: int = 3600
    launcher: LauncherPod = LauncherPod()
    queue: str | None = None
    gang: Gang | None = None
    priority_class: str | None = None
    clean_pods: Literal["Running", "All"] = "Running"
    ttl: int = 86400
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, SecretKey] = field(default_factory=dict)
    rdma_interfaces: dict[str, tuple[str, ...]] = field(default_factory=dict)
    machine_pool: str = "worker"
    submitters: tuple[str, ...] = ()


def rdma_resource(written: str) -> str:
    """The resource as pods ask for it, of one as `rdma` has it: without a domain it is the shared device
    plugin's."""
    return written if "/" in written else f"{SHARED}/{written}"


def mig_resource(gpu_resource: str, profile: str) -> str:
    """The resource of MIG slices: the device plugin names them after their profile, where its strategy is
    `mixed`."""
    return f"{gpu_resource.partition('/')[0]}/mig-{profile}"
