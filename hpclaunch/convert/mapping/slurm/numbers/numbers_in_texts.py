"""Slurm's own variables that the text of the ranks names, and that a job gives them in no such way."""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around.rounds import names_in
from hpclaunch.convert.mapping.slurm.numbers.sizes import sizes
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
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
    "SLURM_NTASKS_PER_CORE": "--ntasks-per-core",
    "SLURM_NTASKS_PER_GPU": "--ntasks-per-gpu",
    "SLURM_NTASKS_PER_SOCKET": "--ntasks-per-socket",
    "SLURM_THREADS_PER_CORE": "--threads-per-core",
}

_NAMES = "|".join(_BY_OPTION)
_NAMED = re.compile(rf"\$\{{?({_NAMES})\b")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_SETS = re.compile(rf"^\s*(?:export\s+)?({_NAMES})=")
_OTHERWISE = (
    "Slurm sets it where it was given {}, and a job asks for its sizes in another way: its ranks have none "
    "of it, or another number"
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
    numbers = sizes(reading).numbers
    for name, option in _BY_OPTION.items():
        if name not in names or ("env", name) in draft.facts:
            continue
        number = numbers.get(name)
        why = _OTHERWISE.format(option)
        todo = f"write {number} for it in the command, or under env.{name}"
        if number is None:
            todo = (
                f"where the operator gave {option} convert again with --env {name}=VALUE, or write the value "
                "in the command"
            )
        draft.say("left", (run.command.place,), f"${name} in the command", why=why, todo=todo)


def say_of_scripts(reading: ShellReading, scripts: Sequence[Source], draft: Draft) -> None:
    """Say which of those that sbatch was given the scripts read that the ranks execute: without an option of
    its own Slurm set none of them there either."""
    numbers, said = sizes(reading).numbers, set[str]()
    for source in scripts:
        for at, line in enumerate(source.text.split("\n"), 1):
            code = _COMMENT.sub("", line)
            read = [name for name in _NAMED.findall(code) if name not in said and numbers.get(name)]
            for name in dict.fromkeys(read):
                said.add(name)
                todo = f"write env.{name}: {numbers[name]} in the job file, or the number in that script"
                why = _OTHERWISE.format(_BY_OPTION[name])
                what = f"${name} in a script of the ranks"
                draft.say("left", (Place(source.name, at),), what, why=why, todo=todo)
            said.update(_SETS.findall(code))


def _is_output(part: Part) -> bool:
    """Whether it is what a command writes, which has a question of its own."""
    return isinstance(part, Unknown) and part.kind == "output"
