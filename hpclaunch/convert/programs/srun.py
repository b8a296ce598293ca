"""The command lines of srun, sbatch and salloc: their options and Pyxis's, and what they start."""

import re
from collections.abc import Sequence

from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.readback.shell.values import Unknown, Value, known, program_of
from hpclaunch.readback.slurm.options import options

# salloc's letters are those of sbatch, but for -K, which ends its command and starts nothing.
_TABLE = {"srun": "srun", "sbatch": "sbatch", "salloc": "sbatch"}
# What tells how many tasks there are, and which GPUs.
TELL_TASKS = ("ntasks", "ntasks-per-node", "ntasks-per-gpu")
TELL_GPUS = ("gres", "gpus", "gpus-per-node", "gpus-per-task")
# What options of srun say of a job: the key of its file.
KEYS: dict[str, tuple[str, ...]] = {
    "nodes": ("nodes",),
    **dict.fromkeys(TELL_TASKS, ("ranks_per_node",)),
    **dict.fromkeys(TELL_GPUS, ("gpus_per_node",)),
    "mpi": ("mpi",),
    "container-image": ("image",),
    "container-workdir": ("workdir",),
    "cpu-bind": ("bind", "cpus"),
    "mem-bind": ("bind", "memory"),
    "multi-prog": ("command",),
}

# What `mpi` of a job may be.
MPI_KINDS = frozenset(("pmix", "pmi2", "none"))
# What a variable with a script is named, and a word that names no file by its looks.
_OF_SCRIPT = re.compile(r"(?:^|_)SCRIPT(?:_?(?:FILE|NAME|PATH))?$", re.IGNORECASE)
_NO_SCRIPT = re.compile(r"[\w-]*")
_WITH_RELEASE = re.compile(r"^(pmix)_v\d+$")


def mpi_kind(text: str) -> str:
    """The value of --mpi without the release of its plugin: pmix for pmix_v4."""
    return _WITH_RELEASE.sub(r"\1", text)


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The options, and the command of srun, the script of sbatch with its arguments, or the command of
    salloc. An option that is not known has the name ""."""
    program = program_of(words)
    table = _TABLE.get(program)
    if table is None:
        return Layer(""), list(words)
    given, rest = options(table, words[1:])
    if program == "sbatch" and given and _is_script(given[-1].name, given[-1].value, rest):
        given, rest = given[:-1], [given[-1].value or (), *rest]
    return Layer(program, tuple(Option(each.name, each.value, each.written) for each in given)), rest


def _is_script(name: str, value: Value | None, rest: Sequence[Value]) -> bool:
    """Whether what is taken for an option is the script itself, of which nothing is told but that the
    variable is named like one; what stands behind it looks like none: sbatch $JOB_SCRIPT FAST"""
    part = value[0] if value and len(value) == 1 else ""
    if name or not rest or not isinstance(part, Unknown) or not _OF_SCRIPT.search(part.name):
        return False
    text = known(rest[0])
    return text is not None and _NO_SCRIPT.fullmatch(text) is not None
