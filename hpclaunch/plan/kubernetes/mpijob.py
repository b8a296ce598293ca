"""Which MPIJob the site serves, what starts the ranks, and how the job's pods end."""

import os.path
from typing import Literal

from msgspec import Struct

from hpclaunch.capability import kubernetes as known
from hpclaunch.plan.findings import Findings
from hpclaunch.plan.hints import of_site
from hpclaunch.spec.job import Job
from hpclaunch.spec.kubernetes import TRAINING_OPERATOR, KubernetesSite, MpiJobApi
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import Problem
from hpclaunch.values.launchplan import Common
from hpclaunch.values.pods import MpiJob, RunPolicy
from hpclaunch.values.words import Option

HOSTFILE = "/etc/mpi/hostfile"
# The operator's default (rootSSHPath). Only there does it give the key the mode that ssh wants of root.
ROOT_KEYS = "/root/.ssh"
# Where the rank wrapper finds its number, by the MPI that starts it.
RANKS_FROM = {"openmpi": "openmpi", "intel": "hydra", "mpich": "hydra"}
_IMPLEMENTATIONS = {"openmpi": "OpenMPI", "intel": "Intel", "mpich": "MPICH"}
_WAIT = "WaitForWorkersReady"
_DEADLINE, _TTL = "activeDeadlineSeconds", "ttlSecondsAfterFinished"
_GANG, _QUEUE = "schedulingPolicy", "scheduling.volcano.sh/queue-name"

# The setting of a launcher whose one rank no mpirun starts.
WITHOUT_MPI = Option("mpi=none", "the pod has one rank, which the text starts itself")


class Served(Struct, frozen=True):
    """The API that the site serves. `ssh`: the launcher reaches workers by ssh, else by kubectl exec.
    `waits`: the operator starts the launcher when the workers are ready."""

    api: Literal["v2beta1", "v1", "v1alpha2"]
    ssh: bool
    waits: bool


def served(site: Site) -> Served:
    """The API, for a site without `problems`."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    api = _api(kubernetes).api
    waits = api == "v2beta1" and _has(kubernetes, "launcherCreationPolicy")
    return Served(api, known.by_ssh(api), waits)


def problems(job: Job, site: Site) -> list[Problem]:
    """What the site's operator cannot do for this job."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    version = kubernetes.mpi_operator
    if version is None and kubernetes.mpijob is None:
        message = f"site {site.name} names no MPI operator (kubernetes.mpi_operator): one node is the most"
        return [Problem(message, "job", ("nodes",))]
    wanted = _api(kubernetes)
    if wanted.operator != TRAINING_OPERATOR and version and wanted.api not in known.apis(version):
        serves = " and ".join(known.apis(version)) or "no MPIJob known here"
        span = known.span(wanted.api)
        message = f"MPI operator {version} serves {serves}; {wanted.api} is served by {span}"
        key = "mpijob" if kubernetes.mpijob else "mpi_operator"
        return [Problem(message, "site", ("kubernetes", key))]
    found = []
    mpi = job.container.mpi or kubernetes.mpi
    name = _IMPLEMENTATIONS[mpi]
    document, path = ("job", ("container", "mpi")) if job.container.mpi else ("site", ("kubernetes", "mpi"))
    if wanted.api != "v2beta1" and mpi != "openmpi":
        message = f"{name} images came with MPIJob v2beta1, and site {site.name} serves {wanted.api}"
        found.append(Problem(message, document, path))
    feature = f"mpiImplementation {name}"
    if wanted.api == "v2beta1" and mpi != "openmpi" and not _has(kubernetes, feature):
        since = known.feature_since(feature)
        message = f"{feature} came with MPI operator {since}, and site {site.name} has {version}"
        found.append(Problem(message, document, path))
    if kubernetes.gang and kubernetes.gang.queue and not _heeds(kubernetes, wanted.api, _QUEUE):
        message = f"the operator of {wanted.api} puts gangs in no queue: leave it out"
        found.append(Problem(message, "site", ("kubernetes", "gang", "queue")))
    if kubernetes.gang and wanted.api == "v2beta1" and not _has(kubernetes, "schedulingPolicy"):
        since = known.feature_since("schedulingPolicy")
        message = f"gangs (schedulingPolicy) came with MPI operator {since}, and this is {version}"
        found.append(Problem(message, "site", ("kubernetes", "gang")))
    return found


def mounted(kubernetes: KubernetesSite, by: Served) -> dict[str, str]:
    """Folders of the container that are not the job's, and who mounts them."""
    found = {os.path.dirname(HOSTFILE): "the MPI operator, for its list of hosts"}
    if by.ssh:
        found[keys(kubernetes)] = "the MPI operator, for its ssh key"
        if kubernetes.sshd.kit:
            found[kubernetes.sshd.folder] = "the site, for ssh (kubernetes.sshd.kit)"
    return found


def keys(kubernetes: KubernetesSite) -> str:
    """Where the ssh key is: in the user's home, where ssh looks for it."""
    return f"{kubernetes.run_as.home.rstrip('/')}/.ssh" if kubernetes.run_as else ROOT_KEYS


def mpi_job(job: Job, kubernetes: KubernetesSite, common: Common, by: Served) -> MpiJob:
    """The fields of the MPIJob's own."""
    return MpiJob(
        api=by.api,
        workers=common.nodes,
        slots=common.ranks_per_node,
        implementation=_IMPLEMENTATIONS[job.container.mpi or kubernetes.mpi] if by.ssh else "",
        ssh_auth_mount_path=keys(kubernetes) if by.ssh else "",
        launcher_creation_policy=_WAIT if by.waits else "",
    )


def starter(job: Job, kubernetes: KubernetesSite, common: Common, many_pods: bool) -> tuple[str, ...]:
    """The command line that starts the ranks, up to what each of them runs."""
    mpi = job.container.mpi or kubernetes.mpi
    ranks = str(common.nodes * common.ranks_per_node)
    found = _open_mpi(ranks, many_pods) if mpi == "openmpi" else _hydra(mpi, common, ranks, many_pods)
    if common.container is not None and common.container.workdir:
        found += ["-wdir", common.container.workdir]
    return tuple(found)


def settings(
    job: Job, kubernetes: KubernetesSite, by: Served | None
) -> tuple[tuple[Option, ...], tuple[Option, ...]]:
    """Of the launcher's text, and of the workers'. `by` None: one pod."""
    mpi = job.container.mpi or kubernetes.mpi
    launch = [Option(f"mpi={mpi}")]
    if by is None:
        return tuple(launch), ()
    launch.append(Option(f"hosts={HOSTFILE}"))
    if not by.waits:
        launch.append(Option(f"wait={kubernetes.worker_wait}", "seconds that workers may take to be there"))
    if not by.ssh:
        return tuple(launch), ()
    port = Option(f"port={kubernetes.sshd.port}")
    shared = [Option(f"keys={keys(kubernetes)}")]
    if kubernetes.sshd.kit:
        shared.append(Option(f"kit={kubernetes.sshd.folder}", "ssh and sshd, which the image has not"))
    if kubernetes.run_as:
        shared.append(Option(f"home={kubernetes.run_as.home}"))
    return (*launch, Option(f"ssh={kubernetes.sshd.port}"), *shared), (port, *shared)


def run_policy(job: Job, site: Site, common: Common, mpi: MpiJob | None, found: Findings) -> RunPolicy:
    """How pods end. A gang is the workers where the launcher comes after them, else all pods: a gang that
    waits for a launcher which waits for the workers would never start."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    hints = of_site(job, site)
    deadline = common.minutes * 60 if common.minutes and mpi else None
    why = ""
    waits = mpi is not None and bool(mpi.launcher_creation_policy)
    if deadline is not None:
        why = "from the launcher's start, which is when the workers are ready"
        if not waits:
            since = known.feature_since("launcherCreationPolicy")
            why = "from the launcher's start: the time that workers wait for nodes counts"
            found.warnings.append(
                "the time limit counts from when the launcher starts, so also while workers wait for nodes: "
                f"launcherCreationPolicy came with MPI operator {since}"
            )
    gang = kubernetes.gang if mpi and _heeds(kubernetes, mpi.api, _GANG) else None
    least = None if gang is None or mpi is None else mpi.workers + (0 if waits else 1)
    ttl = _ttl(kubernetes, mpi, found)
    if mpi is not None and not _heeds(kubernetes, mpi.api, _DEADLINE):
        deadline = None
    return RunPolicy(
        clean_pod_policy=kubernetes.clean_pods,
        ttl_s=ttl,
        active_deadline_s=deadline,
        deadline_why=why,
        min_available=least,
        queue=gang.queue or "" if gang else "",
        priority_class=(hints.priority_class or kubernetes.priority_class or "") if gang else "",
    )


def queue_annotation(site: Site, mpi: MpiJob | None) -> tuple[tuple[str, str], ...]:
    """Where the operator reads the gang's queue when it does not look at schedulingPolicy."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    gang = kubernetes.gang
    if mpi is None or gang is None or gang.queue is None or _heeds(kubernetes, mpi.api, _GANG):
        return ()
    return ((_QUEUE, gang.queue),)


def launcher_deadline(site: Site, common: Common, by: Served) -> int | None:
    """The time limit of the launcher's own pod, where the operator does not look at the job's."""
    assert site.kubernetes is not None
    return common.minutes * 60 if common.minutes and not _heeds(site.kubernetes, by.api, _DEADLINE) else None


def _ttl(kubernetes: KubernetesSite, mpi: MpiJob | None, found: Findings) -> int | None:
    """How long a finished job stays, where that can be said."""
    if mpi is not None and not _heeds(kubernetes, mpi.api, _TTL):
        message = f"the operator of {mpi.api} does not remove it (kubernetes.ttl)"
    elif mpi is None and not known.has_field(_TTL, kubernetes.version):
        message = f"Kubernetes removes it from {known.field_since(_TTL)} on (kubernetes.ttl)"
    else:
        return kubernetes.ttl
    found.warnings.append(f"the finished job stays until it is deleted: {message}")
    return None


def _heeds(kubernetes: KubernetesSite, api: str, field: str) -> bool:
    said = kubernetes.mpijob
    return (said is not None and said.operator == TRAINING_OPERATOR) or known.heeds(api, field)


def _api(kubernetes: KubernetesSite) -> MpiJobApi:
    """What the site says; else the newest that its operator serves."""
    if kubernetes.mpijob is not None:
        return kubernetes.mpijob
    api = known.api_of_jobs(None, kubernetes.mpi_operator)
    return MpiJobApi(api=api) if api is not None else MpiJobApi()  # type: ignore[arg-type]


def _has(kubernetes: KubernetesSite, feature: str) -> bool:
    """A site that names no version has the newest."""
    return kubernetes.mpi_operator is None or known.has_feature(feature, kubernetes.mpi_operator)


def _open_mpi(ranks: str, many_pods: bool) -> list[str]:
    where = ["--hostfile", HOSTFILE, "--map-by", "slot"] if many_pods else ["--map-by", "slot:OVERSUBSCRIBE"]
    return ["mpirun", "-np", ranks, *where, "--bind-to", "none", "--tag-output"]


def _hydra(mpi: str, common: Common, ranks: str, many_pods: bool) -> list[str]:
    found = ["mpiexec.hydra" if mpi == "intel" else "mpiexec", "-n", ranks]
    if many_pods:
        found += ["-f", HOSTFILE, "-ppn", str(common.ranks_per_node)]
    if mpi == "intel":
        found += ["-genv", "I_MPI_PIN", "off"]
    return [*found, "-prepend-rank"]
