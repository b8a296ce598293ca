"""Launchers for GPUs that a script starts on its hosts by ssh, pdsh or their like, where nothing else starts
ranks: for h in ...; do ssh $h torchrun ...; done. They are one run, whose ranks srun starts."""

import re
from collections.abc import Iterator, Sequence

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment.handed_on import OVER_SSH, TAKE_OUT
from hpclaunch.convert.mapping.ranks import mpi
from hpclaunch.convert.mapping.slurm.scripts.submitted import written_by
from hpclaunch.convert.mapping.words import hosts
from hpclaunch.convert.mapping.words.hosts import Counted
from hpclaunch.convert.programs import ssh
from hpclaunch.convert.programs.layers import PER_GPU, layers
from hpclaunch.convert.programs.names import BY_TORCH, SHELLS, any_of
from hpclaunch.convert.reading import Command, ShellReading, once
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.values import Value, known, program_of, shown
from hpclaunch.values.conversion import Place

_MAY = re.compile(rf"\b{any_of(BY_TORCH)}\b")
_SOURCES = re.compile(r"(?:^|[;&\n])\s*((?:source|\.)\s+[^\s;&|][^;&|\n]*)")
_TO_HOSTS = frozenset(ssh.TABLES)
_PLAIN = re.compile(r"-(?!c)[a-bd-z]*|--(?:login|norc|noprofile)")  # options of a shell without a text
_MOST = 40  # commands over ssh that are looked into
_FOLDER, _WORKDIR = "the job file's folder", "write workdir, where the command needs the files of another one"
_HOME = "ssh starts a command in the home of the user there, and ranks start in the job file's folder"


def recognise(reading: ShellReading) -> Place | None:
    """The first line that starts a launcher over ssh."""
    return next((outer.place for outer, _ in _started(reading)), None)


def opened(reading: ShellReading) -> ShellReading:
    """The reading with what ssh starts in place of ssh."""
    inside = {id(outer): its for outer, its in _started(reading)}
    commands: list[Command] = []
    for each in reading.commands:
        commands += inside.get(id(each), (each,))
    return structs.replace(reading, commands=tuple(commands))


def say(reading: ShellReading, run: Command, draft: Draft) -> None:
    """What tells the hosts, and that it may tell other ones than the launcher does."""
    outer = next((each for each, its in _started(reading) if any(run is one for one in its)), None)
    if outer is None:
        return
    for text in dict.fromkeys(_SOURCES.findall("\n".join(map(shown, _remote(reading, outer))))):
        why = "what ssh starts does it first, and no line of the job file has it"
        todo = "write it in front of the command, if the ranks need what it sets"
        draft.say("left", (outer.place,), text.strip(), why=why, todo=todo)
    to = " ".join(map(shown, layers(outer.words)[0].words))
    draft.say("replaced", (outer.place,), f"{outer.program} {to}".strip(), why=mpi.BY_SRUN)
    _say_exports(reading, outer, run, draft)
    if ("workdir",) not in draft.facts:
        draft.say("assumed", (outer.place,), "the working folder", became=_FOLDER, why=_HOME, todo=_WORKDIR)
    counted = _counted(outer)
    if counted is None:
        return
    nodes = draft.number("nodes")
    if nodes is not None and nodes != counted.count:
        why = f"how many nodes: {counted.what} says {counted.count}, and what it starts there says {nodes}"
        draft.say("question", counted.places, counted.what, why=why, todo="correct `nodes`")


def _say_exports(reading: ShellReading, outer: Command, run: Command, draft: Draft) -> None:
    """Say of variables that the script exports, and the job gives its ranks, that ssh hands on none."""
    own = {name for name, value in run.prefix} | {
        name for name, value in run.environment if (name, value) not in outer.environment
    }
    its = {
        name: last
        for name, _ in outer.environment
        if name not in own and (last := reading.last(name)) is not None and last.exported
        if ("env", name) in draft.facts
    }
    if its:
        places = (outer.place, *(each.place for each in its.values()))
        became = "env of all ranks"
        draft.say("assumed", places, ", ".join(its), became=became, why=OVER_SSH, todo=TAKE_OUT)


def _counted(outer: Command) -> Counted | None:
    """The hosts, where the loop over them or the option for them is told."""
    for loop in hosts.loops_over(outer):
        return hosts.of_loop(loop)
    for option in layers(outer.words)[0].all("host"):
        text = known(option.value or ())
        number = hosts.count(text) if text else None
        return Counted(number, (outer.place,), option.written) if number else None
    return None


@once
def _started(reading: ShellReading) -> tuple[tuple[Command, tuple[Command, ...]], ...]:
    """Each command over ssh that starts a launcher, with what it starts."""
    return tuple(_found(reading))


def _found(reading: ShellReading) -> Iterator[tuple[Command, tuple[Command, ...]]]:
    for command in reading.of(*_TO_HOSTS)[:_MOST]:
        if command.within:
            continue
        words = _remote(reading, command)
        if not any(_MAY.search(shown(word)) for word in words):
            continue
        its = _inside(command, words)
        if any(layer.program in PER_GPU for each in its for layer in layers(each.words)):
            yield command, its


def inside(reading: ShellReading, command: Command) -> tuple[Command, ...]:
    """What a command over ssh starts."""
    return _inside(command, _remote(reading, command))


def _inside(command: Command, words: Sequence[Value]) -> tuple[Command, ...]:
    outer = structs.replace(hosts.marked(command, layers(command.words)), background=False)
    if program_of(words) in SHELLS:
        return walk.inner(outer, words)
    return (structs.replace(outer, words=tuple(words), stdin=None),)


def _remote(reading: ShellReading, command: Command) -> list[Value]:
    """The words of the remote command: of a file that the script wrote, its text."""
    words = ssh.read(command.words)[1]
    if command.stdin and _reads_input(words):
        return [words[0] if words else ("bash",), ("-c",), command.stdin]
    path = (
        words[0] if len(words) == 1 else words[1] if len(words) == 2 and program_of(words) == "bash" else None
    )
    writer = written_by(reading, path, command) if path is not None else None
    return [("bash",), ("-c",), writer.stdin] if writer is not None and writer.stdin else words


def _reads_input(words: Sequence[Value]) -> bool:
    """Whether it is a shell that is given its text by ssh: none that is named, bash -s, sh -e."""
    is_shell = not words or program_of(words) in SHELLS
    return is_shell and all(_PLAIN.fullmatch(known(word) or "") for word in words[1:])
