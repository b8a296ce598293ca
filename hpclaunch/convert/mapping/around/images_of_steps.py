"""Commands of a launcher that bring, make or remove the image or the container of its run: a job does that
itself."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.programs.enroot import imported, is_about_images
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Command
from hpclaunch.convert.shell.walk import inner
from hpclaunch.readback.shell.values import Value, known, program_of, shown
from hpclaunch.values.image import FILE_ENDINGS

NO_LOGIN = (
    "the nodes fetch the image as the submitter",
    "put the password into ~/.config/enroot/.credentials, or ask the site",
)
_NO_COMMAND = (
    "it is about containers and starts no command, and a job's containers are made by its steps",
    "see whether the job needs it, and do it before it is submitted",
)
_DOES_NOTHING = ("true", ":", "/bin/true")
_FIRST_STEP = "the image is brought, and its container made, by the first step that uses it"
_MOUNTS = "container-mounts"
# A named container keeps files alone: what one step mounts is empty in the next (NVIDIA/pyxis, issue 130).
_OF_STEP = (
    "a container keeps no mounts: this step alone had them, and neither the run nor the steps behind it"
)
_MOUNT = "where the ranks are to have them write them under mounts"
_NOT_OF_RUN = "no line tells that the run is in the file that it makes, and no step of the job makes it"
_BEFORE = "where the job needs the file make it before the job is submitted"
_STAYS = "the shared file stays for the next job; the site's folder of images is cleared by who keeps it"
_GOES = "the container is made by the first step that uses it, and goes with the job"


def is_said(
    command: Command, step: Step | None, words: Sequence[Value], run: Step | None, draft: Draft
) -> bool:
    """Whether the command is one of these: then that is said of it, or was. `step` is the srun that it is,
    None for a command of the host, `words` are those without srun, and `run` is the job's own step."""
    if imported(words) is not None:
        why = ""
        if not any(key[0] == "image" and command.place in fact.places for key, fact in draft.facts.items()):
            draft.say("left", (command.place,), command.brief(), why=_NOT_OF_RUN, todo=_BEFORE)
    elif step is not None and step.in_container and known(words[0] if words else ()) in _DOES_NOTHING:
        why = _FIRST_STEP
        mounts = step.option(_MOUNTS)
        if mounts is not None and run is not None and run.option(_MOUNTS) is None:
            draft.say("left", (command.place,), mounts.written, why=_OF_STEP, todo=_MOUNT)
    elif ("image", "import") in draft.facts and _removes_image(words):
        why = _STAYS
    elif run is not None and run.in_enroot is not None and _is_about_containers(command, words):
        why = _GOES
    else:
        return False
    if why:
        draft.say("replaced", (command.place,), command.brief(), why=why)
    return True


def say_no_command(command: Command, draft: Draft) -> None:
    """srun docker login, and the like: what has no command of its own in it."""
    why, todo = NO_LOGIN if " login " in f"{command.brief()} " else _NO_COMMAND
    draft.say("left", (command.place,), command.brief(), why=why, todo=todo)


def _removes_image(words: Sequence[Value]) -> bool:
    texts = list(map(shown, words))
    return texts[:1] == ["rm"] and any(
        each.endswith(FILE_ENDINGS) or "squashfs" in each or "sqsh" in each for each in texts
    )


def _is_about_containers(command: Command, words: Sequence[Value]) -> bool:
    """Whether it makes containers of Enroot or takes them away, and does nothing else."""
    inside = [each.words for each in inner(command, words)] if program_of(words) in SHELLS else [words]
    return bool(inside) and all(map(is_about_images, inside))
