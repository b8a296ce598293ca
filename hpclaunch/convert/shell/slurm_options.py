"""Variables that Slurm gives a job where an option of sbatch asks for something, and in no other job
(sbatch(1), "OUTPUT ENVIRONMENT VARIABLES")."""

import re
from collections.abc import Sequence
from functools import lru_cache

from hpclaunch.convert.reading import Source

OF_ARRAYS = tuple(
    f"SLURM_ARRAY_{name}" for name in ("JOB_ID", "TASK_COUNT", "TASK_ID", "TASK_MAX", "TASK_MIN", "TASK_STEP")
)
# What gives a job an array beside the option.
BY_VARIABLE = "SBATCH_ARRAY_INX"
# By the option that gives them, with its letter.
_OPTIONS = {
    **dict.fromkeys(OF_ARRAYS, "array a"),
    "SLURM_CPUS_PER_GPU": "cpus-per-gpu",
    "SLURM_CPUS_PER_TASK": "cpus-per-task c",
    "SLURM_DISTRIBUTION": "distribution m",
    "SLURM_GPUS": "gpus G",
    "SLURM_GPUS_PER_NODE": "gpus-per-node",
    "SLURM_GPUS_PER_SOCKET": "gpus-per-socket",
    "SLURM_GPUS_PER_TASK": "gpus-per-task",
    "SLURM_HINT": "hint",
    "SLURM_JOB_DEPENDENCY": "dependency d",
    "SLURM_JOB_RESERVATION": "reservation",
    "SLURM_MEM_PER_CPU": "mem-per-cpu",
    "SLURM_MEM_PER_GPU": "mem-per-gpu",
    "SLURM_MEM_PER_NODE": "mem",
    "SLURM_NTASKS_PER_CORE": "ntasks-per-core",
    "SLURM_NTASKS_PER_GPU": "ntasks-per-gpu",
    "SLURM_NTASKS_PER_NODE": "ntasks-per-node",
    "SLURM_NTASKS_PER_SOCKET": "ntasks-per-socket",
    "SLURM_PROFILE": "profile",
    "SLURM_RESTART_COUNT": "",  # of a job that Slurm has started once more
    "SLURM_THREADS_PER_CORE": "threads-per-core",
}
_DIRECTIVE = re.compile(r"^#SBATCH.*$", re.MULTILINE)
_SUBMITS = re.compile(r"^[^#\n]*\b(?:sbatch|salloc|SBATCH_\w+)\b", re.MULTILINE)


def option_of(name: str) -> str:
    """The long name of sbatch's option by which Slurm sets the variable; "" where none does."""
    return _OPTIONS.get(name, "").partition(" ")[0]


def is_unset(name: str, sources: Sequence[Source]) -> bool:
    """Whether no line of the input asks sbatch for what would give the job this variable."""
    option = _OPTIONS.get(name)
    if option is None:
        return False
    long, _, letter = option.partition(" ")
    ways = [rf"--{long}(?![\w-])"] if long else []
    ways += [rf"(?<!\S)-{letter}"] if letter else []
    ways += [BY_VARIABLE] if name in OF_ARRAYS else []
    if not ways:
        return True
    asks = re.compile("|".join(ways))
    return not any(asks.search(line) for each in sources for line in _lines(each.text))


@lru_cache(maxsize=16)
def _lines(text: str) -> tuple[str, ...]:
    """Those that say what a submission asks for; of a text that submits all."""
    return (text,) if _SUBMITS.search(text) else tuple(_DIRECTIVE.findall(text))
