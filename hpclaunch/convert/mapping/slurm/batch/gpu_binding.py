"""Which GPUs each rank saw: --gpu-bind, --gpus-per-task and their like, of srun, sbatch and variables.

srun(1), --gpu-bind: --gpus-per-task and --ntasks-per-gpu bind each task to its own GPUs where nothing else
is said, and sbatch hands both on to the script's sruns (sbatch(1), "OUTPUT ENVIRONMENT VARIABLES").
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch.asked import Asked

_WHY = "all of the job's GPUs are visible to each rank, which NVLink and CUDA IPC need"
_FIRST = "a program that takes device 0 in each rank must take the one of its local rank instead"
# In the batch script they say how many GPUs there are, which is told as such.
_COUNTS = frozenset(("gpus-per-task", "ntasks-per-gpu"))
NAMES = _COUNTS | {"gpu-bind", "tres-bind"}
_LISTS = re.compile(r"(?:v|verbose)?,?(?:map|mask)(?:_gpu)?:|.*:(?:map|mask):")


def put(own: Sequence[Asked], batch: Sequence[Asked], draft: Draft) -> None:
    """Say that each rank sees all GPUs. `own` are the options of the run and its variables, `batch` those of
    sbatch."""
    binds = [each for each in (*batch, *own) if each.name == "gpu-bind"]
    free = bool(binds) and (binds[-1].text or "").rpartition(",")[2] == "none"
    told = [each for each in own if each.name in NAMES]
    told += [each for each in batch if each.name in _COUNTS and not free]
    for each in told:
        say(each, draft, free=free)


def say(each: Asked, draft: Draft, *, free: bool) -> None:
    """The finding about one option; `free`: each rank saw all of them in the original too."""
    if each.name in _COUNTS and each.text == "0":
        draft.say("replaced", each.places, each.written, why="a job without GPUs says so in gpus_per_node")
        return
    draft.say("replaced", each.places, each.written, why=_WHY, todo="" if free else _todo(each))


def _todo(each: Asked) -> str:
    if each.text and _LISTS.match(each.text):
        return (
            f"a program must take the device that {each.written} gave to its local rank, by its number there"
        )
    return _FIRST
