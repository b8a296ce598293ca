"""What a rank's shell does before its command, in the order in which the script did it: `module load` and its
like, and exports of what only a rank knows."""

from collections.abc import Sequence

from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value, join
from hpclaunch.values.conversion import Place

Prepared = tuple[Place, tuple[Value, ...]]
Export = tuple[str, Value]


def in_order(
    reading: ShellReading, run: Command, prepared: Sequence[Prepared], exports: Sequence[Export]
) -> tuple[list[tuple[Value, ...]], list[Export]]:
    """The commands, with those exports among them that another of the commands follows in the script; and the
    exports behind all of them. What the options of the run itself give comes last."""
    first: list[tuple[Value, ...]] = []
    around = dict(run.environment).keys() - dict(run.prefix).keys()
    places = {name: _place(reading, run, name) if name in around else run.place for name, _ in exports}
    left = [(position(reading, run, places[name]), name, value) for name, value in exports]
    for place, words in prepared:
        here = position(reading, run, place)
        first += [(("export",), join([f"{name}=", *value])) for at, name, value in left if at < here]
        left = [each for each in left if each[0] >= here]
        first.append(words)
    return first, [(name, value) for _, name, value in left]


def position(reading: ShellReading, run: Command, place: Place) -> tuple[bool, int, int]:
    """Where a line stands among all of the input: configurations come before the script."""
    files = [source.name for source in reading.sources]
    file = files.index(place.file) if place.file in files else 0
    return place.file == run.place.file, file, place.line


def _place(reading: ShellReading, run: Command, name: str) -> Place:
    """The line from which what was exported around the run has its value."""
    each = reading.at(name, run.place)
    return run.place if each is None else each.place
