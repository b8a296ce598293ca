"""The commands of a text that a line hands to another shell, by ssh or bash -c, and of which no part of the
job is made: like the lines of a script they are told, each by its text."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from hpclaunch.convert import lines_told
from hpclaunch.convert.lines_told import Told
from hpclaunch.convert.mapping.ranks import mpi
from hpclaunch.convert.mapping.slurm.starts import over_ssh
from hpclaunch.convert.programs.beside import PLUMBING
from hpclaunch.convert.programs.layers import MPI, PER_GPU, layers
from hpclaunch.convert.programs.names import BY_JSRUN, BY_MPI, CONTAINERS, REMOTE, SHELLS, STEPS, SUBMITTERS
from hpclaunch.convert.programs.plain import IN_FRONT
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell.folder import FOLDERS
from hpclaunch.convert.untold import program_of_statement
from hpclaunch.convert.walked import Line, is_device, line_of
from hpclaunch.readback.shell.values import Unknown, Value, shown
from hpclaunch.values.conversion import Finding

_GIVEN_TEXTS = SHELLS.union(REMOTE, IN_FRONT, ("sudo",))
# What is told as a run or as its folder, or hands a text on whose own commands are here.
_TOLD = SHELLS.union(FOLDERS, REMOTE, SUBMITTERS, ("eval", "exec"))
_IN_CONTAINERS = frozenset(f"{name} {does}" for name in CONTAINERS for does in ("run", "exec"))
_STARTERS = _IN_CONTAINERS.union(PER_GPU, MPI, STEPS, BY_MPI, BY_JSRUN)
_OF_OTHERS = ("defect", "assumed")  # they do not say what becomes of a line
_WORD = re.compile(r"\w+")
_FIRST = 4  # words that tell a command from the others of its text


def left(reading: ShellReading, findings: Sequence[Finding]) -> Iterator[tuple[Told, list[Command]]]:
    """Those of each line, with what is said of them."""
    lines = {line_of(each.place) for each in reading.statements if program_of_statement(each) in _GIVEN_TEXTS}
    if not lines:
        return
    own = {each.written for each in reading.statements}
    its = [each for each in _opened(reading, lines, findings) if each.written not in own]
    said = _said(findings, {line_of(each.place) for each in its})
    rows = (
        (each, told)
        for each in its
        if (told := _told(each)) is not None and not _is_said(each, said.get(line_of(each.place), ()))
    )
    for (_, told), group in groupby(rows, key=lambda row: (line_of(row[0].place), row[1])):
        yield told, [each for each, _ in group]


def _opened(reading: ShellReading, lines: set[Line], findings: Sequence[Finding]) -> Iterator[Command]:
    """The commands of these lines, where the job is made of what ssh starts those that it starts."""
    of_run = (each for each in findings if each.key == "command" or each.why == mpi.BY_SRUN)
    run = {line_of(place) for each in of_run for place in each.places}
    for command in reading.commands:
        if line_of(command.place) not in lines:
            continue
        if command.program in REMOTE and line_of(command.place) in run:
            yield from over_ssh.inside(reading, command)
        else:
            yield command


def _told(command: Command) -> Told | None:
    """What is said of it where nothing else is, None where nothing needs to be."""
    program = command.program
    if command.within or command.signals or program in _TOLD or _is_output(command.words):
        return None
    if program in PLUMBING:
        is_file = ">" in command.written and any(not is_device(each.path) for each in command.writes)
        return lines_told.FILE if is_file else None
    starts = any(layer.program in _STARTERS for layer in layers(command.words))
    return None if starts else lines_told.LEFT


def _is_output(words: Sequence[Value]) -> bool:
    """Whether it is what a program writes, and eval is given."""
    first = words[0][0] if words and words[0] else ""
    return isinstance(first, Unknown) and first.kind == "output"


def _said(findings: Sequence[Finding], lines: set[Line]) -> dict[Line, list[frozenset[str]]]:
    """The words of each thing that is said of these lines."""
    found: dict[Line, list[frozenset[str]]] = {}
    for each in findings if lines else ():
        for line in lines.intersection(map(line_of, each.places)) if each.kind not in _OF_OTHERS else ():
            found.setdefault(line, []).extend(map(_words, (each.what, each.became)))
    return found


def _is_said(command: Command, said: Sequence[frozenset[str]]) -> bool:
    texts = (command.written, " ".join(map(shown, command.words)))
    firsts = [_words(" ".join(text.split()[:_FIRST])) for text in texts]
    return any(first <= words for first in firsts for words in said)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))
