"""What a job asks for and Kubernetes cannot give, whatever the cluster is."""

from hpclaunch.plan import gpukind
from hpclaunch.plan.environment import RENDEZVOUS
from hpclaunch.plan.image import is_reference
from hpclaunch.spec.job import Job, TrialsSpec
from hpclaunch.spec.scalars import shown
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import Problem
from hpclaunch.values.image import is_file

# Names of the pod itself, of mpirun and of the rank wrapper.
_PODS = ("PATH", "HOME", "HOSTNAME", "TERM", "IFS", "K_MPI_JOB_ROLE", "OPAL_PREFIX", "I_MPI_PERHOST")
_RUNTIMES = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
_PREFIXES = (
    *("KUBERNETES_", "HPCLAUNCH_", "PRTE_", "PMI_", "HYDRA_", "I_MPI_HYDRA_"),
    *("OMPI_COMM_WORLD_", "OMPI_MCA_orte_", "OMPI_MCA_plm", "PMIX_"),
)
_ALLOWED = "PMIX_MCA_"  # settings of PMIx, where the other names are what it tells a rank
_HCAS = ("NCCL_IB_HCA", "UCX_NET_DEVICES", "OMPI_MCA_btl_openib_if_include")

_ELSE = {"inherit": "set it in env", "secrets": "give the secret another name"}  # env would show it


def problems(job: Job, site: Site) -> list[Problem]:
    """All of it at once."""
    found: list[Problem] = []

    def refuse(message: str, *path: str | int) -> None:
        found.append(Problem(message, "job", tuple(path)))

    name = job.image_name
    if name is None:
        refuse(f"site {site.name} runs containers alone: the job needs an image", "image")
        return found
    if is_file(name):
        refuse(
            f"{name} is a squashfs file, which Enroot alone reads: push the image to a registry, from "
            "which both schedulers take it",
            "image",
        )
    elif name.startswith("dockerd://"):
        refuse("dockerd:// is an image of one machine's daemon: push it to a registry", "image")
    elif not is_reference(name.removeprefix("docker://")):
        refuse(f"{shown(name)} is no reference like nvcr.io/nvidia/pytorch:24.07-py3", "image")
    if job.workdir is not None and not job.workdir.startswith("/"):
        refuse(f"{shown(job.workdir)} must begin with /: pods have no other working folder", "workdir")
    container = job.container
    if container.mount_home:
        refuse("no home folder can be mounted: a cluster's nodes know no users", "container", "mount_home")
    if container.entrypoint:
        message = "the image's entrypoint does not run: the command of the pods starts the ranks in its place"
        refuse(f"{message}; call it in `command`", "container", "entrypoint")
    if container.save is not None:
        refuse("a pod's root filesystem cannot be saved: build the image elsewhere", "container", "save")
    if job.fabric.sharp:
        refuse("SHARP is asked of Slurm and Enroot: there is no way to ask for it here", "fabric", "sharp")
    if gpukind.slices(job, site) and (job.gpus_per_node or 1) > 1:
        refuse(
            "a pod with several MIG slices shows them all to each rank, and CUDA takes the first: ask for "
            "one slice per node, and as many nodes (sites.SITE.share_nodes) as slices",
            "gpus_per_node",
        )
    return found + _names(job)


def warnings(job: Job, site: Site) -> list[str]:
    """What has no effect."""
    found = []
    if job.locality == "unit" and job.nodes > 1:
        found.append(
            "locality: unit has no effect: Kubernetes knows nothing of scalable units; label their nodes and "
            "choose by node_types.selector"
        )
    if gpukind.slices(job, site):
        found.append(
            f"the ranks are not bound: which slices of {job.gpu_type} come is known only when the job runs"
        )
    if job.container.env:
        found.append("container.env has no effect: on pods the job's variables always win over the image's")
    if isinstance(job.trials, TrialsSpec) and job.trials.log is not None:
        found.append(
            "trials.log has no effect: the launcher's log has all trials, each after its line `trial N of M`"
        )
    if job.container.hcas is not None:
        found.append("container.hcas has no effect: pods have the HCAs that the device plugin gives them")
    return found


def image(text: str) -> str:
    """The reference as the kubelet takes it: Enroot's registry#name is registry/name, docker:// goes."""
    name = text.removeprefix("docker://")
    _, at, rest = name.partition("@")
    if at and "#" in rest:
        name = rest  # Enroot's user@, whose password is in a file of the submitter's
    return name.replace("#", "/", 1)


def _names(job: Job) -> list[Problem]:
    """Inherited and secret variables that cannot go through a pod. Their values lie in a Secret, so the pod
    has them from its start, and mpirun hands them on by name. What the pod, mpirun or the rank wrapper has of
    its own under that name would be changed, or be what the ranks get. `env` may have any name: the wrapper
    sets it last.
    """
    own = {*_PODS, *_RUNTIMES}
    own |= {*RENDEZVOUS} if job.rendezvous == "torch" else set()
    own |= {*_HCAS} if job.bind.hcas != "none" else set()
    refused = {"PATH", *RENDEZVOUS}  # as secrets, on every site
    return [
        Problem(
            f"{name} cannot go through a pod, which has its own before the ranks: {_ELSE[key]}",
            "job",
            (key, index),
        )
        for key, names in (("inherit", job.inherit), ("secrets", job.secrets))
        for index, name in enumerate(names)
        if name not in job.env and (name in own or name.startswith(_PREFIXES))
        if not name.startswith(_ALLOWED)
        if not (key == "secrets" and name in refused)
    ]
