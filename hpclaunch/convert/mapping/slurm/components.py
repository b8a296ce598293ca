"""A launch of several programs at once, taken apart: a script for each, as if it stood alone.

`srun A : B` starts all in one world of MPI, each on a component of a heterogeneous job, or on nodes of its
own of one allocation (srun(1), --het-group; https://slurm.schedmd.com/heterogeneous_jobs.html: the n-th
program runs on the n-th component). `srun --het-group=N ... &` for each component are worlds of their own.
`mpirun A : B` takes the options of its first program for all, but for how many ranks there are, their folder
and their hosts (mpirun(1) of Open MPI: global and local options).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct, structs

from hpclaunch.convert.programs.layers import MPI, layers
from hpclaunch.convert.reading import Command, Directive, ShellReading
from hpclaunch.readback.shell.values import Value, known
from hpclaunch.readback.slurm.options import options as slurm_options

_MARKS = ("hetjob", "packjob")
_OPTIONS = ("het-group", "pack-group")
_MOST = 8


class Components(Struct, frozen=True):
    """The script of each program, which name they have, and their world. `of_first`: what the first one's
    options say holds for all."""

    readings: tuple[ShellReading, ...]
    commands: tuple[Command, ...]
    world: Literal["one", "separate"]
    of_first: bool = False


def components(reading: ShellReading) -> Components | None:
    """The programs of a launch that has several, None for one program, and where it cannot be taken apart."""
    blocks = _blocks(reading.directives)
    starts = [each for each in reading.commands if _program(each) and not (each.within or each.signals)]
    several = [each for each in starts if any(known(word) == ":" for word in each.words)]
    if len(several) == 1 and len(starts) == 1:
        return _of_one(reading, several[0], blocks)
    if several:
        return None
    if len(blocks) == 1:
        return _side_by_side(reading, starts, blocks[0])
    if len(starts) != len(blocks) or len(blocks) > _MOST:
        return None
    named = [_het_group(each.words[1:]) for each in starts]
    if named != [[index] for index in range(len(blocks))] or not _are_at_once(reading, starts):
        return None
    readings = [_with(reading, starts, each, each, block) for each, block in zip(starts, blocks, strict=True)]
    return Components(tuple(readings), tuple(each.commands[0] for each in map(_only, readings)), "separate")


def _side_by_side(
    reading: ShellReading, starts: Sequence[Command], block: list[Directive]
) -> Components | None:
    """Runs at the same time, each on so many nodes of the one allocation."""
    if not 2 <= len(starts) <= _MOST or any(each.program != "srun" for each in starts):
        return None
    told = [[each.name for each in slurm_options("srun", command.words[1:])[0]] for command in starts]
    alike = all("nodes" in names and "nodelist" not in names and "relative" not in names for names in told)
    if not alike or not _are_at_once(reading, starts) or len({each.words for each in starts}) < 2:
        return None
    readings = [_with(reading, starts, each, each, block) for each in starts]
    return Components(tuple(readings), tuple(starts), "separate")


def _of_one(reading: ShellReading, command: Command, blocks: Sequence[list[Directive]]) -> Components | None:
    by_mpi = _program(command) != "srun"
    parts = list(_parts(command.words))
    if not 2 <= len(parts) <= _MOST or any(len(part) < 2 for part in parts) or (by_mpi and len(blocks) > 1):
        return None
    readings, commands = [], []
    for index, part in enumerate(parts):
        named = _het_group(part[1:]) or [index]
        if len(blocks) > 1 and named != [index]:
            return None
        block = blocks[index] if len(blocks) > 1 else blocks[0]
        words = tuple(word for word in part if not _names_group(word))
        one = structs.replace(command, words=words)
        readings.append(_with(reading, [command], command, one, block))
        commands.append(one)
    if len(blocks) > 1 and len(parts) != len(blocks):
        return None
    return Components(tuple(readings), tuple(commands), "one", by_mpi)


def _only(reading: ShellReading) -> ShellReading:
    """With the commands alone that start ranks."""
    return structs.replace(reading, commands=tuple(each for each in reading.commands if _program(each)))


def _with(
    reading: ShellReading, starts: Sequence[Command], old: Command, new: Command, block: list[Directive]
) -> ShellReading:
    """The script as if it asked for one allocation, and started one program there."""
    words = tuple(word for word in new.words if not _names_group(word))
    new = structs.replace(new, words=words, background=False)
    others = {id(each) for each in starts if each is not old}
    commands = tuple(new if each is old else each for each in reading.commands if id(each) not in others)
    return structs.replace(reading, commands=commands, directives=tuple(block))


def _parts(words: Sequence[Value]) -> Iterator[list[Value]]:
    """The words of each program, with srun or mpirun before them."""
    found = [words[0]]
    for word in words[1:]:
        if known(word) == ":":
            yield found
            found = [words[0]]
        else:
            found.append(word)
    yield found


def _blocks(lines: Sequence[Directive]) -> list[list[Directive]]:
    """The lines of each component. A later one has the first one's name and time where it has none of its
    own."""
    found: list[list[Directive]] = [[]]
    for each in lines:
        if each.system != "SBATCH":
            continue
        if each.words[:1] and each.words[0] in _MARKS:
            found.append([])
        else:
            found[-1].append(each)
    of_all = [each for line in found[0] for each in _of_job(line)]
    return [found[0], *([*of_all, *each] for each in found[1:])]


def _of_job(line: Directive) -> Iterator[Directive]:
    """What of a line is about all components."""
    for each in slurm_options("sbatch", [(word,) for word in line.words])[0]:
        if each.name in ("job-name", "time"):
            yield structs.replace(line, words=(f"--{each.name}={known(each.value or ()) or ''}",))


def _program(command: Command) -> str:
    """srun or mpirun, where the command is one itself."""
    first = layers(command.words)[0].program
    return first if first in ("srun", *MPI) else ""


def _are_at_once(reading: ShellReading, starts: Sequence[Command]) -> bool:
    """Whether they run at the same time, and the script waits for all of them and for nothing before."""
    *others, last = starts
    if any(each.conditions or each.loops for each in starts) or not all(each.background for each in others):
        return False
    first, end = (
        next(i for i, each in enumerate(reading.commands) if each is start) for start in (starts[0], last)
    )
    waits = [index for index, each in enumerate(reading.commands) if each.program == "wait"]
    return any(index > end for index in waits) and not any(first < index < end for index in waits)


def _het_group(words: Sequence[Value]) -> list[int]:
    """The components that srun is told, [] where it is told none."""
    for each in slurm_options("srun", words)[0]:
        if each.name in _OPTIONS:
            text = known(each.value or ()) or ""
            return [int(text)] if re.fullmatch(r"\d{1,3}", text) else [-1]
    return []


def _names_group(word: Value) -> bool:
    return bool(re.match(r"--(het|pack)-group=", known(word) or ""))
