"""Every field of the published manifests, and where it went."""

from typing import Any

from launcher_run import carried
from seed_fields import (
    Check,
    Manifest,
    Process,
    Row,
    absent,
    amount,
    becomes,
    both,
    command,
    label,
    mounted,
    options,
    same,
    target,
    variable,
    writable,
)

# Where things are in MPIJobs and in Jobs of one pod.
L, W = "spec mpiReplicaSpecs Launcher", "spec mpiReplicaSpecs Worker"
L_POD, W_POD = f"{L} template spec", f"{W} template spec"
LAUNCHER, WORKER = f"{L_POD} containers launcher", f"{W_POD} containers worker"
POD = "spec template spec"
ALONE = f"{POD} containers worker"

CLAIM = "persistentVolumeClaim claimName"
DRIVER, CUDA = "env NVIDIA_DRIVER_CAPABILITIES", "env NVIDIA_REQUIRE_CUDA"
ASKED = "resources requests nvidia.com/gpu"
GPUS = "resources limits nvidia.com/gpu"

# Why something is not as it was.
ROLE = "the name says which of the two it is, for `kubectl logs -c`"
INNER = "a name inside the pod: it is the site's name of the volume"
RETRY = "what failed is not started again, and its pod and logs stay: OnFailure would take the pod away"
ONE_POD = "a Job keeps its pod's end, and has a time limit and a time to live"
OLD_NAME = "serviceAccount is the deprecated name of serviceAccountName"
NO_GPU_THERE = "the launcher runs mpirun alone: no GPU, and none of the runtime's hooks"
PLUGIN = "the device plugin sets it to the pod's own GPUs; `all` would show those of other jobs"
RIGHTS = "it needs none: the device plugin gives it its GPUs; container.privileged would ask for them"
DASHES = "the same option, as Open MPI's manual writes it"
BY_NAME = "the launcher's text gives every variable of the image to the ranks by name"
USUAL_PULL = "it is the API's default for a tag that is not `latest`; a site may set image_pull_policy"


def mpijob(name: Check, why: str = "") -> list[Row]:
    """What all MPIJobs have."""
    return [
        Row("apiVersion", same("apiVersion")),
        Row("kind", same("kind")),
        Row("metadata name", name, why),
        Row("spec slotsPerWorker", same("spec slotsPerWorker")),
        Row(f"{L} replicas", same(f"{L} replicas")),
        Row(f"{W} replicas", same(f"{W} replicas")),
        Row(f"{L_POD} containers 0 name", becomes(f"{L_POD} containers 0 name", "launcher"), ROLE),
        Row(f"{W_POD} containers 0 name", becomes(f"{W_POD} containers 0 name", "worker"), ROLE),
        Row(f"{L_POD} containers 0 image", same(f"{LAUNCHER} image", f"{WORKER} image")),
        Row(f"{W_POD} containers 0 image", same(f"{LAUNCHER} image", f"{WORKER} image")),
    ]


def word(check: Check, *words: Any, why: str = "", at: str = f"{L_POD} containers 0 command") -> Row:
    """Words of a command."""
    return Row(at, check, why, words)


def rdma(container: str, ours: str) -> list[Row]:
    """Four HCAs of the shared device plugin, and the right to pin memory."""
    rights = "securityContext capabilities add 0"
    return [
        Row(f"{container} {rights}", same(f"{ours} {rights}")),
        *(
            Row(f"{container} resources limits {name}", amount(f"{ours} resources limits {name}"))
            for name in (f"rdma/shared_ib{number}" for number in range(4))
        ),
    ]


def robotic_drive(name: Check, why: str, ranks: str) -> list[Row]:
    """What both MPIJobs of the article on Robotic Drive have."""
    return [
        *mpijob(name, why),
        Row("spec cleanPodPolicy", same("spec cleanPodPolicy")),
        Row(f"{L_POD} containers 0 {DRIVER}", absent(f"{LAUNCHER} {DRIVER}"), NO_GPU_THERE),
        Row(f"{L_POD} containers 0 {CUDA}", absent(f"{LAUNCHER} {CUDA}"), NO_GPU_THERE),
        Row(f"{W_POD} containers 0 {DRIVER}", same(f"{WORKER} {DRIVER} value")),
        Row(f"{W_POD} containers 0 {CUDA}", same(f"{WORKER} {CUDA} value")),
        Row(
            f"{W_POD} containers 0 {GPUS}",
            amount(f"{WORKER} {GPUS}"),
        ),
        word(options(), "mpirun", "-np", ranks),
        word(
            options("--bind-to", "none"),
            "-bind-to",
            "none",
            why=DASHES,
        ),
        word(options("--map-by", "slot"), "-map-by", "slot", why=DASHES),
        word(variable(), "-x", "NCCL_DEBUG=INFO"),
        word(carried(), "-x", "LD_LIBRARY_PATH", why=BY_NAME),
        word(carried(), "-x", "PATH", why=BY_NAME),
        parameter("pml", "ob1"),
        parameter("btl", "^openib"),
        word(command(), "python", ...),
    ]


def parameter(name: str, value: str) -> Row:
    """-mca NAME VALUE, as the variable that Open MPI reads in its place: mpirun's, and each rank's."""
    full = f"OMPI_MCA_{name}"

    def in_launcher(words: Any, ours: Manifest) -> str:
        return same(f"{LAUNCHER} env {full} value")(words[-1], ours)

    why = "Open MPI reads it from the environment as well, where srun's ranks have it too"
    return word(both(in_launcher, variable(full)), "-mca", name, value, why=why)


A2D2 = [
    *mpijob(same("metadata name")),
    *rdma(f"{W_POD} containers 0", WORKER),
    Row(f"{W_POD} serviceAccount", same(f"{W_POD} serviceAccountName"), OLD_NAME),
    Row(f"{W_POD} serviceAccountName", same(f"{W_POD} serviceAccountName")),
    Row(
        f"{W_POD} containers 0 {GPUS}",
        amount(f"{WORKER} {GPUS}"),
    ),
    Row(f"{W_POD} containers 0 volumeMounts 0 mountPath", target()),
    Row(
        f"{W_POD} containers 0 volumeMounts 0 name",
        becomes(f"{WORKER} volumeMounts 0 name", "adas-data"),
        INNER,
    ),
    Row(f"{W_POD} volumes 0 name", becomes(f"{W_POD} volumes 0 name", "adas-data"), INNER),
    Row(
        f"{W_POD} volumes 0 {CLAIM}",
        mounted("/workspace", CLAIM),
    ),
    Row(f"{W_POD} volumes 0 persistentVolumeClaim readOnly", writable("/workspace"), "false is the default"),
    word(options(), "mpirun", "-np", "16"),
    word(options(), "-wdir", "/workspace/scripts/tf2_comparison/hvd"),
    word(variable(), "-x", "NCCL_DEBUG=INFO"),
    word(variable(), "-x", "NCCL_IB_DISABLE=0"),
    word(variable(), "-x", "NCCL_NET_GDR_LEVEL=1"),
    word(command(), "python", ...),
]

IMAGENET = robotic_drive(
    label("metadata name", "job-{}".format),
    "a Service of this name is made, which cannot begin with a digit",
    "16",
)

CUT_OFF = [
    *robotic_drive(same("metadata name"), "", "2"),
    parameter("plm_base_verbose", "100"),
    parameter("btl_base_verbose", "30"),
    Row(
        f"{L_POD} containers 0 {GPUS}",
        absent(f"{LAUNCHER} {GPUS}"),
        f"{NO_GPU_THERE}; it would be idle, and taken from others",
    ),
]


def only_node() -> Check:
    """Required, and the one."""
    where = "affinity nodeAffinity requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms"

    def check(value: Any, ours: Manifest) -> str:
        wanted = [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [value]}]}
        ]
        found = ours.at(f"{POD} {where}")
        return "" if found == wanted else f"{found} is not {value} alone"

    return check


NCCL = [
    Row("apiVersion", same("apiVersion")),
    Row("kind", same("kind")),
    Row("metadata name", same("metadata name")),
    Row(
        f"{POD} nodeName",
        only_node(),
        "nodeName passes the scheduler by, which then counts its GPUs for nobody: the same node by its label",
    ),
    Row(f"{POD} restartPolicy", same(f"{POD} restartPolicy")),
    Row(f"{POD} containers 0 name", becomes(f"{POD} containers 0 name", "worker"), ROLE),
    Row(f"{POD} containers 0 image", same(f"{ALONE} image")),
    Row(f"{POD} containers 0 imagePullPolicy", absent(f"{ALONE} imagePullPolicy"), USUAL_PULL),
    word(
        lambda value, ours: "" if Process(ours).argv[:2] == list(value) else "another shell",
        "/bin/sh",
        "-c",
        at=f"{POD} containers 0 command",
    ),
    Row(f"{POD} containers 0 args 0", command(lambda text: ["/bin/sh", "-c", text])),
    Row(
        f"{POD} containers 0 {GPUS}",
        amount(f"{ALONE} {GPUS}"),
    ),
]


def begins_as(path: str) -> Check:
    """The published name is cut off."""
    return lambda value, ours: "" if str(ours.at(path)).startswith(value) else f"{ours.at(path)} is another"


POD_TO_JOB = [
    Row("apiVersion", becomes("apiVersion", "batch/v1"), ONE_POD),
    Row("kind", becomes("kind", "Job"), ONE_POD),
    Row("spec restartPolicy", becomes(f"{POD} restartPolicy", "Never"), RETRY),
    Row("spec containers 0 name", becomes(f"{POD} containers 0 name", "worker"), ROLE),
]

MOFED = [
    *POD_TO_JOB,
    Row("metadata name", same("metadata name")),
    Row("spec containers 0 image", begins_as(f"{ALONE} image"), "the slides cut its end off"),
    *rdma("spec containers 0", ALONE),
    word(
        command(lambda words: ["/bin/sh", *words[1:]]),
        "sh",
        ...,
        at="spec containers 0 command",
        why="a string of a job goes to /bin/sh, which needs no PATH to be found",
    ),
]

OF_PRIVILEGED_PODS = [
    *POD_TO_JOB,
    Row("metadata namespace", same("metadata namespace")),
    Row("spec containers 0 image", same(f"{ALONE} image")),
    Row(
        "spec containers 0 env NVIDIA_VISIBLE_DEVICES",
        both(absent(f"{ALONE} env NVIDIA_VISIBLE_DEVICES"), lambda _, ours: _not_in_ranks(ours)),
        PLUGIN,
    ),
    Row(
        f"spec containers 0 {DRIVER}",
        same(f"{ALONE} {DRIVER} value"),
    ),
    Row(f"spec containers 0 {CUDA}", same(f"{ALONE} {CUDA} value")),
    Row(
        f"spec containers 0 {GPUS}",
        amount(f"{ALONE} {GPUS}"),
    ),
    Row(
        "spec containers 0 securityContext privileged",
        both(absent(f"{ALONE} securityContext privileged"), absent(f"{ALONE} securityContext capabilities")),
        RIGHTS,
    ),
]


def _not_in_ranks(ours: Manifest) -> str:
    return "the ranks have it" if "NVIDIA_VISIBLE_DEVICES" in Process(ours).environment else ""


HOROVOD = [
    *OF_PRIVILEGED_PODS,
    Row("metadata name", label("metadata name", lambda name: name.replace("_", "-")), "no `_` in names"),
    Row("spec serviceAccount", same(f"{POD} serviceAccountName"), OLD_NAME),
    Row(
        f"spec containers 0 {ASKED}",
        both(
            amount(f"{ALONE} {GPUS}"),
            absent(f"{ALONE} {ASKED}"),
        ),
        "of what a device plugin gives requests are the limits, and the API fills them in",
    ),
    word(
        options("mpirun", "-np", "8"),
        "horovodrun",
        "-np",
        "8",
        at="spec containers 0 command",
        why="horovodrun calls mpirun with these ranks; so each of them has its own cores and environment",
    ),
    word(command(), "python", ..., at="spec containers 0 command"),
]


def shell_line() -> Check:
    """cd FOLDER; export NAME=VALUE; ...; and what is left, for the same shell."""

    def check(value: Any, ours: Manifest) -> str:
        process, left, wrong = Process(ours), [], []
        for part in value[-1].split("; "):
            name, _, rest = part.partition(" ")
            if name == "cd" and ours.at(f"{ALONE} workingDir") != rest:
                wrong.append(f"the ranks do not begin in {rest}")
            elif name == "export":
                known, _, text = rest.partition("=")
                wrong += [] if process.environment.get(known) == text else [f"{known} is not {text}"]
            elif name != "cd":
                left.append(part)
        wanted = [*value[:-1], "; ".join(left)]
        return "; ".join(wrong + ([] if process.argv == wanted else [f"ranks execute {process.argv}"]))

    return check


MASKRCNN = [
    *OF_PRIVILEGED_PODS,
    Row("metadata name", same("metadata name")),
    Row(
        "spec containers 0 runAsUser",
        same(f"{POD} securityContext runAsUser"),
        "it stands where the API does not know it, and had no effect",
    ),
    word(
        shell_line(),
        "/bin/bash",
        ...,
        at="spec containers 0 command",
        why="`workdir` and `env` of the job, which every rank of every scheduler has",
    ),
    *(Row(f"spec containers 0 volumeMounts {number} mountPath", target()) for number in range(3)),
    *(
        Row(path, becomes(f"{POD} {ours}", name), INNER)
        for path, ours, name in (
            ("spec containers 0 volumeMounts 0 name", "containers worker volumeMounts 0 name", "home"),
            ("spec containers 0 volumeMounts 1 name", "containers worker volumeMounts 1 name", "coco"),
            ("spec volumes 0 name", "volumes 0 name", "home"),
            ("spec volumes 1 name", "volumes 1 name", "coco"),
        )
    ),
    Row("spec containers 0 volumeMounts 2 name", same(f"{ALONE} volumeMounts 2 name")),
    Row("spec volumes 2 name", same(f"{POD} volumes 2 name")),
    Row("spec volumes 0 hostPath path", mounted("/home", "hostPath path")),
    Row("spec volumes 1 hostPath path", mounted("/coco", "hostPath path")),
    Row("spec volumes 2 emptyDir medium", mounted("/dev/shm", "emptyDir medium")),
]
