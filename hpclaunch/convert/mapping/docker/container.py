"""Which of the containers that a launcher starts is the job's own -> `image`, and what its options say."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.container.images import is_possible, reference, which
from hpclaunch.convert.mapping.docker import arguments, sizes
from hpclaunch.convert.mapping.docker.steps import Started
from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.convert.programs.docker import entrypoint
from hpclaunch.convert.programs.flags import leading, not_told
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import base_name, known, shown

_LOCAL_IMAGE = (
    "an image without a registry is one that the nodes' docker had: push it to a registry, or make a .sqsh "
    "file of it (enroot import dockerd://...)"
)


_GPUS_OF_HPC = ("gpu", "gpus", "cuda-mpi", "nccl", "device", "runtime")


def container_of(steps: Sequence[Started], main: Started | None) -> Started | None:
    """The docker run whose container the command runs in."""
    if main is not None and main.layer("docker run") is not None and main.layer("docker exec") is None:
        return main
    inside = main.layer("docker exec") if main is not None else None
    runs = [each for each in steps if each.layer("docker run") and each.layer("docker exec") is None]
    runs = [each for each in runs if not each.roles & {"caches", "test"}] or runs
    wanted = shown(inside.words[0]) if inside is not None and inside.words else ""
    named = [
        each
        for each in runs
        if (layer := each.layer("docker run")) is not None
        and (name := layer.option("name")) is not None
        and shown(name.value or ()) == wanted
    ]
    sleepers = [each for each in named or runs if "sleeper" in each.roles]
    return next(iter(sleepers or named or runs), None)


def put_image(reading: ShellReading, steps: Sequence[Started], draft: Draft) -> Started | None:
    """The container alone, where no command is known to run in it: the command that starts it."""
    home = container_of(steps, None)
    if home is not None:
        put_container(reading, home, None, draft)
        sizes.put_gpus(reading, [home], draft)
        sizes.ask_gpus_of_several(reading, steps, draft)
    return home


def put_container(reading: ShellReading, home: Started, main: Started | None, draft: Draft) -> None:
    """Put what `docker run` says of the container. `main` is the step that starts the ranks."""
    layer = home.layer("docker run")
    assert layer is not None
    context = arguments.Context(reading, home.command, layer)
    arguments.put(context, draft, is_main=True)
    _put_entrypoint(context, draft, is_main=home is main)
    _say_gpus(home, layer, draft)
    if home is main and layer.option("entrypoint") is None and _are_options(main):
        why = "the words behind the image are options: its entrypoint takes them"
        draft.put(("container", "entrypoint"), True, (home.command.place,), "docker run", why=why)
    elif home is main and layer.option("entrypoint") is None:
        draft.say(
            "assumed",
            (home.command.place,),
            "docker run starts the image's entrypoint first",
            became="container.entrypoint is not set: the command is the first process",
            why="most images for training have one that prints a banner",
            todo="write container: {entrypoint: true} if the command needs what it does",
        )
    if not layer.words:
        ask_image(reading, home, draft)
        return
    value = layer.words[0]
    text = path(value)
    places = reading.origin(home.command, known(value) or shown(value))
    if text is not None and not is_possible(text):
        question = f"the image: no registry takes such a name, and {text} stands for one"
        draft.ask(("image",), question, places, text)
        return
    if text is None:
        names = ", ".join(not_told(value))
        wanted = [place for name in not_told(value) for place in reading.wanted.get(name, ())[:3]]
        wanted += [each.place for each in reading.assigned if each.value == value]
        question = which(value, names)
        draft.ask(("image",), question, (*places, *wanted), names)
        return
    is_default = any(
        each.default and known(each.value) and (known(each.value) or "") in text
        for each in reading.assigned
        if each.place in places
    )
    why = "the default of the script, since nobody gave another one" if is_default else ""
    draft.put(("image",), reference(text), places, text, why=why, kind="assumed" if is_default else "carried")
    if "/" not in text:
        draft.say("left", places, f"the image {text}", why="no registry is in its name", todo=_LOCAL_IMAGE)


def _say_gpus(home: Started, layer: Layer, draft: Draft) -> None:
    """podman-hpc lets GPUs in where an option says so (docs.nersc.gov/development/containers/podman-hpc),
    and a job those that it has."""
    is_hpc = any(base_name(word) == "podman-hpc" for word in home.command.words)
    if not is_hpc or not draft.number("gpus_per_node") or any(map(layer.option, _GPUS_OF_HPC)):
        return
    why = "no option let any into the container of the original, though the job had them"
    todo = "write gpus_per_node: 0 where the ranks need none"
    became = "the ranks see the job's GPUs"
    draft.say("assumed", (home.command.place,), "podman-hpc without --gpu", became=became, why=why, todo=todo)


def _are_options(main: Started) -> bool:
    """Whether what the container is given begins with an option, and so with no program."""
    return bool(main.words) and leading(main.words[0]).startswith("-")


def _put_entrypoint(context: arguments.Context, draft: Draft, *, is_main: bool) -> None:
    """--entrypoint: what the container starts, with the words behind the image for its arguments."""
    option = context.layer.option("entrypoint")
    if option is None:
        return
    places, own = context.lines(option), " ".join(map(shown, entrypoint(context.layer)))
    if is_main and own:
        why = "it is executed in the place of the image's entrypoint"
        draft.say("carried", places, option.written, became=f"command: {own} ...", why=why, key="command")
        return
    why = "the image's entrypoint is not run: the command is the first process"
    draft.say("replaced", places, option.written, why=why)


def ask_image(reading: ShellReading, step: Started, draft: Draft) -> None:
    """Ask for the image of a container that no line starts."""
    question = "the image: the command runs in a container that no line of the input starts"
    layer = step.container
    what = shown(layer.words[0]) if layer is not None and layer.words else "docker run"
    draft.ask(("image",), question, reading.origin(step.command, what), what)
