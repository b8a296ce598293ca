"""Which image the run has -> `image`."""

import re
from collections.abc import Mapping, Sequence
from posixpath import normpath

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.words.made import either_of
from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.convert.programs.enroot import imported
from hpclaunch.convert.programs.flags import not_told
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.conversion import Place
from hpclaunch.values.image import is_file

_SCHEMES = ("docker", "dockerd")
OF_IMAGE = "the image's own command"
# Folders that each node has of its own.
_OF_NODE = re.compile(r"/(?:tmp|var/tmp|dev/shm|run|raid|local|localscratch|mnt/(?:nvme|local)\w*)/")


def made(all_steps: Sequence[Step]) -> dict[str, Asked]:
    """The option that gives the image of each container that a step makes, by the container's name."""
    found: dict[str, Asked] = {}
    for step in all_steps:
        name, image = step.option("container-name"), step.option("container-image")
        if image is not None and name is not None:
            found.setdefault(_container(name.value), image)
    return found


def image_of(step: Step, containers: Mapping[str, Asked]) -> Asked | None:
    """The option that gives the step's image: its own, or that of the container whose name it has."""
    own = step.option("container-image")
    name = step.option("container-name")
    if own is not None or name is None:
        return own
    return containers.get(_container(name.value))


def put_image(
    reading: ShellReading, step: Step, all_steps: Sequence[Step], commands: Sequence[Command], draft: Draft
) -> None:
    """Put the image into the draft: a reference, a file, or what `enroot import` makes a shared file of."""
    asked = image_of(step, made(all_steps))
    if asked is None:
        name = step.option("container-name")
        what = name.written if name else "--container-image"
        question = "the image: a container of that name is used, and no line says what it is made of"
        draft.ask(("image",), question, name.places if name else (step.command.place,), what)
        return
    value = _original(asked.value or (), commands, draft)
    step_of = {id(each.command): each for each in reversed(all_steps)}
    for command in commands:
        brought = _import_of(command, step_of.get(id(command)), value)
        if brought is not None:
            _shared(reading, command, brought, value, asked, draft)
            return
    text = path(value)
    if text is None:
        names = ", ".join(not_told(value)) or shown(value)
        either = either_of(reading, value)
        question = (
            f"the image: {either}" if either else _in_rounds(step.command, value) or which(value, names)
        )
        _leave_file(draft)
        draft.ask(("image",), question, _asking(reading, asked, value), names)
        return
    refused = _refused(text)
    if refused:
        draft.ask(("image",), f"the image: {refused}", asked.places, asked.written)
    else:
        draft.put(("image",), reference(text), asked.places, asked.written, why=_changed(text))


def _refused(text: str) -> str:
    """Why no job has an image of that name, "" where one may."""
    scheme, mark, _ = text.partition("://")
    if mark and scheme not in _SCHEMES:
        return f"Pyxis takes none of {scheme}://, and a job names one of a registry or a .sqsh file"
    return "" if is_possible(text) else f"no registry takes {text} for a name"


def _in_rounds(command: Command, value: Value) -> str:
    """The question for an image that a loop around the run makes another one, "" for any other."""
    names = {part.name for part in value if isinstance(part, Unknown)}
    loop = next((each for each in command.loops if each.variable in names and each.count != 1), None)
    if loop is None:
        return ""
    rounds = f"{loop.variable} is another one in each round of the loop over {loop.over}"
    return f"the image {shown(value)}: {rounds}, and all trials have the same image"


def which(value: Value, names: str) -> str:
    """The question for an image that variables give, or a part of its name."""
    if len(value) == 1:
        return f"the image, which {names} gives: a reference or a .sqsh file"
    return f"the image {shown(value)}: {names} is not told"


def _leave_file(draft: Draft) -> None:
    """A file that was to tell the image says more than that, and the question is another one now."""
    for number, each in enumerate(draft.findings):
        if (each.kind, each.key) == ("question", "image"):
            why = f"{each.why}; --container-image tells the image"
            draft.findings[number] = structs.replace(each, kind="left", why=why, key="")


def _original(value: Value, commands: Sequence[Command], draft: Draft) -> Value:
    """The file that `sbcast SOURCE DEST` made this one of on each node (sbcast(1))."""
    for command in reversed(commands):
        words = command.words[1:]
        if command.program == "sbcast" and len(words) > 1 and shown(words[-1]) == shown(value):
            why = "each node takes the image from where it is, and makes its own container of it"
            draft.say("replaced", (command.place,), command.written or "sbcast", why=why)
            return words[-2]
    return value


def reference(text: str) -> str:
    """The image as Docker writes it: nvcr.io/nvidia/pytorch:24.07-py3 of Enroot's nvcr.io#nvidia/..."""
    bare = text.removeprefix("docker://")
    if bare.startswith("dockerd://") or is_file(text):
        return text
    registry, mark, name = bare.partition("#")
    if mark and re.search(r"[.:]|^localhost$", registry) and "@" not in registry:
        return f"{registry}/{name}"
    return bare


def is_possible(text: str) -> bool:
    """Whether a registry takes the name of an image: behind its own name, which has no _, all letters are
    small (reference.go of github.com/distribution/reference), and IMAGE_URL and REGISTRY_URL/x stand for
    something else."""
    name = re.sub(r"@[^@]*$|:[^:/]*$", "", reference(text))
    first, slash, path = name.partition("/")
    is_registry = bool(slash) and (bool(re.search(r"[.:]|^localhost$", first)) or first != first.lower())
    if is_registry and "_" in first and "://" not in name and not is_file(text):
        return False
    path = path if is_registry else name
    return is_file(text) or "://" in path or path == path.lower()


def _container(value: Value | None) -> str:
    """The name of a container without its flags (:create, :exec)."""
    text = shown(value or ())
    return re.sub(r":(auto|create|exec|no_exec)$", "", text)


def _changed(text: str) -> str:
    if reference(text) == text:
        return "" if not text.startswith(".") else "relative paths start from the job file's folder"
    return f"Docker's form of {text}, which hpclaunch writes as each scheduler wants it"


def _asking(reading: ShellReading, asked: Asked, value: Value) -> tuple[Place, ...]:
    found = [
        place
        for part in value
        if isinstance(part, Unknown)
        for place in reading.wanted.get(part.name, ())[:2]
    ]
    return tuple(dict.fromkeys((*asked.places, *found)))


def _import_of(command: Command, step: Step | None, value: Value) -> tuple[Value, Value] | None:
    """What `enroot import` brings, and its file, where that file is this image. `step` is what the command
    is read as."""
    brought = imported(step.words if step else command.words)
    if brought is None or not value:
        return None
    if normpath(shown(brought.output)) != normpath(shown(value)):
        return None
    return brought.image, brought.output


def _shared(
    reading: ShellReading,
    command: Command,
    brought: tuple[Value, Value],
    value: Value,
    asked: Asked,
    draft: Draft,
) -> None:
    image, _ = brought
    text = known(image)
    places = tuple(dict.fromkeys((*reading.origin(command), *asked.places)))
    first = value[0] if isinstance(value[0], str) else ""
    of_node = _OF_NODE.match(first) is not None
    key = ("image",) if of_node else ("image", "ref")
    if text is None:
        names = ", ".join(not_told(image)) or shown(image)
        draft.ask(key, f"the image, which {names} gives", places, names)
    elif refused := _refused(text):
        draft.ask(key, f"the image: {refused}", places, command.written or "enroot import")
    else:
        why = f"each node brings it, as {shown(value)} was its own" if of_node else ""
        draft.put(key, reference(text), places, command.written or "enroot import", why=why)
    if of_node:
        return
    folder = _folder(value)
    if folder is None:
        names = ", ".join(not_told(value)) or shown(value)
        question = f"the folder for the image's file, which all nodes see: it was imported to {shown(value)}"
        todo = f"{draft.answer('image.import')}; `shared` is the folder that the site names"
        draft.ask(("image", "import"), question, places, names, todo=todo)
        return
    why = "imported once to a file that all nodes use, under a lock, and used again by the next job"
    draft.put(("image", "import"), folder, places, "enroot import", why=why)


def _folder(value: Value) -> str | None:
    """The folder of a file of which perhaps only the own name is not known, None where more is not."""
    last = max(
        (index for index, part in enumerate(value) if isinstance(part, str) and "/" in part), default=None
    )
    if last != 0 or not str(value[0]).startswith("/"):
        return None
    return str(value[0]).rpartition("/")[0] or "/"
