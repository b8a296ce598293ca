"""Names of environment variables that mean something to the programs which start a job."""

# The number of a trial, in the ranks and steps that belong to one.
TRIAL = "HPCLAUNCH_TRIAL"
# The index of a task of a job array. Scripts and programs read it: nothing of Slurm's takes it for a setting
# ("INPUT ENVIRONMENT VARIABLES" of sbatch(1) and srun(1)), so the ranks of a point may have one of their own.
ARRAY_TASK = "SLURM_ARRAY_TASK_ID"
# How Slurm's PMIx plugin goes from node to node, which slurmstepd reads (pmixp_common.h).
PMIX_FENCE = "SLURM_PMIX_FENCE"
_PREFIXES = ("SBATCH_", "SLURM_", "SRUN_", "SPANK_", "_SLURM_", "PYXIS_", "ENROOT_", "LD_", "BASH_FUNC_")
_WHOLE = ("BASH_ENV", "ENV")

# Hooks of the container runtime, the MPI plugin and daemons read these before the rank's own process exists.
HOST_PREFIXES = ("NVIDIA_", "MELLANOX_", "ENROOT_", "OMPI_MCA_", "PRTE_MCA_", "PMIX_")


def acts_on_commands(name: str) -> bool:
    """Whether a variable of that name, in the shell that submits, changes what sbatch, srun, Pyxis, the
    loader or bash do, without a trace in the script."""
    return name.startswith(_PREFIXES) or name in _WHOLE


def acts_on_host(name: str) -> bool:
    """Whether something around the ranks reads a variable of that name: what starts them, or a hook."""
    return name != ARRAY_TASK and (acts_on_commands(name) or name.startswith(HOST_PREFIXES))
