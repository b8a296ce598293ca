"""What the script asks Slurm's programs for, and a variable of Slurm's tells as well."""

import re

from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.values import Value

NODES = "SLURM_NNODES"
_LIST = r'"?\$\{?SLURM_(?:JOB_)?NODELIST\}?"?'
# The hosts of the job line by line, and how many lines those are; without a list it is the job's own.
_COUNTED = rf"scontrol\s+show\s+hostnames?(?:\s+{_LIST})?\s*\|\s*wc\s+(?:-[lw]|--lines|--words)"
_COUNT = re.compile(rf"\$\({_COUNTED}\)")
_NAMED = re.compile(rf"{_COUNTED}|\$\{{#\w+\[[@*]\]\}}")  # or the elements of an array of them


def asks_for_nodes(text: str) -> bool:
    """Whether a script counts the hosts of its job."""
    return "scontrol" in text and _NAMED.search(text) is not None


def told(state: State, output: str) -> Value | None:
    """What a $(...) of this text writes, None where no variable tells it."""
    if not _COUNT.fullmatch(output):
        return None
    variable = state.get(NODES)
    if variable is None or isinstance(variable.value, Array):
        return None
    return variable.value
