"""The one mpirun or torchrun of a text that stands in a loop: its words, and the loop as trials."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import trials
from hpclaunch.convert.mapping.around.rounds import counts_trials
from hpclaunch.convert.mapping.around.trials import Trials
from hpclaunch.convert.mapping.words.hosts import loops_of_trials
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.layers import MPI, PER_GPU, layers
from hpclaunch.convert.reading import Command, ShellReading, Source
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import Unknown, Value, program_of
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

# What a launcher starts on all nodes to see whether they are there: until mpirun hostname; do sleep 5; done
_PROBES = that("says", "looks", "devices")
_LONGEST = 32_000


class Looped(Struct, frozen=True):
    """The reading of the text, and the command in it that starts the ranks in each round."""

    reading: ShellReading
    command: Command


def find(text: str, place: Place, variables: Mapping[str, str | None]) -> Looped | None:
    """The one command of a text that starts ranks in rounds of a loop, all alike but for the number of the
    round; None where there is none, or where it depends on more. `place` is that of a block of text."""
    if place.last <= place.line or len(text) > _LONGEST:
        return None
    given = {name: value for name, value in variables.items() if value is not None}
    try:
        # Its lines are those of the manifest: the text begins below the line of its key.
        source = Source(place.file, "\n" * place.line + text)
        reading = walk.read([source], given, script=place.file)
    except (ScriptError, InputError):
        return None
    runs = [each for each in reading.commands if _starts_ranks(each) and not _probes(each)]
    if len(runs) != 1 or runs[0].conditions or runs[0].pipeline[0] or not _are_trials(runs[0]):
        return None
    return Looped(reading, runs[0])


def put(looped: Looped | None, inner: Sequence[Value], draft: Draft) -> Trials:
    """The trials of the job, where the command stands in a loop. `inner` is what each rank executes."""
    if looped is None:
        return Trials()
    handed = dict(_handed(looped.command))
    return trials.find(looped.reading, trials.Run(looped.command, inner, handed=handed), draft)


def _starts_ranks(command: Command) -> bool:
    if command.within or command.signals:
        return False
    return any(layer.program in (*MPI, *PER_GPU) for layer in layers(command.words))


def _probes(command: Command) -> bool:
    return program_of(layers(command.words)[-1].words) in _PROBES


def _are_trials(command: Command) -> bool:
    """Whether each round is a trial: what goes through other values makes another job of each."""
    loops = loops_of_trials(command)
    if len(loops) != 1 or len(command.loops) != 1 or loops[0].count is None:
        return False
    name = loops[0].variable
    used = {part.name for word in command.words for part in word if isinstance(part, Unknown)}
    return name not in used or counts_trials(loops[0])


def _handed(command: Command) -> list[tuple[str, Value]]:
    """The variables that -x gives a value which the loop tells."""
    found = []
    for layer in layers(command.words):
        for option in layer.all("x"):
            head, *rest = option.value or ("",)
            name, equals, text = head.partition("=") if isinstance(head, str) else ("", "", "")
            if equals and rest:
                found.append((name, (*((text,) if text else ()), *rest)))
    return found


def waits(looped: Looped, first: int, last: int) -> bool:
    """Whether these lines only wait until all nodes answer: until mpirun true; do sleep 5; done"""
    of_lines = [each for each in looped.reading.commands if first <= each.place.line <= last]
    return any(map(_starts_ranks, of_lines)) and all(map(_probes, of_lines))


def is_of(looped: Looped, first: int, last: int) -> bool:
    """Whether these lines have the loop."""
    lines = [looped.command.place.line, *(loop.place.line for loop in looped.command.loops)]
    return any(first <= line <= last for line in lines)
