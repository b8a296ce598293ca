"""The launch in Kubernetes' words. Field names are the API's own, in Python's spelling.

Text fields hold what the rank or the kubelet is to see: `render` doubles the `$` that the kubelet halves.
"""

from typing import Literal

from msgspec import Struct

from hpclaunch.values.words import EnvVar, Option

Labels = tuple[tuple[str, str], ...]

# What hpclaunch makes is found again by these labels: all of it, what belongs to a job, and whether a pod is
# the launcher or a worker of it.
MANAGED = ("app.kubernetes.io/managed-by", "hpclaunch")
JOB_LABEL = "hpclaunch/job"
ROLE_LABEL = "hpclaunch/role"
# The init container that copies folders to a worker's node.
STAGE_IN = "hpclaunch-stage-in"


class SecretRef(Struct, frozen=True):
    """A variable whose value is in a Secret of the namespace. `optional`: the pod starts without it too."""

    variable: str
    name: str
    key: str
    optional: bool = False


class PodVolume(Struct, frozen=True):
    """A volume of a pod: its name there, the kind of its source as the API has it, and the source's fields
    in their order, such as (("claimName", "adas-data-pvc"),)."""

    name: str
    kind: Literal["persistentVolumeClaim", "hostPath", "nfs", "emptyDir", "configMap"]
    fields: tuple[tuple[str, str | bool | int], ...] = ()
    why: str = ""


class VolumeMount(Struct, frozen=True):
    """Where a container sees a volume, or a folder of it."""

    name: str
    mount_path: str
    sub_path: str = ""
    read_only: bool = False


class Toleration(Struct, frozen=True):
    """As the API has it; what is empty is left out."""

    key: str = ""
    operator: str = "Exists"
    value: str = ""
    effect: str = ""


class Security(Struct, frozen=True):
    """The container's rights: its user and group (None: the image's, or the namespace's), the group of its
    volumes (`fs_group_change_policy`: when those are given to it), and the capabilities beyond the runtime's.
    `drop_all`: only those of `add` are left. What is empty, None or False is not given."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    fs_group: int | None = None
    fs_group_change_policy: str = ""
    add: tuple[str, ...] = ()
    drop_all: bool = False
    allow_privilege_escalation: bool | None = None
    run_as_non_root: bool = False
    seccomp_profile: str = ""
    read_only_root: bool = False
    privileged: bool = False


class NodeChoice(Struct, frozen=True):
    """Which nodes a pod may go to: labels that the node has, and by required affinity names that it has or
    has not (kubernetes.io/hostname)."""

    selector: Labels = ()
    hosts: tuple[str, ...] = ()
    not_hosts: tuple[str, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


class StagedFolder(Struct, frozen=True):
    """A folder that is copied: where the init container sees it and what it is copied to, and its name in
    messages and in the mark that the target keeps."""

    source: str
    target: str
    name: str


class StagingContainer(Struct, frozen=True):
    """The init container that brings folders to a worker's node, with the image of the job. `amounts` are
    asked for and limited alike."""

    folders: tuple[StagedFolder, ...]
    mounts: tuple[VolumeMount, ...]
    amounts: Labels


class Pod(Struct, frozen=True):
    """A pod template with its one container.

    `requests` are what the scheduler finds a node for, `limits` the most that the container gets; where both
    name the same CPUs and memory the pod owns them. `apart` are labels: pods that have all of them may not
    share a node with this one. `kit` is an image whose `kit_folder` is copied to the same folder here before
    the container starts; the copying has `kit_amounts`, asked for and limited alike. `ready_port`: the pod is
    ready when this port answers. `service_links`: it has variables for each Service of the namespace (None:
    the cluster leaves no choice). `uses_api`: it talks to the API server, as its service account. `staging`
    goes before the container, after the kit.
    """

    container: str
    image: str
    image_pull_policy: str = ""
    labels: Labels = ()
    annotations: Labels = ()
    service_account: str = ""
    image_pull_secrets: tuple[str, ...] = ()
    priority_class: str = ""
    scheduler_name: str = ""
    nodes: NodeChoice = NodeChoice()
    apart: Labels = ()
    security: Security = Security()
    working_dir: str = ""
    env: tuple[EnvVar, ...] = ()
    secrets: tuple[SecretRef, ...] = ()
    limits: Labels = ()
    requests: Labels = ()
    volumes: tuple[PodVolume, ...] = ()
    mounts: tuple[VolumeMount, ...] = ()
    kit: str = ""
    kit_folder: str = ""
    kit_amounts: Labels = ()
    ready_port: int | None = None
    active_deadline_s: int | None = None
    service_links: bool | None = False
    uses_api: bool = False
    staging: StagingContainer | None = None


class RunPolicy(Struct, frozen=True):
    """How the job's pods end. Seconds; None: not given. `min_available`, `queue` and `priority_class` are the
    gang's (schedulingPolicy), None: no gang."""

    clean_pod_policy: str
    ttl_s: int | None
    active_deadline_s: int | None = None
    deadline_why: str = ""
    backoff_limit: int = 0
    min_available: int | None = None
    queue: str = ""
    priority_class: str = ""


class MpiJob(Struct, frozen=True):
    """What an MPIJob has beyond its pods. `api` is v2beta1, v1 or v1alpha2. Empty: the version lacks the
    field, or its default is meant."""

    api: Literal["v2beta1", "v1", "v1alpha2"]
    workers: int
    slots: int
    implementation: str = ""
    ssh_auth_mount_path: str = ""
    launcher_creation_policy: str = ""


class KubernetesTarget(Struct, frozen=True):
    """The launch as an MPIJob, or where `mpi_job` is None as a batch/v1 Job of one pod, the worker.

    `starter` begins the command line that starts the ranks, such as mpirun and its options; it is empty
    where the pod has the one rank. `launch` are the settings of the text that runs it
    (hpclaunch/rank/pod), empty where that rank is the pod's own process; `serve` are those of the workers'
    text, `wrapper` those of the rank wrapper, and `alone` those beside a step that is alone on its node or in
    the job (empty: there is none). `stays`: the launcher runs steps and trials.
    `variables_secret` is the Secret that a submission makes for inherited and secret variables, "" for none.
    """

    name: str
    namespace: str
    labels: Labels
    annotations: Labels
    run_policy: RunPolicy
    mpi_job: MpiJob | None
    launcher: Pod | None
    worker: Pod
    starter: tuple[str, ...]
    launch: tuple[Option, ...]
    serve: tuple[Option, ...]
    wrapper: tuple[Option, ...]
    variables_secret: str = ""
    context: str = ""
    stays: bool = False
    alone: tuple[Option, ...] = ()
