"""What is not compared: variables that are a scheduler's own, each pattern with the reason. A name that the
job sets itself is compared all the same.
"""

from collections.abc import Set
from fnmatch import fnmatchcase

_SHELLS = {
    "HOME": "the user's, by /etc/passwd of wherever the rank runs",
    "USER": "the same",
    "LOGNAME": "the same",
    "PWD": "shells set it; where a rank works is compared by itself",
    "OLDPWD": "the same",
    "SHLVL": "shells count themselves",
    "_": "shells put the command there that they start",
}
_SLURMS = {
    "SLURM*": "numbers and sizes of the job and the step, and what was asked of srun",
    "SRUN_*": "the same",
    "PMIX_*": "how a rank reaches its PMIx server, here slurmstepd",
    "CUDA_VISIBLE_DEVICES": "gres/gpu: the job's GPUs; in a pod there are no others",
    "GPU_DEVICE_ORDINAL": "the same",
    "ROCR_VISIBLE_DEVICES": "the same",
    "ZE_AFFINITY_MASK": "the same",
    "TMPDIR": "slurmd's TmpFS",
    "HYDRA_*": "from 23.11 on Slurm sets these for an mpirun within a step",
    "I_MPI_HYDRA_*": "the same",
    "OMPI_MCA_plm_*": "the same",
    "PRTE_MCA_plm_*": "the same",
    # Of the image. The container runtime reads them, before there is a rank. In a pod that is the device
    # plugin's to say, and the MPI operator empties those of the launcher, which has no GPU.
    "NVIDIA_VISIBLE_DEVICES": "read by the container runtime",
    "NVIDIA_DRIVER_CAPABILITIES": "the same",
}
_OPEN_MPIS = {
    "OMPI_COMM_WORLD_*": "mpirun: a rank's number; the wrapper tells it by names that both sides have",
    "OMPI_UNIVERSE_SIZE": "mpirun: the job's size and command",
    "OMPI_APP_CTX_NUM_PROCS": "the same",
    "OMPI_NUM_APP_CTX": "the same",
    "OMPI_FIRST_RANKS": "the same",
    "OMPI_COMMAND": "the same",
    "OMPI_ARGV": "the same",
    "OMPI_FILE_LOCATION": "mpirun: a folder for its daemons",
    "OMPI_MCA_orte_*": "mpirun's settings, the operator's and those of its options, for its daemons",
    "OMPI_MCA_plm*": "the same",
    "OMPI_MCA_ess*": "the same",
    "OMPI_MCA_pmix": "the same",
    "OMPI_MCA_initial_wdir": "the same",
    "OMPI_MCA_hwloc_base_binding_policy": "the same: --bind-to",
    "OMPI_MCA_rmaps_base_*": "the same: --map-by",
    "OMPI_MCA_mpi_oversubscribe": "the same",
    "OMPI_MCA_shmem_RUNTIME_QUERY_hint": "the same",
    "PMIX_*": "how a rank reaches its PMIx server, here orted",
    "HFI_NO_BACKTRACE": "set in orted by a library that Debian's Open MPI is linked to (PSM)",
    "IPATH_NO_BACKTRACE": "the same",
}
_HYDRAS = {
    "PMI_*": "mpiexec: a rank's number, and how it reaches its PMI server",
    "PMI2_*": "the same",
    "MPI_LOCAL*": "the same: the local rank",
    "HYDI_*": "mpiexec: of its control host",
    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME": "mpiexec: the name of the worker",
    "GFORTRAN_UNBUFFERED_PRECONNECTED": "mpiexec: so that a Fortran program's lines come at once",
}
_SESSIONS = {
    "SSH_CLIENT": "sshd: the session in which mpirun's daemon began",
    "SSH_CONNECTION": "the same",
    "MAIL": "the same",
    "SHELL": "the same",
}
_PODS = {
    "HOSTNAME": "the container runtime: the pod's name",
    "KUBERNETES_*": "the kubelet: how to reach the API server",
    "NVIDIA_VISIBLE_DEVICES": "the container runtime's, as above",
    "NVIDIA_DRIVER_CAPABILITIES": "the same",
}

SLURM = {**_SHELLS, **_SLURMS}
PODS = {**_SHELLS, **_OPEN_MPIS, **_HYDRAS, **_SESSIONS, **_PODS}


def compared(env: dict[bytes, bytes], patterns: dict[str, str], own: Set[str]) -> dict[str, bytes]:
    """The variables without those of the patterns; `own` are names that the job sets."""
    return {
        text: value
        for name, value in env.items()
        if (text := name.decode()) in own or not any(fnmatchcase(text, pattern) for pattern in patterns)
    }
