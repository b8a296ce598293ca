"""Containers that the ranks' own command starts: srun bash -c 'singularity exec IMAGE COMMAND', a script that
each rank executes, and the words of one that is handed them: srun ./each.sh
singularity exec IMAGE COMMAND."""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.bind import rank_script
from hpclaunch.convert.mapping.container import other_runtimes
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.layers import Layer, layers
from hpclaunch.convert.programs.names import CONTAINERS, SHELLS, any_of
from hpclaunch.convert.reading import Command, ShellReading, Source
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import program_of, shown
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

_PROGRAMS = (*other_runtimes.PROGRAMS, "docker run", "docker exec", "enroot start")
_OF_FILE = (
    "by its name a container's image, and so the command is what starts the container: the job has no image"
)
# An image as a word, or as the value of an option.
_FILE = re.compile(r"^(?:--?[\w-]+=)?[^\s=,:]+\.(?:sif|simg|sqsh|sqfs)$")
# Its solver input files end as images do ("ElmerSolver Manual", .sif).
_OF_ELMER = re.compile(r"Elmer(?:Solver|Grid)")
# A line that starts a container, wherever it stands: in a function that is handed over, in a text, or by a
# site's own program, which is named after the one that it calls (docker-gpu run).
_STARTS_ONE = re.compile(
    r"(?:(?:singularity|apptainer|docker|podman)[\w.-]{0,40}(?: +-\S{1,80}){0,12} +(?:exec|run|shell)"
    r"|enroot +start|shifter +(?:--image|run)|sarus +run|ch-run)(?=\s|$)"
)
_BEFORE_ONE = re.compile(r"(?:^|[^\w./-])(?:\S*/)?(?:\w[\w.-]*)?$")  # the rest of its word
_IS_SAID = re.compile(r"\b(?:echo|printf|alias)\b[^;|&]*$")
_NEAR = 80  # characters in front of it that are looked at
_SAY = that("says")
_WITH_FILES = that("says", "looks", "copies", "files", "archives", "fetches", "builds", "compiles")
_MOST = 200  # words of a command that are looked at
_LONGEST = 10_000  # characters of each
_MAY = re.compile(rf"\b{any_of(CONTAINERS, ('enroot', 'shifter', 'sarus'))}\b")
_WHY = (
    "what each rank executes starts the container: the job has no image, and what is said of mounts and "
    "variables for the container is in that text alone"
)
_TODO = (
    "that program has to be on the nodes; where the container is to be the job's write image, mounts and "
    "env, and the command without it"
)


def say(reading: ShellReading, run: Step, scripts: Sequence[Source], draft: Draft) -> None:
    """Say the first container that the run's own text, or a script of the ranks, starts."""
    for command, layer in _started(reading, run, scripts):
        options = [each.written for each in layer.options if each.value is not None]
        what = " ".join([layer.program, *options, *map(shown, layer.words[:1])])
        draft.say("left", (command.place,), what, why=_WHY, todo=_TODO)
        return
    words = [shown(word)[:_LONGEST] for word in run.words[1 : _MOST + 1]]
    if (
        program_of(run.words) not in SHELLS
    ):  # whose texts were read; those of another, as parallel's, were not
        words = [piece for word in words for piece in word.split()]
    file = next((each for each in words if _FILE.search(each)), "")
    if file and program_of(run.words) not in _WITH_FILES and not _OF_ELMER.match(program_of(run.words)):
        draft.say("left", (run.command.place,), file, why=_OF_FILE, todo=_TODO)


def _started(reading: ShellReading, run: Step, scripts: Sequence[Source]) -> Iterator[tuple[Command, Layer]]:
    yield from _in_words(run)
    commands = list(walk.inner(run.command, run.words))
    for source in rank_script.texts(run, scripts, reading.commands):
        commands += _commands(source)
    for command in commands:
        for layer in layers(command.words):
            if layer.program in _PROGRAMS:
                yield command, layer


def _in_words(run: Step) -> Iterator[tuple[Command, Layer]]:
    """Those that a program is handed to start, as words of its own or as one of its words."""
    if program_of(run.words) in _SAY:
        return
    for index, word in enumerate(run.words[1 : _MOST + 1], 1):
        text = shown(word)
        if not _MAY.search(text):
            continue
        found = [(run.command, layers(run.words[index:])[0])]
        if " " in text and program_of(run.words) not in SHELLS:
            inner = _commands(Source(run.command.place.file, text))
            found += [(run.command, layer) for each in inner for layer in layers(each.words)]
        yield from ((command, layer) for command, layer in found if layer.program in _PROGRAMS)


def _commands(source: Source) -> Sequence[Command]:
    """Those of a script; nothing where it starts no container, or is none."""
    if not _MAY.search(source.text):
        return ()
    try:
        return walk.read((source,), {}, source.name).commands
    except (ScriptError, InputError):
        return ()


def named(reading: ShellReading) -> Place | None:
    """The first line of the launcher that starts a container, whenever it may be run; None for none."""
    for source in reading.sources:
        for number, line in enumerate(source.text.splitlines(), 1):
            if _starts_one(line.partition("#")[0]):
                return Place(source.name, number)
    return None


def _starts_one(line: str) -> bool:
    for found in _STARTS_ONE.finditer(line):
        before = line[max(0, found.start() - _NEAR) : found.start()]
        if _BEFORE_ONE.search(before) and not _IS_SAID.search(before):
            return True
    return False
