"""What of a script's environment reaches its ranks, by the options of what starts them; and what the
submitter's shell has beside it."""

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment import sourced
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.slurm.batch.asked import origin_of
from hpclaunch.convert.mapping.slurm.batch.export import Export
from hpclaunch.convert.programs.flags import cut
from hpclaunch.convert.programs.layers import Layer, layers
from hpclaunch.convert.programs.plain import by_env
from hpclaunch.convert.programs.slurm_variables import is_slurms
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.readback.shell.values import Unknown, Value, shown
from hpclaunch.values.conversion import Place
from hpclaunch.values.names import acts_on_commands

# What LSF, PBS, Grid Engine, Fujitsu's TCS, Cobalt, OAR and LoadLeveler set in a job of theirs; and NEC's
# NQSV, which reads lines of #PBS too ("NQSV User's Guide [Operation]").
_OF_ANOTHER = re.compile(
    r"(?:LSB|LSF|PBS|SGE|PJM|COBALT|OAR|LOADL|NQSII)_[A-Z]|(?:NSLOTS|NHOSTS|PE_HOSTFILE)$"
)
OF_SCHEDULER = "the scheduler of the original sets it, and Slurm and Kubernetes do not"
_LONGEST = 200  # characters of a value that is told: it may stand nowhere else
STAND_IN = "write in the command what stands for it"


class Handed(Struct, frozen=True):
    """A variable that reaches the ranks, and its lines."""

    name: str
    value: Value
    places: tuple[Place, ...]

    @property
    def short(self) -> str:
        """Its value for people, of a secret none."""
        text = "..." if is_secret(self.name) else shown(self.value)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def reached(reading: ShellReading, command: Command, export: Export, draft: Draft) -> list[Handed]:
    """What the ranks get of the script's environment. What an option keeps from them is said."""
    exported = {**dict(command.environment), **dict(command.prefix)}
    its = layers(command.words)
    given, removed = by_env(its, exported.items())
    sourced.say_env(command, its, draft)
    prefixed = {**dict(command.prefix), **given}
    there = {name: value for name, value in {**exported, **given}.items() if name not in removed}
    if removed:
        why = "exported, but env keeps it from the ranks"
        draft.say("without effect", (command.place,), ", ".join(sorted(removed)), why=why)
    named = dict(export.given)
    if export.yields:
        own = _given_by_script(reading, export, there)
        _say_exported(export, own, draft)
        named = {name: value for name, value in named.items() if name not in own}
    by_x = _by_x(its)
    found, kept_back = [], []
    for name, value in there.items():
        places = (command.place,) if name in prefixed else origin_of(reading, name, command.place)
        places = places or (command.place,)
        if named.get(name) is not None or by_x.get(name) is not None:
            continue
        # --cleanenv keeps none of Singularity's own from it (apptainer(1), "Environment variables").
        is_its_own = owner(name) == "runtime" and export.written.startswith("singularity")
        if export.of_script or name in named or is_its_own or owner(name) in ("srun", "enroot"):
            found.append(Handed(name, value, places))
        elif name not in by_x:
            kept_back.append(Handed(name, value, places))
    found += [Handed(name, value, export.places) for name, value in named.items() if value is not None]
    if kept_back:
        draft.say(
            "without effect",
            tuple(dict.fromkeys(place for each in kept_back for place in each.places)),
            ", ".join(each.name for each in kept_back),
            why=f"exported, but {export.written} keeps it from the ranks",
        )
    for name, kept in export.given:
        if kept is not None or name in there or not name.isidentifier():
            continue
        assigned = reading.last(name)
        if assigned is not None and not assigned.exported and assigned.place.file == command.place.file:
            why = "the script sets it and does not export it: ranks have it only if the submitter did"
            todo = f"write env.{name} in the job file if the ranks are to have it"
            what = f"{export.written}: {name}"
            draft.say("left", (*export.places, assigned.place), what, why=why, todo=todo)
        else:
            inherit((name,), export.places, draft, f"{export.written}: {name}")
    _say_misread(export, named, draft)
    if export.unclear:
        why = "which variables it hands on is not told, and all that are exported are taken"
        draft.say("assumed", export.places, export.written, why=why)
    return found


def _say_misread(export: Export, named: Mapping[str, Value | None], draft: Draft) -> None:
    """Say which values Slurm reads otherwise than they are meant. `named` are those that the ranks have."""
    for name in export.cut:
        got = f"{name}={shown(named.get(name) or ())}"
        why = f"Slurm ends a value of --export at a comma: ranks got {got} alone"
        todo = f"write all of it under env.{name}, or leave it to hpclaunch"
        draft.say("defect", export.places, export.written, why=why, todo=todo)
    for name in export.quoted:
        why = "Slurm takes quotes within the option for a part of the value, and ranks got them"
        todo = f"write env.{name} without them if they are not meant"
        draft.say(
            "defect", export.places, f"{name}={shown(dict(export.given)[name] or ())}", why=why, todo=todo
        )
    if export.unread:
        why = f"srun reads nothing behind NONE: no rank got {', '.join(export.unread)}"
        todo = "write those under env that the ranks are to have"
        draft.say("defect", export.places, export.written, why=why, todo=todo)


def given(command: Command, export: Export) -> dict[str, Value]:
    """The variables that the ranks get of the script's environment and of the options of what starts them,
    whatever each of them keeps back."""
    its = layers(command.words)
    by_script = {**dict(command.environment), **dict(command.prefix)}
    by_options = {**dict(export.given), **_by_x(its)}
    values = {name: value for name, value in by_options.items() if value is not None}
    exported = {**by_script, **by_env(its, by_script.items())[0]}
    return {**exported, **values, **(exported if export.yields else {})}


def _given_by_script(reading: ShellReading, export: Export, there: Mapping[str, Value]) -> dict[str, Value]:
    """What is exported of the variables that --export gives a value: by the script itself, as that which
    sbatch is told is in SLURM_EXPORT_ENV and exported alike."""
    names = [name for name, value in export.given if value is not None and name in there]
    files = {name: {each.place.file for each in reading.given(name)} for name in names}
    return {name: there[name] for name in names if reading.script in files[name] or not files[name]}


def _may_be_given(own: Value) -> bool:
    """Whether the script may have left the variable as it was given to it."""
    return any(isinstance(part, Unknown) and part.kind == "either" for part in own)


def _say_exported(export: Export, own: Mapping[str, Value], draft: Draft) -> None:
    """Say which values of --export=ALL,NAME=VALUE no rank has."""
    for name, value in export.given:
        if value is not None and name in own and own[name] != value and not _may_be_given(own[name]):
            why = f"{name} is exported, and with ALL srun hands on that value, and not this one"
            if export.by_shell:
                why = f"{name} is exported, and what the script's shell starts has that value, not this one"
            todo = f"where they are to have the other value write it under env.{name}"
            draft.say("defect", export.places, export.written, why=why, todo=todo)


def _by_x(its: Sequence[Layer]) -> dict[str, Value | None]:
    """Those that mpirun's -x names, with their values, None for the one that they have."""
    found: dict[str, Value | None] = {}
    for option in (option for layer in its for option in layer.all("x")):
        parts = cut(option.value or (), "=")
        name = parts[0] if parts else shown(option.value or ())
        found[name] = parts[1] if parts else found.get(name)
    return found


def inherit(
    names: Sequence[str],
    places: Sequence[Place],
    draft: Draft,
    what: str,
    added: Collection[str] = (),
    before: str = "",
) -> None:
    """Variables that nobody gave, and that the ranks' command names: the submitter's shell has them. Those of
    `added` are named by exports of their own (LD_LIBRARY_PATH=/lib:$LD_LIBRARY_PATH). `before` is what a rank
    does first, and may set them."""
    for name in names:
        if draft.lists("inherit", name) or draft.lists("secrets", name) or ("env", name) in draft.facts:
            continue
        if name == "PATH" or (name in added and owner(name) == "image" and acts_on_commands(name)):
            why = f"the command adds to the {name} that a rank has on its node, and not to the submitter's"
            todo = "where programs are found in the submitter's own, name them with their folders"
            if name != "PATH":
                todo = "where libraries are found in the submitter's own, add their folders in the export"
            draft.say("left", places, what, why=why, todo=todo)
            continue
        if _OF_ANOTHER.match(name):
            draft.say("left", places, name, why=OF_SCHEDULER, todo=STAND_IN)
            continue
        if name.startswith("SLURM_") and not is_slurms(name):
            why = f"no line gives {name} a value, and Slurm has no variable of that name: it is empty"
            why += ", but where a site sets it in each job"
            todo = "where another is meant, or the site sets none, write that in the command"
            draft.say("left", places, what, why=why, todo=todo)
            continue
        if acts_on_commands(name) or owner(name) == "shell":
            why = f"{name} changes how a job is started, and is not inherited"
            todo = "write in the command what it stands for" if is_slurms(name) else f"set {name} in env"
            draft.say("left", places, what, why=why, todo=todo)
            continue
        key = "secrets" if is_secret(name) else "inherit"
        why = "nobody gave it: it is taken from the shell of who submits"
        if before:
            why = f"{why}, where `{before}` in the command does not set it"
        draft.put((key, draft.count(key)), name, places, what, why=why)
