"""Where docker's client takes variables from that its options name alone: the shell that calls it, and files
of --env-file, where they were given.

docker/cli's opts/file.go and opts/env.go: a line is NAME=VALUE, where all behind the first = is the value,
also quotes and blanks, or NAME alone, which is taken from where docker is called; lines that begin with # say
nothing. What -e says counts more.
"""

from collections.abc import Iterator, Sequence
from os.path import basename

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.docker.steps import Started
from hpclaunch.convert.mapping.environment.handed_on import OVER_SSH, TAKE_OUT, Handed
from hpclaunch.convert.mapping.words.texts import as_written
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.programs.names import REMOTE
from hpclaunch.convert.reading import Command, ShellReading, Source
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Place

_MOST = 3000  # lines


def by_prefix(command: Command, options: Sequence[Option]) -> list[Option]:
    """podman's -e with each PREFIX* as the exported variables that begin so (podman-run(1), --env)."""
    found: list[Option] = []
    for option in options:
        text = known(as_written(option.value or ())) or ""
        if text.endswith("*") and "=" not in text:
            names = (name for name, _ in command.environment if name.startswith(text[:-1]))
            found += [structs.replace(option, value=(name,)) for name in names]
        else:
            found.append(option)
    return found


def caller(step: Started) -> Command:
    """The command with what docker's client has in its environment, also by A=1 in front of it."""
    there = {**dict(step.command.environment), **dict(step.command.prefix)}
    return structs.replace(step.command, environment=tuple(there.items()))


def say_far(reading: ShellReading, step: Started, handed: Sequence[Handed], draft: Draft) -> None:
    """Say of variables that the script exports, and docker's client is told by name alone, that ssh hands on
    none of them. What the text for the other machine sets itself is there (it is in no reading)."""
    its = {
        each.name: each
        for each in handed
        if each.value is None and each.name in each.there and f"{each.name}=" not in step.command.written
        if (last := reading.last(each.name)) is not None and last.exported
    }
    if step.layer(*REMOTE) is None or not its:
        return
    what = f"{next(iter(its.values())).by} {', '.join(its)}"
    places = tuple(dict.fromkeys(place for each in its.values() for place in each.places))
    draft.say("assumed", places, what, became="env of all ranks", why=OVER_SSH, todo=TAKE_OUT)


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
