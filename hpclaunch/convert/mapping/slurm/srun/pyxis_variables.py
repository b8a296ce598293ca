"""Options of Pyxis that variables give: from its release 0.21 on, where the command line does not (README.md
of Pyxis 0.21, "Environment variables")."""

from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, origin_of
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known

_PREFIX = "PYXIS_CONTAINER_"
_VALUES = frozenset(("IMAGE", "MOUNTS", "WORKDIR", "NAME", "SAVE", "ENV"))
# What 1 and what 0 stand for.
_SWITCHES = {
    "MOUNT_HOME": ("container-mount-home", "no-container-mount-home"),
    "REMAP_ROOT": ("container-remap-root", "no-container-remap-root"),
    "ENTRYPOINT": ("container-entrypoint", "no-container-entrypoint"),
    "WRITABLE": ("container-writable", "container-readonly"),
    "READONLY": ("container-readonly", "container-writable"),
}
_ON = frozenset(("1", "true", "yes", "y"))
_OFF = frozenset(("0", "false", "no", "n"))


def asked(reading: ShellReading, command: Command, given: Sequence[Asked]) -> Iterator[Asked]:
    """Those of the variables that are exported to the srun, but for what its own options say."""
    names = {each.name for each in given}
    for variable, value in {**dict(command.environment), **dict(command.prefix)}.items():
        part = variable.removeprefix(_PREFIX)
        if part == variable:
            continue
        in_front = variable in dict(command.prefix)
        places = (
            (command.place,) if in_front else origin_of(reading, variable, command.place) or (command.place,)
        )
        if part in _VALUES:
            name = f"container-{part.lower()}"
            if name not in names and value:
                yield Asked(name, value, variable, places, "variable")
            continue
        both = _SWITCHES.get(part)
        text = (known(value) or "").lower()
        if both and text in _ON | _OFF and names.isdisjoint(both):
            yield Asked(both[text in _OFF], None, variable, places, "variable")


def say(found: Sequence[Asked], draft: Draft) -> None:
    """That an older Pyxis took no notice of these."""
    for each in found:
        if each.how == "variable" and each.written.startswith(_PREFIX):
            draft.say(
                "assumed",
                each.places,
                each.written,
                became=f"--{each.name}",
                why="Pyxis reads it from its release 0.21 on",
                todo="where the original ran with an older one, take what it says out of the job file",
            )
