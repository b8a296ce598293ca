"""Files of docker's --env-file, where they were given -> variables that are handed on.

docker/cli's opts/file.go and opts/env.go: a line is NAME=VALUE, where all behind the first = is the value,
also quotes and blanks, or NAME alone, which is taken from where docker is called; lines that begin with # say
nothing. What -e says counts more.
"""

from collections.abc import Iterator
from os.path import basename

from hpclaunch.convert.mapping.environment.handed_on import Handed
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.reading import Command, ShellReading, Source
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Place

_MOST = 3000  # lines


def given(reading: ShellReading, command: Command, layer: Layer) -> Iterator[Handed]:
    """The variables of all such files that were given."""
    there = dict(command.environment)
    for option in layer.all("env-file"):
        file = file_of(reading, option)
        for number, line in enumerate(file.text.splitlines()[:_MOST] if file is not None else (), 1):
            name, equals, text = line.lstrip("\ufeff \t").partition("=")
            if file is not None and name.isidentifier():
                value = ((text,) if text else ()) if equals else None
                places = (Place(file.name, number), command.place)
                yield Handed(name, value, f"{layer.program} --env-file", places, there)


def unread(file: Source) -> Iterator[tuple[Place, str]]:
    """Lines that no job file can have: names that are none of a shell's."""
    for number, line in enumerate(file.text.splitlines(), 1):
        text = line.lstrip("\ufeff \t")
        if text and text[0] != "#" and (number > _MOST or not text.partition("=")[0].isidentifier()):
            yield Place(file.name, number), text.partition("=")[0]


def file_of(reading: ShellReading, option: Option) -> Source | None:
    """The input that the option names, None where it was not given."""
    name = basename(known(option.value or ()) or "")
    files = (*reading.sources, *reading.beside)
    return next((each for each in files if basename(each.name) == name), None)
