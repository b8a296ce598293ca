"""Variables that are set and exported to nobody: those of libraries, which no program sees, and those of a
configuration that the operator sources, which no script sees that is submitted then."""

import re
from collections.abc import Iterator
from posixpath import basename

from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.shell.names import used as used_in
from hpclaunch.readback.shell.values import shown
from hpclaunch.values.conversion import Finding, Place

# Read by OpenMP, MKL, NCCL, UCX, libfabric, Open MPI, Intel MPI, MPICH, CUDA and PyTorch of the environment.
# NCCL_TEST is a switch of MLPerf's launchers, and no library's.
_OF_LIBRARIES = re.compile(
    r"(?!NCCL_TEST$)(?:OMP|MKL|KMP|OPENBLAS|NCCL|UCX|FI|OMPI_MCA|I_MPI|MPICH|CUDA|PYTORCH|TORCH)_[A-Z]\w*"
)
_OF_SLURM = "CUDA_VISIBLE_DEVICES"
_WHY_OF_SLURM = (
    "where Slurm gave the job GPUs it had exported it, and what the script started without srun saw these; "
    "srun gives each rank its own"
)
_TODO_OF_SLURM = f"where the ranks are to see these alone write env.{_OF_SLURM}, or fewer GPUs"
_WHY = "it is not exported: no program that the script starts sees it"
_WHY_OF_FILE = (
    "set without export: a script that is submitted where the file was only sourced has its own defaults for "
    "them; they are taken as if they were exported"
)
_TODO_OF_FILE = "where the script never had them convert again without these lines, else export them there"
_MOST = 12  # names of a file that are told


def find(reading: ShellReading, parsed: list[Parsed], options: Options) -> Iterator[Finding]:
    """Each of them once, where it gets its last value."""
    yield from _configured(reading)
    used = {name for each in reading.commands for name in each.uses}
    used |= {name for each in reading.assigned for name in each.uses}
    used |= _used_elsewhere(reading)
    for name in dict.fromkeys(each.name for each in reading.assigned):
        last = reading.last(name)
        if last is None or last.exported or name in used:
            continue
        if last.place.file == reading.script and name == _OF_SLURM:
            text = f"{name}={shown(last.value)}"
            yield Finding("left", (last.place,), text, why=_WHY_OF_SLURM, todo=_TODO_OF_SLURM)
        elif last.place.file == reading.script and _OF_LIBRARIES.fullmatch(name):
            yield Finding("defect", (last.place,), f"{name} is set", why=_WHY, todo=f"export {name}")


def _configured(reading: ShellReading) -> Iterator[Finding]:
    """Those of a configuration that the script reads, and that it does not source itself."""
    own = _of_script(reading)
    if any(not each.file and each.place.file in own for each in reading.sourced):
        return  # what it sources may be these
    last = {each.name: each for each in reading.assigned if each.place.file not in own}
    first: dict[str, Place] = {}  # where the script gives a variable a value of its own
    for each in reading.assigned:
        if each.place.file in own:
            first.setdefault(each.name, each.place)
    used = {
        name
        for rows in (reading.commands, reading.assigned)
        for each in rows
        if each.place.file in own
        for name in each.uses
        if name not in first or _is_before(each.place, first[name])
    }
    read = [each for each in last.values() if not each.exported and each.name in used]
    for file in dict.fromkeys(each.place.file for each in read):
        its = [each for each in read if each.place.file == file][:_MOST]
        names = ", ".join(each.name for each in its)
        places = tuple(each.place for each in its)
        yield Finding("assumed", places, names, why=_WHY_OF_FILE, todo=_TODO_OF_FILE)


def _is_before(place: Place, other: Place) -> bool:
    """Whether it is in front of the other, or that itself."""
    return place.file == other.file and place.line <= other.line


def _of_script(reading: ShellReading) -> set[str]:
    """The inputs that the script sources or starts, by their names in its text, those of them too, and what
    starts it."""
    own = {reading.script, *(each.place.file for each in reading.started)}
    own |= {each.file for each in reading.sourced if each.place.file == reading.script}
    waiting = list(own)
    while waiting:
        here = waiting.pop()
        text = next((each.text for each in reading.sources if each.name == here), "")
        found = {each.name for each in reading.sources if basename(each.name) in text} - own
        own |= found
        waiting += found
    return own


def _used_elsewhere(reading: ShellReading) -> set[str]:
    """Those that a statement names to which the script does not come, but for one that only gives them their
    default (: "${NAME:=1}")."""
    return {
        name
        for each in reading.statements
        if each.written.partition(" ")[0] != ":"
        for name in used_in(each.written)
    }
