"""Options of Pyxis that variables give, where the command line does not: its own from its release 0.21 on
(README.md of Pyxis 0.21, "Environment variables"), and those that Slurm has for the options of each plugin
(src/common/spank.c of Slurm: srun reads the one, slurmstepd the other)."""

from collections.abc import Iterator, Sequence

from hpclaunch.convert import shared_exports
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, origin_of
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value, known

_PREFIX = "PYXIS_CONTAINER_"
_OF_STEPD = "_SLURM_SPANK_OPTION_pyxis_"
_OF_PLUGINS = (f"SLURM_SPANK_{_OF_STEPD}", _OF_STEPD)
_FIRST = (_PREFIX, *_OF_PLUGINS)
_VALUES = frozenset(("IMAGE", "MOUNTS", "WORKDIR", "NAME", "SAVE", "ENV"))
# What 1 and what 0 stand for.
_SWITCHES = {
    "MOUNT_HOME": ("container-mount-home", "no-container-mount-home"),
    "REMAP_ROOT": ("container-remap-root", "no-container-remap-root"),
    "ENTRYPOINT": ("container-entrypoint", "no-container-entrypoint"),
    "WRITABLE": ("container-writable", "container-readonly"),
    "READONLY": ("container-readonly", "container-writable"),
}
_OPPOSITE = {name: other for pair in _SWITCHES.values() for name, other in (pair, pair[::-1])}
_ON = frozenset(("1", "true", "yes", "y"))
_OFF = frozenset(("0", "false", "no", "n"))


def asked(reading: ShellReading, command: Command, given: Sequence[Asked]) -> Iterator[Asked]:
    """Those of the variables that are exported to the srun, but for what its own options say. Slurm tells
    Pyxis its own as options, before Pyxis looks for others."""
    names = {each.name for each in given}
    in_front_of_it = {name: value for name, value in command.prefix if _is_one(name)}
    exported = {**shared_exports.picked(command, _is_one), **in_front_of_it}
    for variable, value in sorted(exported.items(), key=lambda pair: pair[0].startswith(_PREFIX)):
        name, text = _option(variable, value)
        if not name or name in names or _OPPOSITE.get(name) in names:
            continue
        names.add(name)
        in_front = variable in in_front_of_it
        places = () if in_front else origin_of(reading, variable, command.place)
        yield Asked(name, text, variable, tuple(places) or (command.place,), "variable")


def _is_one(variable: str) -> bool:
    return variable.startswith(_FIRST)


def _option(variable: str, value: Value) -> tuple[str, Value | None]:
    """The option that a variable gives, with its value; no name where it gives none."""
    for prefix in _OF_PLUGINS:
        if variable.startswith(prefix):
            return variable.removeprefix(prefix).replace("_", "-"), value or None
    part = variable.removeprefix(_PREFIX)
    if part == variable:
        return "", None
    if part in _VALUES:
        return (f"container-{part.lower()}" if value else ""), value
    both, text = _SWITCHES.get(part), (known(value) or "").lower()
    return (both[text in _OFF] if both and text in _ON | _OFF else ""), None


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
