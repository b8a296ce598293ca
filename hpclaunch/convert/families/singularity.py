"""What `singularity exec` says of a container, where no step of Slurm starts it: image, mounts, folder and
variables, as far as a job file would have them."""

from collections.abc import Callable

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import working_folder
from hpclaunch.convert.mapping.container import instances, other_runtimes, pulled
from hpclaunch.convert.mapping.container.images import reference
from hpclaunch.convert.mapping.docker.mounts import volume
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.mapping.words.texts import path, split
from hpclaunch.convert.programs.layers import IMAGE_FILES, Layer, layers
from hpclaunch.convert.programs.names import BY_MPI, SINGULARITIES, STEPS
from hpclaunch.convert.programs.singularity import BINDS, in_image
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value, join, known, program_of, shown
from hpclaunch.values.conversion import Place

FILES = (".sif", ".simg", ".img")  # of images
NOT_RUN = "neither Pyxis nor Kubernetes runs it"
MAKE_ONE = "name the image that it was made of, or make a .sqsh file (enroot import docker://...)"
_SCRIPT = "see in the image what to write as command (apptainer inspect --runscript)"
_BESIDE = "add what it does to setup where it does with the run's image, or submit it as a job of its own"
# PBS, Torque and Grid Engine start a script in the home of who submits it (qsub(1B) of OpenPBS 23, "Job
# Working Directory"; qsub(1B) of Torque 6, -d; qsub(1) of Grid Engine 8, -cwd).
_FROM_HOME = ("PBS", "MSUB", "$", "SGE")
_HOME = "the home of who submits the script, where no option names another"
_MOST = 20  # commands that are looked at
_STARTERS = (*SINGULARITIES, *BY_MPI, *STEPS)


def put(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """All that the command and its variables ask for."""
    instance = instances.of(reading, layer)
    if instance is not None:
        _container(reading, instance.command, instance.layer, draft)
        instances.say(reading, draft)
    else:
        _container(reading, command, layer, draft)
    from_home = any(each.system in _FROM_HOME for each in reading.directives)
    begun = working_folder.begin(reading)
    if from_home and not any(working_folder.changes_of(reading, command)):
        other_runtimes.say_folder(layer, command, draft, _HOME)
    elif begun.startswith("/"):  # sbatch was told so
        other_runtimes.say_folder(layer, command, draft, begun)
    else:
        other_runtimes.say_folder(layer, command, draft)
    _by_variables(reading, command, draft)


def say_images(reading: ShellReading, draft: Draft) -> None:
    """Say the images that nothing told, as of a container in which mpirun starts the ranks. One of another
    line than the run's, which starts no script that is read, is not the ranks'."""
    told = {each.what for each in draft.findings} | {each.became for each in draft.findings}
    run = draft.facts.get(("command",))
    of_run = {*run.places, *reading.entered} if run is not None else set()
    for command in _starting(reading):
        its = layers(command.words)
        layer = in_image(its)
        if layer is not None and instances.name_of(layer):
            continue  # its image is told, or asked for, by the line that makes it
        named = path(layer.words[0]) if layer is not None and layer.words else None
        text = named.removeprefix("docker://") if named is not None else None
        if text is None or named is None or any(text.removeprefix("./") in each for each in told):
            continue
        if run is not None and command.place not in of_run:
            _say_beside(command, text, its[-1], draft)
            continue
        told.add(text := text.removeprefix("./"))
        source = pulled.source(reading, text)
        if source is not None and ("image",) not in draft.facts:
            draft.put(("image",), reference(source[0]), (command.place, source[1]), text)
        else:
            draft.say("left", (command.place,), f"the image {text}", why=NOT_RUN, todo=MAKE_ONE)


def _starting(reading: ShellReading) -> list[Command]:
    programs = ((each, program_of(each.words)) for each in reading.starting)
    found = [each for each, name in programs if name in _STARTERS or name.endswith(IMAGE_FILES)]
    return found[:_MOST]


def _say_beside(command: Command, image: str, own: Layer, draft: Draft) -> None:
    """What a container does that is not the run's, and has another image."""
    what = command.brief() if own.words else f"a container beside the ranks, of {image}"
    why = f"its image is {image}, and a job's steps have the one of its run"
    draft.say("left", (command.place,), what, why=why, todo=_BESIDE)


def say_runscript(reading: ShellReading, draft: Draft) -> None:
    """Say that `singularity run` gives its words to the image's own script (apptainer(1), "run"), which may
    be no command."""
    for command in _starting(reading):
        its = layers(command.words)
        layer = next((each for each in its if each.program == "singularity run"), None)
        if layer is None:
            continue
        if not its[-1].words:
            _say_no_words(command, layer, draft)
            continue
        text = " ".join(map(shown, its[-1].words))
        if not shown(its[-1].words[0]).startswith("-"):
            why = "the image's own script gets these words, and is taken for one that executes them"
            draft.say("assumed", (command.place,), f"singularity run: {text}", became="command", why=why)
            continue
        draft.unsay(("command",))
        draft.facts.pop(("command",), None)
        why = "the image's own script gets these words, and what it does with them is not told"
        draft.say("left", (command.place,), f"singularity run: {text}", why=why, todo=_SCRIPT)


def _say_no_words(command: Command, layer: Layer, draft: Draft) -> None:
    """What one executes that has no word behind its image, where no other line starts the ranks."""
    if layer.words and ("command",) not in draft.facts:
        why = "the image's own script is what it executes, and no line tells what that does"
        draft.say("left", (command.place,), f"{layer.program} {shown(layer.words[0])}", why=why, todo=_SCRIPT)


def _container(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    for option in layer.options:
        if option.name not in _OPTIONS:
            why = "an option of Singularity's"
            draft.say("left", lines_of(reading, command, option), option.written, why=why)
    # Each once: it looks at all options of its name.
    for rule in dict.fromkeys(_OPTIONS[each.name] for each in layer.options if each.name in _OPTIONS):
        rule(reading, command, layer, draft)
    text = path(layer.words[0]) if layer.words else None
    if text is None:
        return
    places = reading.origin(command, known(layer.words[0]) or shown(layer.words[0]))
    source = pulled.source(reading, text)
    if source is not None:
        draft.put(("image",), reference(source[0]), (*places, source[1]), text)
    elif text.endswith(FILES) or "://" not in text:  # a file, or the folder of a sandbox
        draft.say("left", places, f"the image {text}", why=NOT_RUN, todo=MAKE_ONE)
    else:
        draft.put(("image",), reference(text), places, text)


def _by_variables(reading: ShellReading, command: Command, draft: Draft) -> None:
    """What its own variables ask for (apptainer(1), "Environment variables"): SINGULARITY_BIND and
    APPTAINER_BINDPATH are --bind. SINGULARITYENV_NAME, as --env NAME, is among what is exported."""
    for name, value in command.environment:
        if BINDS.fullmatch(name) is not None:
            each = reading.last(name)
            places = (each.place,) if each is not None else (command.place,)
            _mounts_of(value, name, places, draft, command.folder)


def _mounts(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    for option in layer.all("bind"):
        _mounts_of(option.value or (), "-B", lines_of(reading, command, option), draft, command.folder)


def _mounts_of(folders: Value, by: str, places: tuple[Place, ...], draft: Draft, folder: Value) -> None:
    for value in split(folders, ","):
        both = value if len(split(value, ":")) > 1 else join([*value, ":", *value])
        volume(both, f"{by} {shown(value)}", places, draft, folder)


def _workdir(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    option = layer.option("pwd")
    text = known(option.value or ()) if option is not None else None
    if option is not None and text:
        draft.put(("workdir",), text, lines_of(reading, command, option), option.written)


def _writable(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    for option in layer.all("writable-tmpfs"):
        places = lines_of(reading, command, option)
        draft.put(("container", "writable"), True, places, option.written)


def _nothing(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """Told by the reason of the refusal."""


_Rule = Callable[[ShellReading, Command, Layer, Draft], None]
_OPTIONS: dict[str, _Rule] = {
    "bind": _mounts,
    "pwd": _workdir,
    **dict.fromkeys(("nv", "nvccli", "env", "cleanenv", "contain", "containall"), _nothing),
    "writable-tmpfs": _writable,
}
