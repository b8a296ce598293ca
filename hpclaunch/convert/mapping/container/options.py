"""Pyxis's switches and its working folder -> `container` and `workdir`."""

from collections.abc import Callable

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.readback.shell.values import shown

SWITCHES = {
    "container-mount-home": ("mount_home", True),
    "no-container-mount-home": ("mount_home", False),
    "container-remap-root": ("remap_root", True),
    "no-container-remap-root": ("remap_root", False),
    "container-writable": ("writable", True),
    "container-readonly": ("writable", False),
    "container-entrypoint": ("entrypoint", True),
    "no-container-entrypoint": ("entrypoint", False),
}
_ONE_CONTAINER = "all steps of a job share one container, named with the job's number and removed at its end"


def put(step: Step, draft: Draft) -> None:
    """Put the switches of the container and its working folder into the draft."""
    for each in step.asked:
        if each.name in SWITCHES:
            key, value = SWITCHES[each.name]
            draft.put(("container", key), value, each.places, each.written)
        elif each.name in _OTHERS:
            _OTHERS[each.name](each, draft)


def _workdir(each: Asked, draft: Draft) -> None:
    folder = path(each.value or ())
    if folder is None or not folder.startswith("/"):
        question = f"the working folder, {shown(each.value or ())}"
        draft.ask(("workdir",), question, each.places, each.written)
    else:
        draft.put(("workdir",), folder, each.places, each.written)


def _env(each: Asked, draft: Draft) -> None:
    if each.text is None:
        why = "which variables go before those of the image is not told"
        todo = "write their names under container.env in the job file"
        draft.say("question", each.places, each.written, why=why, todo=todo)
    there = sum(key[:2] == ("container", "env") for key in draft.facts)
    for count, entry in enumerate(filter(None, (each.text or "").split(",")), start=there):
        draft.put(("container", "env", count), entry, each.places, each.written)


def _save(each: Asked, draft: Draft) -> None:
    file = path(each.value or ())
    if file is None:
        todo = "write container.save in the job file"
        draft.say("left", each.places, each.written, why="its value is not told", todo=todo)
    else:
        draft.put(("container", "save"), file, each.places, each.written)


def _name(each: Asked, draft: Draft) -> None:
    draft.say("replaced", each.places, each.written, why=_ONE_CONTAINER)


def _no_key(each: Asked, draft: Draft) -> None:
    todo = f"add --{each.name} to sites.NAME.srun if the job needs it"
    draft.say("left", each.places, each.written, why="a job file has no key for it", todo=todo)


_OTHERS: dict[str, Callable[[Asked, Draft], None]] = {
    "container-workdir": _workdir,
    "container-env": _env,
    "container-save": _save,
    "container-name": _name,
    "container-unshare": _no_key,
    "container-entrypoint-log": _no_key,
}
