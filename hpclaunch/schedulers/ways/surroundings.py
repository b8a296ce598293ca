"""The environment of a job that sbatch does not send: what sbatch would have made of the closed one."""

import os
import socket
from collections.abc import Mapping

from hpclaunch.schedulers.environment import closed


def job_environment(inherited: Mapping[str, str], slurm_conf: str | None, name: str) -> dict[str, str]:
    """The variables that the script starts with, but for those that slurmd sets. Those of Slurm are what
    sbatch sets (`_opt_verify` and `_set_submit_dir_env` in src/sbatch, tags 20.11 to 26.05), and no
    SLURM_RLIMIT_*: as with --propagate=NONE, the node's limits hold."""
    return {
        **closed(os.environ, inherited, slurm_conf),
        "SLURM_JOB_NAME": name,
        "SLURM_PRIO_PROCESS": str(os.getpriority(os.PRIO_PROCESS, 0)),
        "SLURM_SUBMIT_DIR": "/",
        "SLURM_SUBMIT_HOST": socket.gethostname(),
        "SLURM_UMASK": f"{_umask():04o}",
    }


def _umask() -> int:
    """This process's own, which only /proc tells without changing it."""
    try:
        with open("/proc/self/status", encoding="utf-8", errors="replace") as status:
            return next(int(line.split()[1], 8) for line in status if line.startswith("Umask:"))
    except (OSError, StopIteration):
        return 0o022
