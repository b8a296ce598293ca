"""Which of the inputs is the script that is submitted or run."""

import re
from collections.abc import Sequence

from hpclaunch.convert.programs.names import (
    BY_MPI,
    BY_TORCH,
    CONTAINERS,
    IMPORTERS,
    REMOTE,
    STEPS,
    SUBMITTERS,
    any_of,
)
from hpclaunch.convert.reading import Source


def _started(*programs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"^[^#\n]*\b{any_of(*programs)}\b", re.MULTILINE)


_SIGNS = (
    (re.compile(r"^#SBATCH\s", re.MULTILINE), 8),
    (re.compile(r"^#(?:PBS|BSUB|\$) ", re.MULTILINE), 8),
    (_started(STEPS, SUBMITTERS), 4),
    (_started(BY_MPI, CONTAINERS), 2),
    (_started(BY_TORCH, IMPORTERS, REMOTE, ("python", "python3")), 1),
)


def chosen(sources: Sequence[Source]) -> str:
    """The name of the script, "" where none of them starts anything."""
    weights = {
        source.name: sum(weight for sign, weight in _SIGNS if sign.search(source.text)) for source in sources
    }
    best = max(weights.values(), default=0)
    return next((name for name, weight in weights.items() if weight == best), "") if best else ""
