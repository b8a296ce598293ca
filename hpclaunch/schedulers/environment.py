"""The closed environment of every command that reaches a scheduler, and of every script that starts.

What the submitter's shell happens to hold (SBATCH_TIMELIMIT, SLURM_CPU_BIND, LD_PRELOAD, PYXIS_*) would
change the job without a trace in its script. Only what is listed here passes, and the job's `inherit`.
"""

from collections.abc import Mapping

from hpclaunch.values.errors import InputError, Problem

BASE = ("PATH", "HOME", "USER", "LOGNAME")
COMMAND_PREFIXES = (
    "SBATCH_",
    "SLURM_",
    "SRUN_",
    "SPANK_",
    "_SLURM_",
    "PYXIS_",
    "ENROOT_",
    "LD_",
    "BASH_FUNC_",
)
COMMAND_NAMES = ("BASH_ENV", "ENV")


def closed(
    environ: Mapping[str, str], inherited: Mapping[str, str], slurm_conf: str | None
) -> dict[str, str]:
    """The environment for a scheduler's command: BASE of `environ`, and `inherited` above it.

    Raises InputError where a name in `inherited` would act on the scheduler's commands instead of the
    job's ranks.
    """
    problems = [
        Problem(
            f"{name} cannot be inherited: it would change how the scheduler starts the job. "
            "Set it in env: where the ranks need it",
            "job",
            ("inherit",),
        )
        for name in inherited
        if name.startswith(COMMAND_PREFIXES) or name in COMMAND_NAMES
    ]
    if problems:
        raise InputError(problems)
    result = {name: environ[name] for name in BASE if name in environ}
    result.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    result["LANG"] = "C.UTF-8"
    if slurm_conf:
        result["SLURM_CONF"] = slurm_conf
    result.update(inherited)
    return result
