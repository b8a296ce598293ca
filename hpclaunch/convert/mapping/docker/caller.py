"""What docker's client hands on to a container: what its options name alone is taken from the shell that
calls it."""

from collections.abc import Sequence

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.docker import env_files
from hpclaunch.convert.mapping.docker.steps import Started
from hpclaunch.convert.mapping.environment import handed_on
from hpclaunch.convert.mapping.environment.handed_on import OVER_SSH, TAKE_OUT, Handed
from hpclaunch.convert.mapping.words.texts import as_written
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.programs.names import REMOTE
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import base_name, known

_PODMAN = frozenset(("podman", "podman-hpc"))


def is_podman(step: Started) -> bool:
    """Whether Podman starts it. Its containers are processes of the step, and keep the cores that srun gives
    each; docker's are the daemon's."""
    return any(base_name(word) in _PODMAN for word in step.command.words)


def of(step: Started) -> Command:
    """The command with what docker's client has in its environment, also by A=1 in front of it."""
    there = {**dict(step.command.environment), **dict(step.command.prefix)}
    return structs.replace(step.command, environment=tuple(there.items()))


def handed(reading: ShellReading, step: Started, layer: Layer, draft: Draft) -> list[Handed]:
    """What docker run or docker exec hands on: the variables of files, and behind them those of -e, which
    count more."""
    its = of(step)
    of_files = env_files.given(reading, its, layer)
    named = layer.all("env")
    if is_podman(step):
        named = _by_prefix(its, named)
    found = [*of_files, *handed_on.given(reading, its, named, f"{layer.program} -e")]
    _say_far(reading, step, found, draft)
    return found


def _by_prefix(command: Command, options: Sequence[Option]) -> list[Option]:
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


def _say_far(reading: ShellReading, step: Started, found: Sequence[Handed], draft: Draft) -> None:
    """Say of variables that the script exports, and docker's client is told by name alone, that ssh hands on
    none of them. What the text for the other machine sets itself is there (it is in no reading)."""
    its = {
        each.name: each
        for each in found
        if each.value is None and each.name in each.there and f"{each.name}=" not in step.command.written
        if (last := reading.last(each.name)) is not None and last.exported
    }
    if step.layer(*REMOTE) is None or not its:
        return
    what = f"{next(iter(its.values())).by} {', '.join(its)}"
    places = tuple(dict.fromkeys(place for each in its.values() for place in each.places))
    draft.say("assumed", places, what, became="env of all ranks", why=OVER_SSH, todo=TAKE_OUT)
