"""A launch of several programs at once, taken apart: a script for each, as if it stood alone.

`srun A : B` starts all in one world of MPI, each on a component of a heterogeneous job, or on nodes of its
own of one allocation (srun(1), --het-group; https://slurm.schedmd.com/heterogeneous_jobs.html: the n-th
program runs on the n-th component, and one of --het-group=0,1 on both, in one world). `srun --het-group=N
... &` for each component are worlds of their own. `mpirun A : B` takes the options of its first program for
all, but for how many ranks there are, their folder and their hosts (mpirun(1) of Open MPI: global and local
options).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct, structs

from hpclaunch.convert.programs.layers import MPI, layers
from hpclaunch.convert.reading import Command, Directive, ShellReading
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.readback.slurm.options import Given
from hpclaunch.readback.slurm.options import options as slurm_options

_MARKS = ("hetjob", "packjob")
_OPTION = "het-group"
# What the components after one have too, where they have none of their own ("list of propagated options" of
# heterogeneous_jobs.html; the rest begins anew in each).
_PROPAGATED = """
account acctg-freq begin cluster-constraint clusters comment deadline delay-boot dependency error exclude
export export-file get-user-env gid hold ignore-pbs input job-name nice no-kill no-requeue open-mode output
priority profile propagate qos quiet reboot requeue reservation signal time time-min uid verbose wait
wait-all-nodes wckey
"""
_GOES_ON = frozenset(_PROPAGATED.split())
_MOST = 8


class Components(Struct, frozen=True):
    """The script of each program, which name they have, and their world. `of_first`: what the first one's
    options say holds for all. `others` are launches of several programs before this one."""

    readings: tuple[ShellReading, ...]
    commands: tuple[Command, ...]
    world: Literal["one", "separate"]
    of_first: bool = False
    others: tuple[Command, ...] = ()


def components(reading: ShellReading) -> Components | None:
    """The programs of a launch that has several, None for one program, and where it cannot be taken apart."""
    blocks = _blocks(reading.directives)
    starts = [each for each in reading.starting if _program(each) and not (each.within or each.signals)]
    several = [each for each in starts if any(known(word) == ":" for word in each.words)]
    if len(starts) == 1 and (several or len(blocks) > 1):
        return _of_one(reading, starts[0], blocks)
    if several and several == starts:
        left = {id(each) for each in starts[:-1]}
        rest = tuple(each for each in reading.commands if id(each) not in left)
        last = _of_one(structs.replace(reading, commands=rest), starts[-1], blocks)
        return None if last is None else structs.replace(last, others=tuple(starts[:-1]))
    if several:
        return None
    if len(blocks) == 1:
        return _side_by_side(reading, starts, blocks[0])
    if len(starts) != len(blocks) or len(blocks) > _MOST:
        return None
    named = [_het_group(each.words[1:]) for each in starts]
    if sorted(named) != [[index] for index in range(len(blocks))] or not _are_at_once(reading, starts):
        return None
    ordered = [starts[named.index([index])] for index in range(len(blocks))]
    readings = [
        _with(reading, starts, each, each, block) for each, block in zip(ordered, blocks, strict=True)
    ]
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
    if len(blocks) > 1:
        named = [_het_group(part[1:]) or [index] for index, part in enumerate(parts)]
        if by_mpi or [each for group in named for each in group] != list(range(len(blocks))):
            return None
        parts = [part for part, group in zip(parts, named, strict=True) for _ in group]
    else:
        blocks = [*blocks] * len(parts)
    if not 2 <= len(parts) <= _MOST or any(len(part) < 2 for part in parts):
        return None
    readings, commands = [], []
    for part, block in zip(parts, blocks, strict=True):
        one = structs.replace(command, words=_without_group(part))
        readings.append(_with(reading, [command], command, one, block))
        commands.append(one)
    return Components(tuple(readings), tuple(commands), "one", by_mpi)


def _only(reading: ShellReading) -> ShellReading:
    """With the commands alone that start ranks."""
    return structs.replace(reading, commands=tuple(each for each in reading.commands if _program(each)))


def _with(
    reading: ShellReading, starts: Sequence[Command], old: Command, new: Command, block: list[Directive]
) -> ShellReading:
    """The script as if it asked for one allocation, and started one program there."""
    new = structs.replace(new, words=_without_group(new.words), background=False)
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
    """The lines of each component, and in front of them what holds for it of the one before."""
    own: list[list[Directive]] = [[]]
    for each in lines:
        if each.system != "SBATCH":
            continue
        if each.words[:1] and each.words[0] in _MARKS:
            own.append([])
        else:
            own[-1].append(each)
    found = own[:1]
    for block in own[1:]:
        names = {each.name for line in block for each in _options_of(line)}
        found.append([*(each for line in found[-1] for each in _going_on(line, names)), *block])
    return found


def _going_on(line: Directive, names: set[str]) -> Iterator[Directive]:
    """The options of a line that hold for the component after it too, which has those of these names itself;
    each as it is written."""
    for each in _options_of(line):
        if each.name in _GOES_ON - names:
            value = known(each.value or ()) or ""
            first = each.written.removesuffix(f" {value}")
            words = (each.written,) if first == each.written else (first, value)
            yield structs.replace(line, words=words)


def _options_of(line: Directive) -> list[Given]:
    return slurm_options("sbatch", [(word,) for word in line.words])[0]


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
        if each.name == _OPTION:
            ranges = re.findall(r"(\d{1,3})(?:-(\d{1,3}))?(?:,|$)", text := known(each.value or ()) or "")
            if not re.fullmatch(r"\d{1,3}(-\d{1,3})?(,\d{1,3}(-\d{1,3})?)*", text):
                return [-1]
            return [each for first, last in ranges for each in range(int(first), int(last or first) + 1)]
    return []


def _without_group(words: Sequence[Value]) -> tuple[Value, ...]:
    """The words of srun without those that tell it a component."""
    given, rest = slurm_options("srun", words[1:])
    gone = {each.written for each in given if each.name == _OPTION}
    options = words[1 : len(words) - len(rest)]
    kept = [words[0]]
    is_value = False  # of the word before
    for word, following in zip_longest(options, options[1:], fillvalue=()):
        alone, both = shown(word), f"{shown(word)} {shown(following)}"
        names_value = not is_value and both in gone
        if not (is_value or names_value or alone in gone):
            kept.append(word)
        is_value = names_value
    return (*kept, *rest)
