"""Inherited and secret variables that cannot go through a pod. Their values lie in a Secret, so the pod has
them from its start, and mpirun hands them on by name. What the pod, mpirun or the rank wrapper has of its own
under that name would be changed, or be what the ranks get. `env` may have any name: the wrapper sets it last.
"""

from hpclaunch.plan.environment import RENDEZVOUS
from hpclaunch.spec.job import Job
from hpclaunch.values.errors import Problem

_PODS = ("PATH", "HOME", "HOSTNAME", "TERM", "IFS", "K_MPI_JOB_ROLE", "OPAL_PREFIX", "I_MPI_PERHOST")
_RUNTIMES = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
_PREFIXES = (
    *("KUBERNETES_", "HPCLAUNCH_", "PRTE_", "PMI_", "HYDRA_", "I_MPI_HYDRA_"),
    *("OMPI_COMM_WORLD_", "OMPI_MCA_orte_", "OMPI_MCA_plm", "PMIX_"),
)
_ALLOWED = "PMIX_MCA_"  # settings of PMIx, where the other names are what it tells a rank
_HCAS = ("NCCL_IB_HCA", "UCX_NET_DEVICES", "OMPI_MCA_btl_openib_if_include")

_ELSE = {"inherit": "set it in env", "secrets": "give the secret another name"}  # env would show it


def problems(job: Job) -> list[Problem]:
    """One for each such name, where `env` does not set it."""
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
