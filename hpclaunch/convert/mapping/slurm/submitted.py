"""Scripts inside of scripts: `sbatch --wrap="..."` and `sbatch <<EOF`."""

from functools import lru_cache

from msgspec import structs

from hpclaunch.convert.mapping.slurm.sizes import sizes
from hpclaunch.convert.programs import srun
from hpclaunch.convert.reading import Command, ShellReading, Source
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError


def unwrapped(reading: ShellReading) -> ShellReading:
    """The reading of the script that an sbatch command is given, behind that command. What stood around it
    ran where it was submitted. The reading itself where no sbatch has a script in it."""
    for command in reversed(reading.commands):
        if command.program != "sbatch":
            continue
        layer, rest = srun.read(command.words)
        wrap = layer.option("wrap")
        given = wrap.value if wrap is not None else command.stdin if not rest else None
        if given:
            found = _read(reading, command, given, whole=wrap is None)
            return found if found is not None else reading
    return reading


def _read(reading: ShellReading, command: Command, given: Value, *, whole: bool) -> ShellReading | None:
    """`whole`: the text is a script, with lines of its own."""
    text = shown(given)
    first = max(command.place.last, command.place.line) - text.count("\n") if whole else command.place.line
    source = Source(command.place.file, "\n" * (first - 1) + text)
    exported = {name: value for name, each in command.environment if (value := known(each)) is not None}
    inner = _joined(reading, command, source, exported, whole=whole)
    numbers = {name: str(value) for name, value in sizes(inner).numbers.items()} if inner else {}
    if inner is None or not numbers:
        return inner
    return _joined(reading, command, source, {**exported, **numbers}, whole=whole)


def _joined(
    reading: ShellReading, command: Command, source: Source, environment: dict[str, str], *, whole: bool
) -> ShellReading | None:
    inner = _walked(source, tuple(environment.items()))
    if inner is None:
        return None
    place = command.place
    commands = (
        inner.commands if whole else tuple(structs.replace(each, place=place) for each in inner.commands)
    )
    assigned = tuple(each for each in inner.assigned if not each.place.file.startswith("--env "))
    return structs.replace(
        reading,
        commands=(structs.replace(command, stdin=None), *commands),
        directives=(*reading.directives, *inner.directives),
        assigned=(
            *reading.assigned,
            *(assigned if whole else (structs.replace(a, place=place) for a in assigned)),
        ),
        assumed=(*reading.assumed, *inner.assumed) if whole else reading.assumed,
        wanted={**_moved(inner.wanted, None if whole else place), **reading.wanted},
        sourced=(*reading.sourced, *inner.sourced),
    )


@lru_cache(maxsize=4)  # a family that asks whether the script is its own is asked to convert it next
def _walked(source: Source, environment: tuple[tuple[str, str], ...]) -> ShellReading | None:
    try:
        return walk.read((source,), dict(environment), source.name)
    except (ScriptError, InputError):
        return None


def _moved(wanted: dict[str, tuple[Place, ...]], place: Place | None) -> dict[str, tuple[Place, ...]]:
    return wanted if place is None else dict.fromkeys(wanted, (place,))
