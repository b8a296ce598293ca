"""The closed environment of every command that reaches a scheduler, and of every script that starts.

What the submitter's shell happens to hold (SBATCH_TIMELIMIT, SLURM_CPU_BIND, LD_PRELOAD, PYXIS_*) would
change the job without a trace in its script. Only what is listed here passes, and the job's `inherit`.
"""

from collections.abc import Mapping

BASE = ("PATH", "HOME", "USER", "LOGNAME")


def closed(
    environ: Mapping[str, str], inherited: Mapping[str, str], slurm_conf: str | None
) -> dict[str, str]:
    """The environment for a scheduler's command: BASE of `environ`, and `inherited` above it.

    The plan has refused names in `inherited` that act on the scheduler's own commands.
    """
    result = {name: environ[name] for name in BASE if name in environ}
    result.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    result["LANG"] = "C.UTF-8"
    if slurm_conf:
        result["SLURM_CONF"] = slurm_conf
    result.update(inherited)
    return result
