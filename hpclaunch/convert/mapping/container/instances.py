"""Instances of Singularity: `instance start IMAGE NAME` makes a container that stays, and `exec
instance://NAME` starts a command in it, with the image and the mounts of the first line (apptainer(1),
"instance start")."""

from collections.abc import Mapping

from msgspec import Struct, structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.programs.layers import Layer, layers
from hpclaunch.convert.programs.names import SINGULARITIES, STEPS
from hpclaunch.convert.programs.singularity import INSTANCE, PROGRAMS
from hpclaunch.convert.reading import Command, ShellReading, once
from hpclaunch.readback.shell.values import Unknown, Value, known, shown

_SCHEME = "instance://"
_MOST = 200  # commands that are looked at
_OWN = "each step of a job makes its own container, of the same image and with the same mounts"
_ENDS = "the container is the step's: it ends with it"


class Instance(Struct, frozen=True):
    """The command that makes one, and its layer as if it were `exec`: the image is its one word."""

    command: Command
    layer: Layer


def of(reading: ShellReading, layer: Layer) -> Instance | None:
    """That in which the layer starts its command, None where it is in an image, or no line makes it."""
    name = name_of(layer)
    return made(reading).get(name) if name else None


def name_of(layer: Layer) -> str:
    """The name of the instance in which the layer starts its command, "" for none."""
    text = shown(layer.words[0]) if layer.words else ""
    return text.removeprefix(_SCHEME) if text.startswith(_SCHEME) else ""


def unknown_image(layer: Layer) -> Value:
    """What stands for the image of an instance that no line makes."""
    return (Unknown("variable", f"the instance {name_of(layer)}"),)


def used(reading: ShellReading) -> list[Instance]:
    """Those in which something is started."""
    started = (each for command in reading.starting for each in layers(command.words))
    names = {name_of(each) for each in started if each.program in PROGRAMS}
    return [instance for name, instance in made(reading).items() if name in names]


def say(reading: ShellReading, draft: Draft) -> None:
    """What became of the lines that make those that are used, and that end them."""
    found = used(reading)
    for each in found:
        draft.say("replaced", (each.command.place,), each.command.brief(), why=_OWN)
    for command in reading.of(*SINGULARITIES)[-_MOST:] if found else ():
        if [known(word) for word in command.words[1:3]] == ["instance", "stop"]:
            draft.say("replaced", (command.place,), command.brief(), why=_ENDS)


@once
def made(reading: ShellReading) -> Mapping[str, Instance]:
    """The instances that the script makes, by their names; the last of a name counts."""
    found: dict[str, Instance] = {}
    for command in reading.of(*SINGULARITIES, *STEPS)[-_MOST:]:
        layer = next((each for each in layers(command.words) if each.program == INSTANCE), None)
        if layer is not None and len(layer.words) > 1 and not name_of(layer):
            as_exec = structs.replace(layer, program="singularity exec", words=layer.words[:1])
            found[shown(layer.words[1])] = Instance(command, as_exec)
    return found
