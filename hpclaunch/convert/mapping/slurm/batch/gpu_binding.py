"""Which GPUs each rank saw: --gpu-bind, --gpus-per-task and their like, of srun, sbatch and variables.

srun(1), --gpu-bind: --gpus-per-task and --ntasks-per-gpu bind each task to its own GPUs where nothing else
is said, and sbatch hands both on to the script's sruns (sbatch(1), "OUTPUT ENVIRONMENT VARIABLES").
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.mapping.slurm.numbers.sizes import OF_GPUS
from hpclaunch.convert.programs.slurm_variables import OF_GPUS as SET_BY_SLURM

_WHY = "all of the job's GPUs are visible to each rank, which NVLink and CUDA IPC need"
_FIRST = "a program that takes device 0 in each rank must take the one of its local rank instead"
# Whose GPUs a variable is for: sites set it by their kind of GPU, and some beside those of other vendors.
_VENDORS = {"ROCR_VISIBLE_DEVICES": " of AMD", "ZE_AFFINITY_MASK": " of Intel"}
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


def say_visible(asked: Sequence[Asked], draft: Draft) -> None:
    """Say of GPUs that the script chose for its ranks that those of the original had others: srun sets the
    variable anew where it gives GPUs (gres_common_gpu_set_env in src/plugins/gres/common/gres_common.c), all
    of them or the vendor's alone, by gres.conf's Flags and AutoDetect (gres.conf(5))."""
    gives = any(each.name in OF_GPUS and "gpu" in f"{each.name} {each.text}" for each in asked)
    for name in sorted(SET_BY_SLURM):
        fact = draft.facts.get(("env", name))
        if fact is None or fact.is_open or not gives:
            continue
        why = (
            f"where Slurm gives GPUs{_VENDORS.get(name, '')} srun sets it anew in each rank, whatever the "
            "script exports, and most likely the ranks of the original had Slurm's: in the job they see these"
        )
        todo = f"take {name} out of env where the ranks are to see all of the job's GPUs"
        what = f"{name}={fact.value}"
        draft.say("question", fact.places, what, became=f"env.{name}", why=why, todo=todo)


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
