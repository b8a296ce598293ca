"""Whose a variable is: of what starts the ranks, of the shell or of the image, and not the job's own.

What becomes of one depends on how the original handed it on, and is said there (`exported`, `handed_on`, and
`environment` of manifests).
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from hpclaunch.convert.mapping.ranks import mpi, rendezvous
from hpclaunch.convert.mapping.slurm.batch.asked import NODES, TIME
from hpclaunch.convert.programs import singularity
from hpclaunch.convert.programs.slurm_variables import is_slurms
from hpclaunch.spec.scalars import SHELL_OWNED

Owner = Literal[
    "",  # the job's own, as far as names tell
    "sbatch",
    "srun",
    "pyxis",
    "mpirun",
    "daemons",  # parameters of what mpirun starts on other nodes
    "rendezvous",
    "addresses",
    "enroot",
    "runtime",
    "shell",
    "login",
    "image",
    "configuration",
    "gpus",
    "hcas",
]


class _Row(Struct, frozen=True):
    """Names of one owner, whole or by how they begin."""

    owner: Owner
    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()


def _row(owner: Owner, text: str) -> _Row:
    """NAME and PREFIX* in a text."""
    words = text.split()
    whole = frozenset(word for word in words if not word.endswith("*"))
    return _Row(owner, whole, tuple(word[:-1] for word in words if word.endswith("*")))


def _rows() -> Iterator[_Row]:
    # sbatch(1), "Input environment variables": sbatch alone reads them.
    yield _row("sbatch", "SBATCH_*")
    # Of srun and its plugins (srun(1), srun/opt.c, spank(7)), as Slurm's own are: SRUN_ARGS and its like are
    # the script's. The rest is set in ranks by its plugins for PMI-2 and PMIx (pmix_server.h, PMI(1)).
    yield _row("srun", "SRUN_CONTAINER SRUN_CONTAINER_ID SRUN_CPUS_PER_TASK SRUN_DEBUG SRUN_EXPORT_ENV")
    yield _row("srun", "SRUN_SEGMENT_SIZE SPANK_* PMIX_RANK PMIX_NAMESPACE PMIX_SERVER_*")
    yield _row("srun", "PMI_RANK PMI_SIZE PMI_FD PMI_ID PMI_JOBID PMI_SPAWNED")
    yield _row("srun", "PMIX_SECURITY_MODE PMIX_PTL_MODULE PMIX_GDS_MODULE PMIX_HOSTNAME PMIX_VERSION")
    # Pyxis's options by another way, since its release 0.21 (PYXIS_CONTAINER_IMAGE, ...; args.c).
    # And what Slurm calls the options of a plugin (src/common/spank.h).
    yield _row("pyxis", "PYXIS_* _SLURM_SPANK_OPTION_pyxis_*")
    # Set in each rank: mpirun(1) of Open MPI, "Exported environment variables"; MVAPICH2's and Intel MPI's
    # guides of the user.
    yield _row("mpirun", "OMPI_COMM_WORLD_* OMPI_UNIVERSE_* MV2_COMM_WORLD_* MPI_LOCALRANKID MPI_LOCALNRANKS")
    # Read by mpirun and its daemons: Intel MPI's reference ("Hydra environment variables"), MPICH's Hydra
    # wiki, prte_info; torchrun takes its options of PET_* (torch/distributed/argparse_util.py).
    yield _row("daemons", "I_MPI_HYDRA_* PRTE_MCA_plm* PET_*")
    # MPICH's are named one by one: HYDRA_FULL_ERROR and its like are of another Hydra (hydra.cc), in ranks.
    yield _row(
        "daemons", "HYDRA_BOOTSTRAP* HYDRA_LAUNCHER* HYDRA_CKPOINT* HYDRA_TOPO* HYDRA_HOST_FILE HYDRA_ENV"
    )
    yield _row(
        "daemons", "HYDRA_RMK HYDRA_DEFAULT_RMK HYDRA_BINDING HYDRA_IFACE HYDRA_DEMUX HYDRA_NAMESERVER"
    )
    yield _row("daemons", "HYDRA_PROXY_* HYDRA_BRANCH_COUNT HYDRA_PREPEND_RANK HYDRA_USIZE HYDRA_DEBUG")
    # What mpirun asks of root (orterun.c of Open MPI 4, prte_app.c of PRRTE).
    yield _row("daemons", "OMPI_ALLOW_RUN_AS_ROOT* PRTE_ALLOW_RUN_AS_ROOT*")
    # torch/distributed/run.py, "Environment Variables".
    yield _Row("rendezvous", frozenset((*rendezvous.COMPUTED, "GROUP_RANK")))
    # Names that launchers give the first node's address.
    yield _Row("addresses", frozenset(rendezvous.ADDRESSES))
    # Pyxis does not hand them on to Enroot (enroot_deny_env in pyxis_slurmstepd.c).
    yield _row("enroot", "ENROOT_*")
    # apptainer(1), "Environment variables".
    yield _Row("runtime", singularity.VARIABLES, ("SINGULARITYENV_", "APPTAINERENV_"))
    # bash(1), "Shell variables" and BASH_ENV; ENV is sh's.
    yield _row("shell", "BASH_ENV ENV PIPESTATUS BASH_FUNC_*")
    yield _Row("shell", SHELL_OWNED)
    # A login's: login(1), sshd(8).
    yield _row("login", "HOME USER PWD SHELL TERM HOSTNAME LOGNAME")
    # Pyxis never hands PATH on (enroot_deny_env); the others are in most images' own configuration.
    yield _row("image", "PATH LD_LIBRARY_PATH PYTHONPATH")
    # MLPerf's configurations: what they say is in the job's own keys.
    yield _Row("configuration", frozenset((*NODES, *TIME, "CONT", "NEXP", "DATESTAMP")))
    # The CUDA guide, "Environment variables"; the NVIDIA container toolkit's; NV_GPU is of nvidia-docker 1.
    yield _row("gpus", "CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES NV_GPU")
    yield _row("hcas", "NCCL_IB_HCA UCX_NET_DEVICES OMPI_MCA_btl_openib_if_include")


_ROWS = tuple(_rows())
_BY_NAME = {name: row.owner for row in reversed(_ROWS) for name in row.names}
_PREFIXES = tuple(prefix for row in _ROWS for prefix in row.prefixes)  # most names begin with none


def owner(name: str) -> Owner:
    """Whose the variable is, by the first row that has it."""
    for prefix in ("OMPI_MCA_", "PRTE_MCA_"):
        if name.startswith(prefix) and mpi.is_of_the_launch(name.removeprefix(prefix)):
            return "daemons"
    if is_slurms(name):
        return "srun"  # which reads it as an option, or sets it in ranks
    if not name.startswith(_PREFIXES):
        return _BY_NAME.get(name, "")
    return next((row.owner for row in _ROWS if name in row.names or name.startswith(row.prefixes)), "")
