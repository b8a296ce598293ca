"""What a script asks of Slurm, option by option, with the lines that say it: #SBATCH lines, SBATCH_*
variables, and sbatch's command line, as it stands in a script or as the operator types it by the launchers'
README."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from hpclaunch.convert.mapping.slurm.batch import edited
from hpclaunch.convert.mapping.words.lines import names_behind
from hpclaunch.convert.programs.layers import Layer, Option, layers
from hpclaunch.convert.programs.names import STEPS, SUBMITTERS
from hpclaunch.convert.programs.plain import IN_FRONT
from hpclaunch.convert.reading import Assigned, Command, Directive, ShellReading, once
from hpclaunch.readback.shell import arithmetic
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.readback.slurm import forms
from hpclaunch.readback.slurm.options import options
from hpclaunch.values.conversion import Place

# Fujitsu's configurations have PG where NVIDIA's have DGX.
NODES = ("DGXNNODES", "PGNNODES")
GPUS = ("DGXNGPU", "PGNGPU")
TIME = ("WALLTIME",)
# The README's line: sbatch -N $DGXNNODES -t $WALLTIME --ntasks-per-node $DGXNGPU run.sub
_CONVENTION = {"nodes": NODES, "time": TIME}
# Options that the operator puts on the command line as they are; Slurm knows nothing of the name.
_MORE = "SBATCH_OTHER_PARAMS"
# Those that sbatch reads (sbatch(1), "Input environment variables"), by the option that they stand for.
_VARIABLES = {
    "SBATCH_ACCOUNT": "account",
    "SBATCH_ARRAY_INX": "array",
    "SBATCH_CONSTRAINT": "constraint",
    "SBATCH_CPUS_PER_GPU": "cpus-per-gpu",
    "SBATCH_DISTRIBUTION": "distribution",
    "SBATCH_EXCLUSIVE": "exclusive",
    "SBATCH_EXPORT": "export",
    "SBATCH_GPUS": "gpus",
    "SBATCH_GPUS_PER_NODE": "gpus-per-node",
    "SBATCH_GPUS_PER_TASK": "gpus-per-task",
    "SBATCH_HINT": "hint",
    "SBATCH_JOB_NAME": "job-name",
    "SBATCH_MEM_PER_NODE": "mem",
    "SBATCH_NETWORK": "network",
    "SBATCH_NO_REQUEUE": "no-requeue",
    "SBATCH_OVERCOMMIT": "overcommit",
    "SBATCH_PARTITION": "partition",
    "SBATCH_QOS": "qos",
    "SBATCH_REQ_SWITCH": "switches",
    "SBATCH_REQUEUE": "requeue",
    "SBATCH_RESERVATION": "reservation",
    "SBATCH_SEGMENT_SIZE": "segment",
    "SBATCH_SIGNAL": "signal",
    "SBATCH_THREADS_PER_CORE": "threads-per-core",
    "SBATCH_TIMELIMIT": "time",
}
OF_SBATCH = frozenset(_VARIABLES)
READ_BY_SBATCH = OF_SBATCH | {_MORE}
# What srun asks for where there is no job yet, and only then.
OF_ALLOCATION = frozenset(
    (
        *("account", "partition", "qos", "reservation", "constraint", "nodelist", "exclude", "time", "nodes"),
        *("exclusive", "mem", "mail-user", "mail-type", "job-name", "dependency", "begin"),
    )
)
_OF_JOB = "SLURM_"
_SLURMS = re.compile(r"SLURM_\w*")
# By these who starts a srun tells it what to ask for (srun(1), "INPUT ENVIRONMENT VARIABLES"; SLURM_TIME is a
# script's own): in a job Slurm sets none of them, but SLURM_JOB_ACCOUNT and so on.
_OF_WHO_ASKS = frozenset(
    f"SLURM_{name}" for name in ("ACCOUNT", "PARTITION", "QOS", "RESERVATION", "TIMELIMIT", "TIME")
)
_OWN_JOB = frozenset(("SLURM_JOB_ID", "SLURM_JOBID"))
_NAME = re.compile(r"\$\{(\w+)\}|\$(\w+)")
_ARGUMENT = re.compile(r"\$\{?\d")  # without its $ it would be a number, and no name
# 10#$X is X also where zeros stand before it.
_BASE_TEN = re.compile(r"\b10#(?=\$)")


class Asked(Struct, frozen=True):
    """An option by its whole name ("" for none that is known). `how`: a directive of the script, a variable
    that sbatch reads, the operator's command line by the convention of the README, a command of the input,
    or what `enroot start` says in place of Pyxis. `written` is the option as it stands, or the variable that
    gave it."""

    name: str
    value: Value | None
    written: str
    places: tuple[Place, ...]
    how: Literal["directive", "variable", "convention", "command", "enroot"]

    @property
    def text(self) -> str | None:
        """The value, None where a part of it is not known; "" for an option without one."""
        return known(self.value or ())


def of_batch(reading: ShellReading) -> tuple[Asked, ...]:
    """All that is asked of sbatch; what comes later counts more (sbatch(1)): #SBATCH lines, variables,
    command line."""
    found = [*_of_lines(reading)]
    submits = submitting(reading)
    in_front = dict(submits[-1].prefix) if submits else {}
    for variable, name in _VARIABLES.items():
        each = reading.last(variable)
        if variable in in_front:
            value = in_front[variable]
            written = f"{variable}={known(value) or '...'}"
            found.append(Asked(name, value, written, (submits[-1].place,), "variable"))
        elif each is not None and (submits or each.place.file != reading.script):
            found.append(Asked(name, each.value, f"{variable}={_text(each)}", (each.place,), "variable"))
    found += _operators(reading)
    if submits:
        return (*found, *of_command(reading, submits[-1]))
    for name, variables in _CONVENTION.items():
        for variable in variables:
            each = reading.last(variable)
            # Nobody had a line of the script itself where sbatch was typed.
            if each is not None and each.place.file != reading.script:
                found.append(Asked(name, each.value, variable, origin_of(reading, variable), "convention"))
    alone = outside_allocation(reading)
    if alone is not None:
        return (*found, *(each for each in of_command(reading, alone) if each.name in OF_ALLOCATION))
    return tuple(found)


@once
def _of_lines(reading: ShellReading) -> tuple[Asked, ...]:
    """What #SBATCH lines ask for."""
    found: list[Asked] = []
    for directive in reading.directives:
        if directive.words[:1] in (("hetjob",), ("packjob",)):
            break  # what follows is about another part
        if directive.system == "SBATCH":
            found += _of_line(reading, directive)
    return tuple(found)


def _of_line(reading: ShellReading, directive: Directive) -> list[Asked]:
    """The options of a #SBATCH line, without their values where another script changes it."""
    by = edited.by(reading, directive)
    if by is None:
        places: tuple[Place, ...] = (directive.place,)
        return [Asked(each.name, each.value, each.written, places, "directive") for each in directive.options]
    places = (directive.place, by.place)
    value = (Unknown("variable", ""),)
    said = f"(changed by {by.program})"
    return [
        Asked(each.name, value, f"{each.written} {said}", places, "directive") for each in directive.options
    ]


def submitting(reading: ShellReading) -> list[Command]:
    """The sbatch and salloc commands that start the launcher's own job, and each srun of another file that
    starts the launcher; the last of them counts: that of the script, and not of another one. What a job's
    script submits while it runs, itself once more or what comes next, is another job."""
    its = {each.place for each in reading.started}
    found = [each for each in reading.of("sbatch", "salloc") if not _is_in_a_job(each)]
    found += [each for each in reading.of("srun") if each.place in its] if its else []
    if len(found) > 1:
        found.sort(key=lambda each: each.place in its)
    if not found or not reading.directives:
        return found
    return [each for each in found if each.place in reading.entered or each.place.file != reading.script]


def _is_in_a_job(command: Command) -> bool:
    """Whether it names the job that it runs in, as --dependency=afterany:$SLURM_JOB_ID does."""
    parts = (part for word in command.words for part in word)
    return any(isinstance(each, Unknown) and each.name in _OWN_JOB for each in parts)


def _operators(reading: ShellReading) -> list[Asked]:
    """The options that a configuration has for the operator's command line."""
    more = reading.last(_MORE)
    if more is None:
        return []
    text = known(more.value)
    if text is None:
        return [Asked("", more.value, _MORE, (more.place,), "convention")]
    given = options("sbatch", [(word,) for word in text.split()])[0]
    return [Asked(each.name, each.value, each.written, (more.place,), "convention") for each in given]


def outside_allocation(reading: ShellReading) -> Command | None:
    """The srun of an input that no sbatch runs: it asks for its own nodes, time and partition."""
    told = reading.directives or any(reading.last(name) for name in (*NODES, *TIME, *GPUS))
    if told or reading.of("salloc"):
        return None
    run = next((each for each in reversed(reading.of("srun", *IN_FRONT)) if _is_srun(each)), None)
    if run is None:
        return None
    if _names_its_job(reading) or own_hosts(reading):
        return None
    asks = [each.name for each in of_command(reading, run)]
    return run if any(name in OF_ALLOCATION for name in asks) else None


@once
def _names_its_job(reading: ShellReading) -> bool:
    """Whether it has to do with what Slurm tells in a job."""
    named = (*_SLURMS.findall(reading.written), *reading.wanted)
    return any(name.startswith(_OF_JOB) and name not in _OF_WHO_ASKS for name in named)


def _is_srun(command: Command) -> bool:
    """Whether it is srun, also behind programs that only change how it is started: nohup srun ..."""
    return _starter(command).program == "srun"


def _starter(command: Command) -> Layer:
    """The srun, sbatch or salloc of a command, behind programs such as nohup; one without a name for none."""
    for layer in layers(command.words):
        if layer.program not in IN_FRONT:
            return layer if layer.program in (*STEPS, *SUBMITTERS) else Layer("")
    return Layer("")


def own_hosts(reading: ShellReading) -> tuple[Place, ...]:
    """Where the script asks for the hosts of the job that it runs in: scontrol without a list takes that of
    SLURM_JOB_NODELIST (scontrol(1), "show hostnames")."""
    return tuple(
        each.place
        for each in reading.of("scontrol")
        if [known(word) for word in each.words[1:]] in (["show", "hostnames"], ["show", "hostname"])
    )


def of_command(reading: ShellReading, command: Command) -> tuple[Asked, ...]:
    """The options of a srun or sbatch command, each with the lines that give its value."""
    layer = _starter(command)
    scripts = {source.name.rpartition("/")[2] for source in reading.sources}
    scripts.add("${0}")
    given = [each for each in layer.options if each.name or each.written.rpartition("/")[2] not in scripts]
    return of_options(reading, command, given)


def of_options(reading: ShellReading, command: Command, given: Sequence[Option]) -> tuple[Asked, ...]:
    """Options that were read of a command, with their lines."""
    found = []
    for each in given:
        text = known(each.value or ())
        option = each.written.partition("=")[0].partition(" ")[0]
        names = names_behind(option if option.startswith("--") else option[:2], command)
        places = reading.origin(command, text, names) if text else (command.place,)
        found.append(Asked(each.name, each.value, each.written, places, "command"))
    return tuple(found)


def origin_of(reading: ShellReading, variable: str, at: Place | None = None) -> tuple[Place, ...]:
    """The line that gave a variable its value, and those of the variables that the value comes from; with
    `at` the value that it has there."""
    found: dict[Place, None] = {}
    waiting = [variable]
    seen: set[str] = set()
    while waiting and len(seen) < 30:  # of a longer chain nobody reads the lines
        name = waiting.pop(0)
        each = reading.last(name) if at is None else reading.at(name, at)
        if each is None or name in seen:
            continue
        seen.add(name)
        found[each.place] = None
        waiting += each.uses
    return tuple(found)


def number(value: Value | None, reading: ShellReading, slurm: Mapping[str, int]) -> int | None:
    """A whole number that an option gives, also by Slurm's own variables (`slurm`), as in
    $((SLURM_JOB_NUM_NODES * DGXNGPU)). None where it is not known, or a range."""
    text = resolved(value or (), slurm)
    if text is None and value is not None and len(value) == 1:
        part = value[0]
        is_sum = isinstance(part, Unknown) and part.kind == "number" and part.name.startswith("$((")
        if isinstance(part, Unknown) and is_sum and not part.of and not _ARGUMENT.search(part.name):
            source = _NAME.sub(lambda found: found[1] or found[2], _BASE_TEN.sub("", part.name[3:-2]))
            return arithmetic.evaluate(source, lambda name: _of_variable(name, reading, slurm))
    try:
        return forms.count(text) if text else None
    except ValueError:
        return None


def resolved(value: Value, slurm: Mapping[str, int]) -> str | None:
    """The text, with Slurm's own numbers put in for their variables."""
    parts: list[str] = []
    for part in value:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Unknown) and part.kind == "variable" and part.name in slurm:
            parts.append(str(slurm[part.name]))
        else:
            return None
    return "".join(parts)


def _of_variable(name: str, reading: ShellReading, slurm: Mapping[str, int]) -> str | None:
    if name in slurm:
        return str(slurm[name])
    each = reading.last(name)
    return resolved(each.value, slurm) if each is not None else None


def _text(each: Assigned) -> str:
    return known(each.value) or "..."


def is_of_many(each: Asked) -> bool:
    """Whether it is a word that may be any options, of which nobody gave anything."""
    written = (each.written, shown(each.value or ()))
    return not each.name and bool(each.value) and not any(text.startswith("-") for text in written)
