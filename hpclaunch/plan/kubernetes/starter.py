"""The command that starts the ranks: mpirun of the image's MPI, and the settings of the text that runs it."""

from hpclaunch.plan.kubernetes import mpijob
from hpclaunch.plan.kubernetes.mpijob import Served
from hpclaunch.spec.job import Job
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.values.launchplan import Common
from hpclaunch.values.words import Option

# Where the rank wrapper finds its number, by the MPI that starts it.
RANKS_FROM = {"openmpi": "openmpi", "intel": "hydra", "mpich": "hydra"}

# The setting of a launcher whose one rank no mpirun starts.
WITHOUT_MPI = Option("mpi=none", "the pod has one rank, which the text starts itself")


def words(job: Job, kubernetes: KubernetesSite, common: Common, many_pods: bool) -> tuple[str, ...]:
    """The command line up to what each rank runs."""
    mpi = job.container.mpi or kubernetes.mpi
    ranks = str(common.nodes * common.ranks_per_node)
    if mpi == "openmpi":
        return _open_mpi(common, ranks, many_pods)
    return _hydra(mpi, common, ranks, many_pods)


def settings(
    job: Job, kubernetes: KubernetesSite, served: Served | None
) -> tuple[tuple[Option, ...], tuple[Option, ...]]:
    """Of the launcher's text, and of the workers'. `served` None: one pod."""
    mpi = job.container.mpi or kubernetes.mpi
    launch = [Option(f"mpi={mpi}")]
    if served is None:
        return tuple(launch), ()
    launch.append(Option(f"hosts={mpijob.HOSTFILE}"))
    if not served.waits:
        launch.append(Option(f"wait={kubernetes.worker_wait}", "seconds that workers may take to be there"))
    if not served.ssh:
        return tuple(launch), ()
    port = Option(f"port={kubernetes.sshd.port}")
    shared = [Option(f"keys={mpijob.keys(kubernetes)}")]
    if kubernetes.sshd.kit:
        shared.append(Option(f"kit={kubernetes.sshd.folder}", "ssh and sshd, which the image has not"))
    if kubernetes.run_as:
        shared.append(Option(f"home={kubernetes.run_as.home}"))
    return (*launch, Option(f"ssh={kubernetes.sshd.port}"), *shared), (port, *shared)


def _open_mpi(common: Common, ranks: str, many_pods: bool) -> tuple[str, ...]:
    found = ["mpirun", "-np", ranks]
    if many_pods:
        found += ["--hostfile", mpijob.HOSTFILE]
        found += ["--map-by", "slot"]
    else:
        found += ["--map-by", "slot:OVERSUBSCRIBE"]
    found += ["--bind-to", "none", "--tag-output"]
    if common.container is not None and common.container.workdir:
        found += ["-wdir", common.container.workdir]
    return tuple(found)


def _hydra(mpi: str, common: Common, ranks: str, many_pods: bool) -> tuple[str, ...]:
    found = ["mpiexec.hydra" if mpi == "intel" else "mpiexec", "-n", ranks]
    if many_pods:
        found += ["-f", mpijob.HOSTFILE]
        found += ["-ppn", str(common.ranks_per_node)]
    if mpi == "intel":
        found += ["-genv", "I_MPI_PIN", "off"]
    found.append("-prepend-rank")
    if common.container is not None and common.container.workdir:
        found += ["-wdir", common.container.workdir]
    return tuple(found)
