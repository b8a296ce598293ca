"""A second walk, with what the first one told: Slurm's own numbers are known then, and files that run beside
ranks are no configuration."""

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import structs

from hpclaunch.convert.inputs import classified
from hpclaunch.convert.mapping.slurm.numbers.sizes import GPU_VARIABLES, Allocation, sizes
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading, Source
from hpclaunch.convert.shell import slurm_outputs, walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

_TAKEN_OFF = re.compile(r"\|\s*sed (?:-e )?['\"]s/(?:\^([\w.-]+)|([\w\\.-]+)\$)//['\"]")
_OWN_NAME = re.compile(
    r"\$\(\s*basename\s+\"?(?:\$\(readlink -f \"?)?\$\{BASH_SOURCE(?:\[0\])?\}\"?\)?\"?"
    r"((?:\s*\|\s*sed (?:-e )?['\"]s/(?:\^[\w.-]+|[\w\\.-]+\$)//['\"])*)\s*\)"
)
_MOST_COMMANDS = 20_000  # no launcher has so many, and each walk through them takes seconds
_LINES = {
    "SLURM_JOB_NUM_NODES": "nodes",
    "SLURM_NNODES": "nodes",
    "SLURM_NTASKS": "tasks",
    "SLURM_NPROCS": "tasks",
    "SLURM_NTASKS_PER_NODE": "per_node",
    "SLURM_CPUS_PER_TASK": "cpus_per_task",
    "SLURM_GPUS_ON_NODE": "gpus",
    **{variable: option for option, variable in GPU_VARIABLES.items()},
}


def by_role(reading: ShellReading) -> dict[str, list[Source]]:
    """The sources by what they are: "shell", "rank script", "binding", "mounts"."""
    found: dict[str, list[Source]] = {}
    sources = (*reading.sources, *reading.beside)
    try:
        roles = {each.name: each.role for each in classified({s.name: s.text for s in sources})}
    except InputError:
        roles = {}
    for source in sources:
        role = "shell" if source.name == reading.script else roles.get(source.name, "shell")
        found.setdefault(role, []).append(source)
    return found


def settled(reading: ShellReading, options: Options, parts: walk.Parts = ()) -> ShellReading:
    """The reading of a walk that knows the numbers which Slurm will give to the script. Its sources are all
    of those of the first one. `parts` are variables that Slurm gives one of several jobs."""
    if len(reading.commands) > _MOST_COMMANDS:
        return reading
    found = sizes(reading)
    given = by_role(reading).get("shell", [])
    # A long script costs a second for each walk: what it never names changes nothing.
    named = {name for name in _LINES for source in given if name in source.text}
    named |= {name for source in given for name in slurm_outputs.asked(source.text)}
    numbers = {name: value for name, value in _numbers(found).items() if name in named}
    shells = _with_own_names(given)
    if not (numbers or parts) and shells == list(reading.sources):
        return reading
    try:
        environment = {**options.environment, **numbers}
        again = walk.read(shells, environment, reading.script, parts, reading.arguments)
    except (ScriptError, InputError):
        return reading
    return structs.replace(
        again,
        sources=reading.sources,
        beside=reading.beside,
        directives=again.directives or reading.directives,
        assigned=tuple(
            structs.replace(each, place=_place(each.place, found)) if each.name in numbers else each
            for each in again.assigned
        ),
    )


def _with_own_names(sources: Sequence[Source]) -> list[Source]:
    """The sources with what a file makes of its own name put in: MLPerf's configurations have
    DGXSYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//' | sed 's/\\.sh$//')."""

    def name(source: Source, found: re.Match[str]) -> str:
        text = source.name.rpartition("/")[2]
        for start, end in _TAKEN_OFF.findall(found[1]):
            text = text.removeprefix(start) if start else text.removesuffix(end.replace("\\", ""))
        return shlex.quote(text)

    return [
        structs.replace(source, text=_OWN_NAME.sub(partial(name, source), source.text)) for source in sources
    ]


def _numbers(found: Allocation) -> Mapping[str, str]:
    """What Slurm sets, and only that."""
    return {name: str(value) for name, value in found.numbers.items() if name in _LINES}


def _place(place: Place, found: Allocation) -> Place:
    """The line that gave a number, for the option that a walk has it from."""
    name = place.file.removeprefix("--env ")
    lines = found.places.get(_LINES.get(name, "")) or found.places.get("nodes") or (place,)
    return lines[0] if place.file.startswith("--env ") else place
