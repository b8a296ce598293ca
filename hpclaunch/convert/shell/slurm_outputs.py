"""What the script asks programs for, and a variable of Slurm's tells as well."""

import re

from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.values import Value

NODES, GPUS = "SLURM_NNODES", "SLURM_GPUS_ON_NODE"
_LIST = r'"?\$\{?SLURM_(?:JOB_)?NODELIST\}?"?'
# The hosts of the job line by line, and how many lines those are; without a list it is the job's own.
_COUNTED = rf"scontrol\s+show\s+hostnames?(?:\s+{_LIST})?\s*\|\s*wc\s+(?:-[lw]|--lines|--words)"
_COUNT = re.compile(rf"\$\({_COUNTED}\)")
_NAMED = re.compile(rf"{_COUNTED}|\$\{{#\w+\[[@*]\]\}}")  # or the elements of an array of them
# A line for each GPU that the job has on the node.
_GPUS_COUNTED = re.compile(
    r"nvidia-smi\s+(?:-L|--list-gpus|--query-gpu=\w+\s+--format=csv,noheader)\s*\|\s*wc\s+(?:-l|--lines)"
)


def counts_gpus(output: str) -> bool:
    """Whether a $(...) of this text writes how many GPUs the job has on the node."""
    return _GPUS_COUNTED.fullmatch(output[2:-1]) is not None


def asked(text: str) -> set[str]:
    """The variables of Slurm's that tell what a script counts: the hosts of its job, the GPUs of its node."""
    nodes = "scontrol" in text and _NAMED.search(text) is not None
    gpus = "nvidia-smi" in text and _GPUS_COUNTED.search(text) is not None
    return {name for name, is_asked in ((NODES, nodes), (GPUS, gpus)) if is_asked}


def told(state: State, output: str) -> Value | None:
    """What a $(...) of this text writes, None where no variable tells it."""
    if _COUNT.fullmatch(output):
        name = NODES
    elif counts_gpus(output):
        name = GPUS
    else:
        return None
    variable = state.get(name)
    if variable is None or isinstance(variable.value, Array):
        return None
    return variable.value
