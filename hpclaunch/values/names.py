"""Names of environment variables that mean something to the programs which start a job."""

_PREFIXES = ("SBATCH_", "SLURM_", "SRUN_", "SPANK_", "_SLURM_", "PYXIS_", "ENROOT_", "LD_", "BASH_FUNC_")
_WHOLE = ("BASH_ENV", "ENV")


def acts_on_commands(name: str) -> bool:
    """Whether a variable of that name, in the shell that submits, changes what sbatch, srun, Pyxis, the
    loader or bash do, without a trace in the script."""
    return name.startswith(_PREFIXES) or name in _WHOLE
