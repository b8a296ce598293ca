"""Variables of the script that srun takes for its sizes, where its own options do not say them."""

import re
from collections.abc import Sequence
from itertools import takewhile

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch.asked import of_batch
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.srun import TELL_TASKS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Place

# What srun takes for an option of its own: the option, the key of the job, and what is asked of it.
_SIZES = {
    "SLURM_NTASKS": ("ntasks", "ranks_per_node", "how many ranks on each node, and in all"),
    "SLURM_NTASKS_PER_NODE": ("ntasks-per-node", "ranks_per_node", "how many ranks on each node"),
    "SLURM_JOB_NUM_NODES": ("nodes", "nodes", "how many nodes the run has"),
    "SLURM_NNODES": ("nodes", "nodes", "how many nodes the run has"),
}
# Variables by which srun has the tasks of sbatch.
_OF_TASKS = {"SLURM_NTASKS": "ntasks", "SLURM_NTASKS_PER_NODE": "ntasks-per-node"}
# Both have them, and srun takes what is left (src/srun/opt.c).
_TAKEN = [re.compile(rf"(?:\bunset\b[^\n;&|]*\s|-u\s+){name}\b") for name in ("SLURM_NTASKS", "SLURM_NPROCS")]
_GIVE_N = "write -n beside it where fewer are meant (--ntasks=$SLURM_JOB_NUM_NODES for one on each node)"


def ask(reading: ShellReading, run: Step, draft: Draft) -> None:
    """SLURM_NTASKS of the script is -n of a srun that has none, SLURM_JOB_NUM_NODES and SLURM_NNODES its -N,
    and where nobody told sbatch of tasks SLURM_NTASKS_PER_NODE that option (srun(1), "INPUT ENVIRONMENT
    VARIABLES")."""
    if not _is_srun(run):
        return
    _ask_of_taken(reading, run, draft)
    given = {**dict(run.command.environment), **dict(run.command.prefix)}
    told = {each.name for each in (*run.asked, *of_batch(reading)) if each.name.startswith("ntasks")}
    for name, (option, key, question) in _SIZES.items():
        each = reading.last(name)
        in_front = name in dict(run.command.prefix)
        if name not in given or (each is None and not in_front) or run.option(option) is not None:
            continue
        place = run.command.place if each is None else each.place
        if (place.file.startswith("--env ") and not in_front) or (option == "ntasks-per-node" and told):
            continue
        text = known(given[name])
        tasks = (run.ranks.nodes or 0) * (run.ranks.per_node or 0)  # of each torchrun may make several
        is_size = draft.is_size(text) or text == str(tasks)
        is_known = is_size if option == "ntasks" else text == str(draft.number(key) or "")
        if is_known:
            continue
        draft.unsay((key,))
        shows = f"{name}={text or '...'}"
        draft.ask((key,), f"{question}: srun takes {shows} for it", (place, run.command.place), shows)


def _is_srun(step: Step) -> bool:
    return any(each.program == "srun" for each in layers(step.command.words))


def _ask_of_taken(reading: ShellReading, run: Step, draft: Draft) -> None:
    """Where the script takes sbatch's tasks away a srun without options for them starts one on each node."""
    if any(run.option(name) is not None for name in TELL_TASKS):
        return
    given = {**dict(run.command.environment), **dict(run.command.prefix)}
    by = {name: found for name in _OF_TASKS if (found := _taken_by(reading, run.command, name)) is not None}
    asked = {each.name for each in of_batch(reading)}.intersection(_OF_TASKS.values())
    is_left = any(name in given or (option in asked and name not in by) for name, option in _OF_TASKS.items())
    if "SLURM_NTASKS" not in by or not asked or is_left:
        return
    places = (by["SLURM_NTASKS"], run.command.place)
    draft.unsay(("ranks_per_node",))
    names = " and ".join(by)
    question = f"how many ranks on each node: the script takes {names} away, and srun then starts one on each"
    draft.ask(("ranks_per_node",), question, places, f"srun without {names}")


def _taken_by(reading: ShellReading, command: Command, name: str) -> Place | None:
    """The line that takes one of Slurm's variables from the command: unset, or env -u in front of it."""
    for layer in layers(command.words):
        if layer.program == "env" and any(each.value == (name,) for each in layer.all("unset")):
            return command.place
    before = takewhile(lambda one: one is not command, reading.commands)
    unset = [each for each in before if each.program == "unset" and (name,) in each.words]
    return next((each.place for each in reversed(unset) if not each.within), None)


def ask_of_batch(
    reading: ShellReading, run: Step, steps: Sequence[Step], found: Allocation, draft: Draft
) -> None:
    """sbatch's tasks are in SLURM_NTASKS, which is -n of each srun that has none; --ntasks-per-node and -N of
    that srun do not take it back (_opt_verify of Slurm's src/srun/libsrun/opt.c)."""
    tasks = found.tasks or (found.nodes or 1) * (found.per_node or 0)
    if not tasks or all(each.search(reading.written) for each in _TAKEN):
        return
    lines = (*found.places.get("tasks", ()), *found.places.get("per_node", ()))
    for step in steps:
        own = [each for each in step.asked if each.name in ("ntasks-per-node", "nodes")]
        if not _is_srun(step) or step.option("ntasks") is not None or not own:
            continue
        meant = step.ranks
        nodes = meant.nodes or (0 if found.tasks else 1)
        if meant.per_node is None or nodes * meant.per_node == tasks:
            continue
        written = " ".join(each.written for each in own)
        where = "all of the job's nodes" if meant.nodes is None else f"{meant.nodes} nodes"
        why = f"srun takes the {tasks} tasks of sbatch for its -n: it starts {tasks} on {where}"
        if not found.tasks and not found.nodes:
            why = f"srun takes all tasks of sbatch for its -n: it starts {tasks} on each of the job's nodes"
        places = (step.command.place, *lines)
        draft.say("defect", places, f"srun {written} without -n", why=why, todo=_GIVE_N)
        if step.command is run.command:
            draft.unsay(("ranks_per_node",))
            question = f"how many ranks on each node: {written} is {meant.per_node}, and {why}"
            draft.ask(("ranks_per_node",), question, places, f"srun {written} without -n")
