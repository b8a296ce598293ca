"""Slurm's own variables that the text of the ranks names, and that a job gives them in no such way."""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch.asked import of_batch, submitting
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation, last, sizes
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.words.variables import names_in
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import ShellReading, Source
from hpclaunch.readback.shell.values import Part, Unknown, Value, program_of
from hpclaunch.values.conversion import Place

# Slurm sets each where sbatch or srun was given that option (sbatch(1), "OUTPUT ENVIRONMENT VARIABLES"), and
# a job asks in other ways: for GPUs by --gres, for cores by masks, and by -c on a part of a node alone.
_BY_OPTION = {
    "SLURM_CPUS_PER_TASK": "-c",
    "SRUN_CPUS_PER_TASK": "-c",
    "SLURM_CPUS_PER_GPU": "--cpus-per-gpu",
    "SLURM_GPUS": "--gpus",
    "SLURM_GPUS_PER_NODE": "--gpus-per-node",
    "SLURM_GPUS_PER_SOCKET": "--gpus-per-socket",
    "SLURM_GPUS_PER_TASK": "--gpus-per-task",
    "SLURM_MEM_PER_CPU": "--mem-per-cpu",
    "SLURM_MEM_PER_GPU": "--mem-per-gpu",
    "SLURM_MEM_PER_NODE": "--mem",
    "SLURM_NTASKS_PER_CORE": "--ntasks-per-core",
    "SLURM_NTASKS_PER_GPU": "--ntasks-per-gpu",
    "SLURM_NTASKS_PER_SOCKET": "--ntasks-per-socket",
    "SLURM_THREADS_PER_CORE": "--threads-per-core",
}

# What it counts of a job, and what of a step, of which the script that sbatch starts has nothing (the same
# list, and srun(1)'s; seen in Slurm 22.05).
_CORES = ("SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE")
_TASKS = "SLURM_TASKS_PER_NODE"
_OF_STEP = (
    *("SLURM_LAUNCH_NODE_IPADDR", "SLURM_STEPID", "SLURM_STEP_ID", "SLURM_STEP_NODELIST"),
    *("SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"),
)
_NAME = "SLURM_JOB_NAME"
_LONG = {"-c": "cpus-per-task"}
_NAMES = "|".join((*_BY_OPTION, *_CORES, *_OF_STEP, _TASKS, _NAME))
_NAMED = re.compile(rf"\$\{{?({_NAMES})\b")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_SETS = re.compile(rf"^\s*(?:export\s+)?({_NAMES})=")
_OTHERWISE = (
    "Slurm sets it where it was given {}, and a job asks for its sizes in another way: its ranks have none "
    "of it, or another number"
)
_COUNTS = (
    "it counts what a job has of a node, and this one asks for cores by its GPUs and starts its ranks "
    "itself: the number may be another one"
)


def say(
    reading: ShellReading, run: Step, words: Sequence[Value], exports: Sequence[Value], draft: Draft
) -> None:
    """Say which of them the command asks for: its own words, what it exports, and the text that it gives a
    shell."""
    parts = [part for word in words for part in word if isinstance(part, str)]
    inside = _NAMED.findall("\n".join(parts)) if program_of(words) in SHELLS else []
    values = [part for value in (*words, *exports) for part in value if not _is_output(part)]
    names = {*inside, *names_in(tuple(values))}
    found = sizes(reading)
    for name in sorted(names):
        told = _in_command(name, reading, found, draft, made=name in inside)
        if told is not None and ("env", name) not in draft.facts:
            why, todo = told
            draft.say("left", (run.command.place,), f"${name} in the command", why=why, todo=todo)


def _in_command(
    name: str, reading: ShellReading, found: Allocation, draft: Draft, *, made: bool
) -> tuple[str, str] | None:
    """What is to be said of it, None for nothing; `made`: a shell of the ranks reads it, not the script."""
    write = f"in the command, or under env.{name}"
    if name in _BY_OPTION:
        option = _BY_OPTION[name]
        given = last(of_batch(reading)).get(_LONG.get(option, option.removeprefix("--")))
        if name in found.numbers:
            todo = f"write {found.numbers[name]} for it {write}"
        elif given is not None:
            todo = f"write what {given.written} made of it {write}"
        else:
            todo = (
                f"where the operator gave {option} convert again with --env {name}=VALUE, or write the value "
                "in the command"
            )
        return _OTHERWISE.format(option), todo
    if name == _NAME:
        named, fact = _named(reading), draft.facts.get(("name",))
        if fact is None or fact.value in (named, None):
            return None
        why = f"sbatch called the job {named}, and in this one it is {fact.value}"
        return why, "give the job that name, or write it in the command, where the program is to have it"
    if name in _OF_STEP and not made and any(name in source.text for source in reading.sources):
        why = "srun sets it in its ranks, and the script read nothing of it, where each rank of the job does"
        return why, "take it out of the command where nothing was right"
    if (name in _CORES and not found.whole) or (name == _TASKS and not _as_many(found, draft)):
        return _COUNTS, "write the number that it was in the command"
    return None


def _named(reading: ShellReading) -> str | None:
    """What sbatch calls the job: after its script where no option names it. None where that is not told."""
    given = last(of_batch(reading)).get("job-name")
    if given is not None:
        return given.text
    return None if submitting(reading) else reading.script.rpartition("/")[2]


def _as_many(found: Allocation, draft: Draft) -> bool:
    """Whether a node has the ranks that it had tasks: one that started torchrun has others."""
    per_node = found.per_node
    if per_node is None and found.tasks and found.nodes:
        per_node = found.tasks // found.nodes
    return per_node in (None, draft.number("ranks_per_node"))


def say_of_scripts(reading: ShellReading, scripts: Sequence[Source], draft: Draft) -> None:
    """Say which of those that sbatch was given the scripts read that the ranks execute: without an option of
    its own Slurm set none of them there either."""
    found, said = sizes(reading), set[str]()
    numbers = found.numbers
    counted = () if found.whole else _CORES
    for source in scripts:
        for at, line in enumerate(source.text.split("\n"), 1):
            code = _COMMENT.sub("", line)
            for name in dict.fromkeys(_NAMED.findall(code)):
                if name in said:
                    continue
                if name in _BY_OPTION and numbers.get(name):
                    todo = f"write env.{name}: {numbers[name]} in the job file, or the number in that script"
                    why = _OTHERWISE.format(_BY_OPTION[name])
                elif name in counted:
                    why, todo = _COUNTS, "write the number that it was in that script"
                else:
                    continue
                said.add(name)
                what = f"${name} in a script of the ranks"
                draft.say("left", (Place(source.name, at),), what, why=why, todo=todo)
            said.update(_SETS.findall(code))


def _is_output(part: Part) -> bool:
    """Whether it is what a command writes, which has a question of its own."""
    return isinstance(part, Unknown) and part.kind == "output"
