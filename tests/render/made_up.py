"""Plans for Kubernetes: some by hand, and any that hypothesis makes up."""

from hypothesis import strategies as st
from msgspec import structs

from hpclaunch.values.launchplan import Common, Container, LaunchPlan
from hpclaunch.values.placement import NodeShape, Seat
from hpclaunch.values.pods import (
    KubernetesTarget,
    MpiJob,
    NodeChoice,
    Pod,
    PodVolume,
    RunPolicy,
    SecretRef,
    Security,
    StagedFolder,
    StagingContainer,
    Toleration,
    VolumeMount,
)
from hpclaunch.values.steps import Step, Trials
from hpclaunch.values.words import EnvVar, Option

_SEAT = Seat(0, (), (), (0,), ())
COMMON = Common(
    name="resnet50",
    nodes=2,
    ranks_per_node=8,
    gpus_per_node=8,
    shapes=(NodeShape("dgx-a100", "", 256, (), (), (_SEAT,) * 8),),
    whole_node=True,
    argv=("python", "train.py", "--name", "it's $HOME $(hostname) $$"),
    cwd="",
    environment=(EnvVar("NCCL_DEBUG", "INFO", "job"), EnvVar("VERSION", "1.10", "job")),
    inherit=("HTTPS_PROXY",),
    secrets=("WANDB_API_KEY", "HF_TOKEN"),
    container=Container("nvcr.io/nvidia/mxnet:21.09-py3"),
    mpi="pmix",
    rendezvous="none",
    minutes=30,
    steps=(
        Step("setup", "setup 1: it's $HOME", ("pip", "install", "", "--", "$(x)"), "container", "node"),
        Step("after", "after 1: end", ("/bin/sh", "-c", "a\nb"), "container", "job", True),
    ),
    trials=Trials(3, "SEED", 17, keep_going=True),
)

_AMOUNTS = (("cpu", "240"), ("memory", "960Gi"), ("hugepages-2Mi", "2Gi"))
_SECRETS = (
    SecretRef("HTTPS_PROXY", "resnet50-env", "HTTPS_PROXY", optional=True),
    SecretRef("WANDB_API_KEY", "resnet50-env", "WANDB_API_KEY"),
    SecretRef("HF_TOKEN", "hugging-face", "token"),
)

# Everything that a pod can have.
WORKER = Pod(
    container="worker",
    image="nvcr.io/nvidia/mxnet:21.09-py3",
    image_pull_policy="IfNotPresent",
    labels=(("hpclaunch/job", "resnet50"), ("hpclaunch/role", "worker")),
    annotations=(("k8s.v1.cni.cncf.io/networks", "ib0,ib1"),),
    service_account="mpi",
    image_pull_secrets=("ngc",),
    priority_class="high",
    scheduler_name="volcano",
    nodes=NodeChoice(
        selector=(("nvidia.com/gpu.present", "true"),),
        hosts=("dgx001", "dgx002"),
        not_hosts=("dgx003",),
        tolerations=(Toleration("nvidia.com/gpu", "Equal", "true", "NoSchedule"), Toleration()),
    ),
    apart=(("hpclaunch/job", "resnet50"), ("hpclaunch/role", "worker")),
    security=Security(
        run_as_user=1000,
        run_as_group=1000,
        fs_group=2000,
        fs_group_change_policy="OnRootMismatch",
        add=("IPC_LOCK",),
        drop_all=True,
        allow_privilege_escalation=False,
        run_as_non_root=True,
        seccomp_profile="RuntimeDefault",
        read_only_root=True,
    ),
    env=(
        EnvVar("NVIDIA_DRIVER_CAPABILITIES", "compute,utility", "job"),
        EnvVar("NVIDIA_X", "$(HOME) $$", "job"),
    ),
    requests=_AMOUNTS,
    limits=(*_AMOUNTS, ("nvidia.com/gpu", "8"), ("rdma/shared_ib0", "1")),
    volumes=(
        PodVolume("data", "persistentVolumeClaim", (("claimName", "adas-data-pvc"),)),
        PodVolume("scratch", "hostPath", (("path", "/scratch"), ("type", "Directory"))),
        PodVolume("home", "nfs", (("server", "10.0.0.1"), ("path", "/home"), ("readOnly", False))),
        PodVolume("scripts", "configMap", (("name", "scripts"), ("defaultMode", 0o555))),
        PodVolume("empty", "emptyDir"),
        PodVolume("dshm", "emptyDir", (("medium", "Memory"), ("sizeLimit", "480Gi")), "NCCL needs it"),
    ),
    mounts=(
        VolumeMount("data", "/data", "imagenet", read_only=True),
        VolumeMount("scratch", "/scratch"),
        VolumeMount("home", "/home"),
        VolumeMount("scripts", "/scripts", read_only=True),
        VolumeMount("empty", "/empty"),
        VolumeMount("dshm", "/dev/shm"),
    ),
    kit="registry/ssh-kit:1",
    kit_folder="/opt/ssh",
    kit_amounts=(("cpu", "100m"), ("memory", "128Mi")),
    ready_port=2222,
)
LAUNCHER = Pod(
    container="launcher",
    image="nvcr.io/nvidia/mxnet:21.09-py3",
    labels=(("hpclaunch/job", "resnet50"), ("hpclaunch/role", "launcher")),
    secrets=_SECRETS,
    working_dir="/workspace",
    limits=(("cpu", "2"), ("memory", "4Gi")),
    requests=(("cpu", "2"), ("memory", "4Gi")),
    active_deadline_s=1800,
)
WRAPPER = (
    Option("from=openmpi"),
    Option(
        "hcas=" + " ".join(f"mlx5_{n}/0000:{n:02x}:00.0/1/InfiniBand" for n in range(8)), "the compute HCAs"
    ),
    Option("near=" + ";".join("1:0,1,2,3,4,5,6,7" for _ in range(8)), "for each rank"),
    Option("membind=3;3;1;1;7;7;5;5", "memory"),
    Option("besteffort=1", "what the pod's own cores do not allow is a warning"),
)
RUN = RunPolicy("Running", 86400, 1800, "from the launcher's start", 0, 3, "gpu-queue", "high")


def mpi_job(job: MpiJob) -> KubernetesTarget:
    """An MPIJob with all that it can have."""
    by_ssh = job.api == "v2beta1"
    return KubernetesTarget(
        name="resnet50",
        namespace="adas",
        labels=(("app.kubernetes.io/managed-by", "hpclaunch"), ("hpclaunch/job", "resnet50")),
        annotations=(("example.com/team", "adas"),),
        run_policy=RUN,
        mpi_job=job,
        launcher=structs.replace(LAUNCHER, uses_api=not by_ssh),
        worker=WORKER,
        starter=("mpirun", "-np", "16", "--hostfile", "/etc/mpi/hostfile", "-wdir", "/work $(x)"),
        launch=(Option("mpi=openmpi"), Option("hosts=/etc/mpi/hostfile"), Option("wait=600", "seconds")),
        serve=(Option("port=2222"), Option("keys=/root/.ssh")) if by_ssh else (),
        wrapper=WRAPPER,
        variables_secret="resnet50-env",
        context="adas@cluster",
    )


V2BETA1 = mpi_job(MpiJob("v2beta1", 2, 8, "OpenMPI", "/root/.ssh", "WaitForWorkersReady"))
V1 = mpi_job(MpiJob("v1", 2, 8))
V1ALPHA2 = mpi_job(MpiJob("v1alpha2", 2, 8))

_ONE_POD = {"name": "one", "namespace": "adas", "labels": (("hpclaunch/job", "one"),), "annotations": ()}

# One pod: with several ranks, and with the one that is its own process; the least that a pod has.
SEVERAL_RANKS = KubernetesTarget(
    **_ONE_POD,
    run_policy=RunPolicy("Running", 3600),
    mpi_job=None,
    launcher=None,
    worker=Pod("worker", "image", security=Security(run_as_user=0, privileged=True), active_deadline_s=60),
    starter=("mpirun", "-np", "8"),
    launch=(Option("mpi=openmpi"),),
    serve=(),
    wrapper=(Option("from=openmpi"),),
)
ONE_RANK = KubernetesTarget(
    **_ONE_POD,
    run_policy=RunPolicy("Running", 3600),
    mpi_job=None,
    launcher=None,
    worker=Pod("worker", "image"),
    starter=(),
    launch=(),
    serve=(),
    wrapper=(Option("from=local"), Option("rank=0"), Option("ranks=1")),
)

# Steps and trials: with mpirun, and of one rank without; folders that are copied.
STAGING = StagingContainer(
    (
        StagedFolder("/in/0/source", "/in/0/target", "image net"),
        StagedFolder("/in/1/source", "/in/1/target", "$x"),
    ),
    (VolumeMount("a", "/in/0/source", "sub", True), VolumeMount("b", "/in/0/target")),
    (("cpu", "8"), ("memory", "1Gi")),
)
STAYING = structs.replace(
    V2BETA1,
    stays=True,
    alone=(Option("from=openmpi"),),
    worker=structs.replace(V2BETA1.worker, staging=STAGING, image_pull_policy="Always"),
)
STAYING_ALONE = structs.replace(
    ONE_RANK,
    stays=True,
    launch=(Option("mpi=none", "why"),),
    worker=structs.replace(ONE_RANK.worker, staging=STAGING),
)

BY_HAND = {
    "v2beta1": V2BETA1,
    "v1": V1,
    "v1alpha2": V1ALPHA2,
    "Job of several ranks": SEVERAL_RANKS,
    "Job of one rank": ONE_RANK,
    "staying": STAYING,
    "staying Job": STAYING_ALONE,
}


def plan(target: KubernetesTarget, common: Common = COMMON) -> LaunchPlan:
    """The plan of a target."""
    return LaunchPlan("k8s-superpod-a100", "kubernetes", common, target, ())


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20) | st.text(
    st.sampled_from("$$()\n\n \t'\"\\:#-{}[]%é\x85\u2028\x7f0.1yn~"), max_size=12
)
_NAME = st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True) | st.sampled_from(
    ["no", "y", "on", "null"]
)
_VARIABLE = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True) | st.sampled_from(["N", "Y", "NO"])
_LABEL_VALUE = st.from_regex(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,10}[A-Za-z0-9])?)?", fullmatch=True)
_PATH = _TEXT.map(lambda text: "/" + text.replace(":", ""))


def _pairs(values: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    return st.dictionaries(_NAME, values, max_size=3).map(lambda found: tuple(found.items()))


def _some(of: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(of, max_size=3).map(tuple)


_BOOL = st.booleans()
_NUMBER = st.none() | st.integers(0, 2**31 - 1)
_SECURITY = st.builds(
    Security,
    run_as_user=_NUMBER,
    run_as_group=_NUMBER,
    fs_group=_NUMBER,
    fs_group_change_policy=st.sampled_from(["", "OnRootMismatch"]),
    add=_some(st.sampled_from(["IPC_LOCK", "SYS_CHROOT"])),
    drop_all=_BOOL,
    allow_privilege_escalation=st.none() | _BOOL,
    run_as_non_root=_BOOL,
    seccomp_profile=st.sampled_from(["", "RuntimeDefault"]),
    read_only_root=_BOOL,
    privileged=_BOOL,
)
_VOLUME = st.one_of(
    st.builds(PodVolume, _NAME, st.just("emptyDir"), st.just(()), _TEXT),
    st.builds(PodVolume, _NAME, st.just("hostPath"), _PATH.map(lambda path: (("path", path),)), _TEXT),
    st.builds(
        PodVolume, _NAME, st.just("persistentVolumeClaim"), _NAME.map(lambda name: (("claimName", name),))
    ),
)
_POD = st.builds(
    Pod,
    container=_NAME,
    image=_TEXT.filter(bool),
    image_pull_policy=st.sampled_from(["", "Always"]),
    labels=_pairs(_LABEL_VALUE),
    annotations=_pairs(_TEXT),
    service_account=st.just("") | _NAME,
    image_pull_secrets=_some(_NAME),
    priority_class=st.just("") | _NAME,
    scheduler_name=st.just("") | _NAME,
    nodes=st.builds(
        NodeChoice,
        selector=_pairs(_LABEL_VALUE),
        hosts=_some(_NAME),
        not_hosts=_some(_NAME),
        tolerations=st.lists(st.builds(Toleration, st.just("") | _NAME, value=_LABEL_VALUE), max_size=2).map(
            tuple
        ),
    ),
    apart=_pairs(_LABEL_VALUE),
    security=_SECURITY,
    working_dir=st.just("") | _PATH,
    env=st.lists(
        st.builds(EnvVar, _VARIABLE, _TEXT, st.just("job")), max_size=3, unique_by=lambda e: e.name
    ).map(tuple),
    secrets=st.just(()) | st.builds(SecretRef, _VARIABLE, _NAME, _VARIABLE, _BOOL).map(lambda each: (each,)),
    limits=st.just(()) | st.just((("cpu", "8"), ("nvidia.com/gpu", "8"))),
    requests=st.just(()) | st.just((("cpu", "8"),)),
    volumes=st.lists(_VOLUME, max_size=2).map(tuple),
    mounts=st.lists(st.builds(VolumeMount, _NAME, _PATH, st.just("") | _TEXT, _BOOL), max_size=2).map(tuple),
    kit=st.just("") | st.just("kit:1"),
    kit_folder=_PATH,
    kit_amounts=st.just((("cpu", "1"),)),
    ready_port=st.none() | st.integers(1, 65535),
    active_deadline_s=st.none() | st.integers(1, 10**6),
    service_links=st.none() | _BOOL,
    uses_api=_BOOL,
    staging=st.none()
    | st.builds(
        StagingContainer,
        st.lists(st.builds(StagedFolder, _PATH, _PATH, _TEXT), min_size=1, max_size=2).map(tuple),
        st.lists(
            st.builds(VolumeMount, _NAME, _PATH, st.just("") | _TEXT, _BOOL), min_size=1, max_size=2
        ).map(tuple),
        st.just(()) | st.just((("cpu", "1"),)),
    ),
)
_OPTIONS = st.lists(st.builds(Option, _TEXT.map(lambda text: f"a={text}"), _TEXT), max_size=3).map(tuple)
_RUN = st.builds(
    RunPolicy,
    clean_pod_policy=st.sampled_from(["Running", "All"]),
    ttl_s=st.none() | st.integers(0, 10**6),
    active_deadline_s=st.none() | st.integers(1, 10**6),
    deadline_why=_TEXT,
    backoff_limit=st.integers(0, 3),
    min_available=st.none() | st.integers(1, 999),
    queue=st.just("") | _NAME,
    priority_class=st.just("") | _NAME,
)
_JOB = st.one_of(
    st.none(),
    st.builds(
        MpiJob,
        api=st.just("v2beta1"),
        workers=st.integers(1, 999),
        slots=st.integers(1, 16),
        implementation=st.sampled_from(["", "OpenMPI", "Intel", "MPICH"]),
        ssh_auth_mount_path=st.just("") | _PATH,
        launcher_creation_policy=st.sampled_from(["", "WaitForWorkersReady"]),
    ),
    st.builds(
        MpiJob, api=st.sampled_from(["v1", "v1alpha2"]), workers=st.integers(1, 999), slots=st.integers(1, 16)
    ),
)


@st.composite
def targets(draw: st.DrawFn) -> KubernetesTarget:
    """Any target, with nasty texts wherever the API has none of its own rules for them."""
    job = draw(_JOB)
    pods = draw(_POD), draw(_POD)
    return KubernetesTarget(
        name=draw(_NAME),
        namespace=draw(_NAME),
        labels=draw(_pairs(_LABEL_VALUE)),
        annotations=draw(_pairs(_TEXT)),
        run_policy=draw(_RUN),
        mpi_job=job,
        launcher=structs.replace(pods[0], staging=None) if job else None,
        worker=pods[1],
        starter=draw(_some(_TEXT).filter(bool) if job else _some(_TEXT)),
        launch=draw(_OPTIONS),
        serve=draw(_OPTIONS) if job and job.api == "v2beta1" else (),
        wrapper=draw(_OPTIONS),
        variables_secret=draw(st.just("") | _NAME),
        context=draw(st.just("") | _TEXT),
        stays=draw(_BOOL),
        alone=draw(_OPTIONS),
    )


_STEP = st.builds(
    Step,
    st.sampled_from(["setup", "before_each", "after"]),
    _TEXT,
    _some(_TEXT),
    st.just("container"),
    st.sampled_from(["node", "job", "rank"]),
    _BOOL,
)
_TRIALS = st.builds(
    Trials,
    st.integers(1, 10**6),
    st.just("") | _VARIABLE,
    st.none() | st.integers(0, 2**63),
    keep_going=_BOOL,
)


@st.composite
def commons(draw: st.DrawFn) -> Common:
    """A job with any command and environment."""
    return structs.replace(
        COMMON,
        argv=draw(_some(_TEXT)),
        environment=draw(
            st.lists(st.builds(EnvVar, _VARIABLE, _TEXT, st.just("job")), max_size=3).map(tuple)
        ),
        steps=draw(st.lists(_STEP, max_size=3).map(tuple)),
        trials=draw(st.none() | _TRIALS),
    )
