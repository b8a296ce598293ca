"""`srun singularity exec ...`, shifter and sarus: what they say of a container, as options of Pyxis.

All hand on the environment that they have, and start in the folder where they are called; Singularity unless
--cleanenv, --containall or --compat say otherwise, and it mounts the user's home unless told not to
(apptainer(1), "Environment variables" and "Bind paths and mounts"). Shifter's image may be given to sbatch
(doc/wlm/slurm.rst of its sources).
"""

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.container import instances
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, of_batch, of_options, origin_of
from hpclaunch.convert.mapping.slurm.batch.export import Export
from hpclaunch.convert.mapping.slurm.batch.export import of as export_of_step
from hpclaunch.convert.mapping.words.texts import path, split
from hpclaunch.convert.programs import singularity
from hpclaunch.convert.programs.flags import cut
from hpclaunch.convert.programs.layers import Layer, Option, layers
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, known, shown
from hpclaunch.values.conversion import Place

_BY_RUN = ("sarus run", "shifter run")
PROGRAMS = (*singularity.PROGRAMS, "shifter", *_BY_RUN)
# A variable that says the same as --env, by how its name begins.
_SETS = re.compile(r"(?:SINGULARITY|APPTAINER)ENV_(\w+)")
_ADDS = ("PREPEND_PATH", "APPEND_PATH")  # they change the PATH in the container, and are no variables there
_CLEANED = frozenset(("cleanenv", "containall", "compat", "clearenv"))
_WITHOUT_HOME = frozenset(("no-home", "contain", "containall", "compat", "home"))
_WRITABLE = frozenset(("writable", "writable-tmpfs"))
_SUBMITTED_FROM = "the folder from which the script is submitted"
_OTHER_FOLDER = ("pwd", "contain", "containall")
_TOLD = frozenset(("bind", "mount", "volume", "pwd", "workdir", "image", "env")) | _CLEANED | _WITHOUT_HOME
_OF_SHELL = "Singularity 2 has its shell execute them; Apptainer, and Singularity from 3 on, ignore them"
# --home SRC[:DEST] (apptainer(1)).
_HOME = (
    "it mounts that folder as the home, at the path behind its colon or at its own, and HOME is that there",
    "write it under mounts, and HOME in env, where the ranks need it",
)
# Options that do what Enroot's hooks and Pyxis do by themselves, and why.
_REPLACED = {
    **dict.fromkeys(("nv", "nvccli"), "Enroot's hook lets the GPUs of the job in"),
    # conf/mounts/10-system.fstab of Enroot, whose hooks know NVIDIA's and Mellanox's devices alone.
    "rocm": "Enroot mounts the node's /dev, where the GPUs are; libraries of ROCm have to be in the image",
    **dict.fromkeys(("mpi", "glibc", "mpi-type"), "the image's own MPI takes part by PMIx or PMI-2"),
    "tty": "a job has no terminal; its output is in `hpclaunch logs`",
    "no-umask": "ranks have the job's umask",
    **dict.fromkeys(("cleanenv", "clearenv"), "ranks get what the job file names, and the image's variables"),
}


def of(
    reading: ShellReading, command: Command, inner: Sequence[Layer]
) -> tuple[Layer | None, tuple[Layer, ...], tuple[Asked, ...]]:
    """The container program among the layers, the others, and what it says as options of Pyxis; None and the
    layers as they are where there is none, or where it starts nothing."""
    layer = next((each for each in inner if each.program in PROGRAMS), None)
    if layer is None or not (inner[-1].words or _starts_by_itself(layer)):
        return None, tuple(inner), ()
    where = inner.index(layer)
    others = (*(each for each in inner[:where] if each.program != "env"), *inner[where + 1 :])
    layer = singularity.with_variables(layer, _variables(reading, command))
    return layer, others, tuple(_asked(reading, command, layer))


def _starts_by_itself(layer: Layer) -> bool:
    """Whether the image has a command of its own, which counts where none stands behind it: its runscript
    (apptainer(1), "run"), or its entrypoint."""
    return layer.program in ("singularity run", *_BY_RUN) and bool(layer.words)


def export(command: Command, layer: Layer, outer: Export) -> Export:
    """Which variables the command has: all that the program has, and those of its options."""
    given = list(outer.given)
    for option in layer.all("env"):
        given += [pair for each in _settings(layer, option) if (pair := cut(each, "=")) is not None]
    has = command.environment if outer.of_script else ()
    for name, value in (*has, *outer.given):
        found = _SETS.fullmatch(name) if value is not None else None
        if found is not None and found[1] not in _ADDS:
            given.append((found[1], value))
    clean = any(option.name in _CLEANED for option in layer.options)
    names = tuple(each for each in given if each[0].isidentifier())
    by = layer.program if outer.of_script else outer.written
    its = Export(outer.everything and not clean, names, by, (command.place,), outer.unclear)
    return structs.replace(its, by_shell=outer.by_shell and not clean)


def variables(value: Value) -> list[Value]:
    """Each NAME=VALUE behind an --env of Singularity's, which pflag reads (stringToStringValue in its
    string_to_string.go): a text with one = is one of them, with all of its commas, and in one with more they
    are parted by commas. Until SingularityCE 3.9.8 and Apptainer 1.1 a comma parted always."""
    signs = sum(part.count("=") for part in value if isinstance(part, str))
    return [value] if signs == 1 else split(value, ",")


def _settings(layer: Layer, option: Option) -> Sequence[Value]:
    """Each NAME=VALUE of an option --env: Singularity's may have several."""
    value = option.value or ()
    return variables(value) if singularity.is_its(layer) else [value]


def say(layer: Layer, command: Command, draft: Draft, begun: str = ".") -> None:
    """What of the options no job file has. `begun` is the folder in which sbatch was told to begin."""
    say_folder(layer, command, draft, begun if begun.startswith("/") else _SUBMITTED_FROM)
    if layer.program == singularity.SHELL:
        became = "command"
        draft.say(
            "assumed", (command.place,), f"words behind {layer.program} IMAGE", became=became, why=_OF_SHELL
        )
    _say_options(layer, layer.program, command, draft)


def say_instance_options(reading: ShellReading, draft: Draft) -> None:
    """What of the options of the instances that are used no job file has."""
    for instance in instances.used(reading):
        _say_options(instance.layer, singularity.INSTANCE, instance.command, draft)


def _say_options(layer: Layer, program: str, command: Command, draft: Draft) -> None:
    for option in layer.options:
        what = f"{program} {option.written}"
        if not option.name:
            ask_options(layer, option, command, draft)
        elif option.name in _REPLACED:
            draft.say("replaced", (command.place,), what, why=_REPLACED[option.name])
        elif option.name == "home" and singularity.is_its(layer):
            draft.say("left", (command.place,), what, why=_HOME[0], todo=_HOME[1])
        elif option.name == "env":
            for each in _settings(layer, option):
                name = shown(each).partition("=")[0]
                if not name.isidentifier():
                    why = "it gives no variable whose name is letters, digits and _, or none that is told"
                    todo = "write it under env by the name that it has for the ranks"
                    draft.say("left", (command.place,), f"{program} --env {name}", why=why, todo=todo)
        elif option.name not in _TOLD | _WRITABLE or (option.name == "workdir" and singularity.is_its(layer)):
            why = f"an option of {program} that Pyxis has no counterpart of"
            todo = "see whether the program counts on it"
            draft.say("left", (command.place,), what, why=why, todo=todo)


def ask_options(layer: Layer, option: Option, command: Command, draft: Draft) -> None:
    """Ask for the options that a variable holds of which nothing is known."""
    question = (
        f"which options of {layer.program} {option.written} holds: mounts and variables may be among them"
    )
    todo = "write what it says in the job file"
    draft.say("question", (command.place,), f"{layer.program} {option.written}", why=question, todo=todo)


def say_folder(layer: Layer, command: Command, draft: Draft, begun: str = _SUBMITTED_FROM) -> None:
    """The folder in which a command starts that is told of none: Singularity mounts the one that it is called
    in (apptainer(1), "Bind Paths and Mounts"), and Shifter goes to it (--workdir in its src/shifter.c).
    `begun` is the folder in which the script is where it has gone to none."""
    of_singularity = singularity.is_its(layer)
    names = _OTHER_FOLDER if of_singularity else ("workdir",)
    if any(each.name in names for each in layer.options) or layer.program.startswith("sarus"):
        return
    here = path(command.folder) if command.folder else "."
    folder = begun if here == "." else here or shown(command.folder)
    does = "mounts the folder" if of_singularity else "goes to the folder"
    why = f"{layer.program.split()[0]} {does} that it is called in, and starts the command there"
    todo = "write it as workdir in the job file, and under mounts"
    draft.say("left", (command.place,), f"the working folder: {folder}", why=why, todo=todo)


def _asked(reading: ShellReading, command: Command, layer: Layer) -> Iterator[Asked]:
    instance = instances.of(reading, layer)
    if instance is not None:
        its = _asked(reading, instance.command, instance.layer)
        yield from (each for each in its if each.name != "container-workdir")
        yield from _folder(reading, command, layer)
        return
    yield _image(reading, command, layer)
    for name in ("bind", "volume", "mount"):
        for option in layer.all(name):
            value = _mounts(command, option)
            places = _lines(reading, command, option)
            yield Asked("container-mounts", value, option.written, places, "enroot")
    for text, word, place in _of_sbatch(reading, ("--volume",)) if layer.program == "shifter" else ():
        yield Asked("container-mounts", (text.replace(";", ","),), word, (place,), "directive")
    for name, value in _variables(reading, command):
        if singularity.BINDS.fullmatch(name) and singularity.is_its(layer):
            by_option = _by_export(reading, command).places
            lines = origin_of(reading, name) or by_option or (command.place,)
            yield Asked("container-mounts", value, name, lines, "enroot")
    yield from _folder(reading, command, layer)
    if singularity.is_its(layer):
        names = {option.name for option in layer.options}
        written = next((each.written for each in layer.options if each.name in _WRITABLE), "")
        switch, what = ("container-writable", written) if written else ("container-readonly", layer.program)
        yield Asked(switch, None, what, (command.place,), "enroot")
        if names.isdisjoint(_WITHOUT_HOME):
            what = f"{layer.program} without --no-home"
            yield Asked("container-mount-home", None, what, (command.place,), "enroot")


def _folder(reading: ShellReading, command: Command, layer: Layer) -> Iterator[Asked]:
    folder = layer.option("pwd") or (None if singularity.is_its(layer) else layer.option("workdir"))
    if folder is not None and folder.value:
        lines = _lines(reading, command, folder)
        yield Asked("container-workdir", folder.value, folder.written, lines, "enroot")


def _variables(reading: ShellReading, command: Command) -> list[tuple[str, Value]]:
    """What the program has: of the script, in front of the command, and by --export."""
    given = _by_export(reading, command).given
    named = [(name, value) for name, value in given if value is not None]
    return [*command.environment, *command.prefix, *named]


def _by_export(reading: ShellReading, command: Command) -> Export:
    """What --export of srun, or of sbatch, hands to the program."""
    srun = next((each for each in layers(command.words) if each.program == "srun"), None)
    its = of_options(reading, command, srun.options) if srun is not None else ()
    return export_of_step(
        reading, command, next((each for each in its if each.name == "export"), None), of_batch(reading)
    )


def _lines(reading: ShellReading, command: Command, option: Option) -> tuple[Place, ...]:
    text = known(option.value or ())
    return (reading.origin(command, text) if text else ()) or (command.place,)


def _from(folder: str, mount: Value) -> Value:
    """SRC:DST with the folder in front of a relative source."""
    first = mount[0] if mount else ""
    is_relative = isinstance(first, str) and re.match(r"(?!\.\.?/)\w[^:]*:", first)
    return (f"{folder}/", *mount) if is_relative else mount


def _joined(mounts: Sequence[Value]) -> Value:
    return join([part for index, each in enumerate(mounts) for part in ((",", *each) if index else each)])


def _image(reading: ShellReading, command: Command, layer: Layer) -> Asked:
    option = layer.option("image")
    if instances.name_of(layer):
        nobody = instances.unknown_image(layer)
        return Asked("container-image", nobody, layer.program, (command.place,), "enroot")
    if layer.words:
        text = known(layer.words[0])
        lines = (reading.origin(command, text) if text else ()) or (command.place,)
        image = _file(layer.words[0]) if singularity.is_its(layer) else layer.words[0]
        return Asked("container-image", _bare(image), layer.program, lines, "enroot")
    if option is not None and option.value:
        lines = _lines(reading, command, option)
        return Asked("container-image", _bare(option.value), option.written, lines, "enroot")
    for text, word, place in _of_sbatch(reading, ("--image", "-i")):
        return Asked("container-image", _bare((text,)), word, (place,), "directive")
    nobody = (Unknown("variable", "--image of sbatch"),)
    return Asked("container-image", nobody, layer.program, (command.place,), "enroot")


def _of_sbatch(reading: ShellReading, names: Collection[str]) -> Iterator[tuple[str, str, Place]]:
    """The values of an option that Shifter adds to sbatch, each as it is written and with its line."""
    for directive in reading.directives:
        for index, word in enumerate(directive.words):
            name, equals, text = word.partition("=")
            if directive.system == "SBATCH" and name in names:
                text = text if equals else " ".join(directive.words[index + 1 : index + 2])
                yield text, word, directive.place


def is_told(written: str) -> bool:
    """Whether what `shifter` starts has this option of sbatch as one of its own."""
    return re.match(r"--(?:image|volume)(?=[= ]|$)", written) is not None


def _file(image: Value) -> Value:
    """An image of Singularity's: without an address (docker://...) it is a file or a folder, also one whose
    name looks like a reference (apptainer(1), "Supported container formats")."""
    text = known(image)
    return (f"./{text}",) if text and re.match(r"(?!\w+://)[\w.]", text) and text[:2] != "./" else image


def _bare(image: Value) -> Value:
    """Without docker://, or docker: of Shifter. Those of other libraries are no images of a registry."""
    first = image[0] if image and isinstance(image[0], str) else ""
    short = re.sub(r"^docker:(//)?", "", first)
    return join([short, *image[1:]]) if first else image


def _mounts(command: Command, option: Option) -> Value:
    """As Pyxis has them: SRC:DST:FLAGS, with commas between. A source that Singularity is given may be a path
    from the folder that the script is in, which Pyxis takes for one only behind ./"""
    value = option.value or ()
    if option.name == "bind":
        here = known(command.folder) or "."
        return _joined([_from(here, each) for each in split(value, ",")])
    if option.name == "volume":  # of Shifter: with ; between
        return join([part.replace(";", ",") if isinstance(part, str) else part for part in value])
    if option.name != "mount":
        return value
    fields = dict(pair for each in split(value, ",") if (pair := cut(each, "=")) is not None)
    source = fields.get("source") or fields.get("src") or ()
    target = fields.get("destination") or fields.get("target") or fields.get("dst") or source
    flags = [":ro"] if "readonly" in {known(each) for each in split(value, ",")} else []
    parts: list[Part] = [*source, ":", *target, *flags]
    return join(parts)
