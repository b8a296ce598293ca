"""Which of the inputs is the script that is submitted or run."""

import re
from collections.abc import Sequence

from hpclaunch.convert.reading import Source

_SIGNS = (
    (re.compile(r"^#SBATCH\s", re.MULTILINE), 8),
    (re.compile(r"^#(?:PBS|BSUB|\$) ", re.MULTILINE), 8),
    (re.compile(r"^[^#\n]*\b(?:srun|sbatch|salloc)\b", re.MULTILINE), 4),
    (
        re.compile(
            r"^[^#\n]*\b(?:mpirun|mpiexec|nvidia-docker|docker|singularity|apptainer)\b", re.MULTILINE
        ),
        2,
    ),
    (re.compile(r"^[^#\n]*\b(?:torchrun|python3?|enroot|ssh)\b", re.MULTILINE), 1),
)


def chosen(sources: Sequence[Source]) -> str:
    """The name of the script, "" where none of them starts anything."""
    weights = {
        source.name: sum(weight for sign, weight in _SIGNS if sign.search(source.text)) for source in sources
    }
    best = max(weights.values(), default=0)
    return next((name for name, weight in weights.items() if weight == best), "") if best else ""
