"""Whether two launches have the same command, environment and data."""

import os.path
import re
from itertools import zip_longest

from hpclaunch.readback.place import NOTHING, Side, beside
from hpclaunch.values.launch import Difference, SeenMount, SeenVariable
from hpclaunch.values.names import PMIX_FENCE

# What the container runtime reads of the environment that it is started with, under Slurm and in a pod.
_HOOKS = ("NVIDIA_", "MELLANOX_")
_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_FROM_OUTSIDE = {
    "submitter": "the submitter's",
    "secret": "a secret's",
    "pod": "the pod's",
    "scheduler": "the scheduler's",
    "script": "made by the script",
}


def command(a: Side, b: Side) -> list[Difference]:
    """The image, the folder, and the words that a rank executes."""
    found = []
    if _reference(a.launch.image) != _reference(b.launch.image):
        found.append(Difference("image", a.launch.image or "none", b.launch.image or "none"))
    if a.launch.cwd != b.launch.cwd:
        image = "the image's own"
        found.append(Difference("working folder", a.launch.cwd or image, b.launch.cwd or image))
    mine, theirs = a.launch.argv, b.launch.argv
    for index, (one, other) in enumerate(zip_longest(mine, theirs)):
        if one == other:
            continue
        if len(mine) != len(theirs):  # what follows may have only moved
            what = f"command from word {index} on"
            found.append(Difference(what, _words(mine[index:]), _words(theirs[index:])))
            break
        found.append(Difference(f"command, word {index}", _value(one), _value(other)))
    return found


def environment(a: Side, b: Side) -> list[Difference]:
    """What ranks have, then what only the runtime and the launchers around them see."""
    found = []
    mine, theirs = _by_name(a.launch.environment), _by_name(b.launch.environment)
    for name in dict.fromkeys((*mine, *theirs)):
        found += _variable(f"environment {name}", name, mine.get(name), theirs.get(name), a, b)
    outer = _by_name(a.launch.before), _by_name(b.launch.before)
    mixed = a.launch.scheduler != b.launch.scheduler
    for name in dict.fromkeys((*outer[0], *outer[1])):
        # What one scheduler's launchers see, such as ENROOT_*, and ranks as well: that is compared above.
        ranks_too = all(
            name not in around or around[name] == ranks.get(name)
            for around, ranks in zip(outer, (mine, theirs), strict=True)
        )
        if not mixed or name.startswith(_HOOKS) or not (ranks_too or name == PMIX_FENCE):
            what = f"outside the ranks {name}"
            found += _variable(what, name, outer[0].get(name), outer[1].get(name), a, b)
    return [*found, *_of_other_keys(a, True), *_of_other_keys(b, False)]


def _of_other_keys(side: Side, first: bool) -> list[Difference]:
    """Variables with the value of another one: a submission's Secret has a key for each, by its name, and a
    site says which its own are."""
    found = []
    for each in side.launch.environment if side.place.name else ():
        expected = side.place.secrets.get(each.name)
        if each.source not in ("secret", "submitter") or not each.value:
            continue
        if each.value != expected if expected else each.value.partition("/")[2] != each.name:
            values = (each.value, each.name) if first else (each.name, each.value)
            found.append(beside(f"environment {each.name}: its key", values))
    return found


def mounts(a: Side, b: Side) -> list[Difference]:
    """The data: what is at each target, and whether it can be written."""
    found = []
    mine, theirs = _by_target(a), _by_target(b)
    for target in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(target), theirs.get(target)
        what = f"mount {target}"
        if one is None or other is None:
            found.append(Difference(what, _shown_mount(one, a), _shown_mount(other, b)))
            continue
        forms = _form(one), _form(other)
        if forms[0] != forms[1]:
            names = sorted(_names(one, a) & _names(other, b))
            why = f"both are the site's volume {names[0]}" if names else ""
            values = _shown_mount(one, a), _shown_mount(other, b)
            found.append(beside(what, values, "place" if names else "difference", why))
        if one.read_only != other.read_only:
            modes = tuple("read-only" if each.read_only else "read-write" for each in (one, other))
            found.append(beside(f"{what}: access", modes))
    return found


def _variable(
    what: str, name: str, one: SeenVariable | None, other: SeenVariable | None, a: Side, b: Side
) -> list[Difference]:
    if one == other:
        return []
    values = _shown_variable(one), _shown_variable(other)
    if one and other and one.source == other.source != "text":
        # Where the submission keeps them, which Slurm's scripts do not say.
        if not (one.value and other.value):
            kept = name in a.place.secrets or name in b.place.secrets
            why = "one cluster keeps it itself, so the values may differ"
            return [beside(what, values, "place", why)] if kept else []
        of_place = a.place.name and b.place.name and a.place.name != b.place.name
        return [
            beside(
                what, values, "place" if of_place else "difference", "each site's Secret" if of_place else ""
            )
        ]
    if what.startswith("outside") and name == _DEVICES:
        why = "on a pod the device plugin says which GPUs there are"
        return [beside(what, values, "unbridged", why)]
    if _is_of(one, name, a) and _is_of(other, name, b):
        return [beside(what, values, "place", "set by each site, or for its nodes")]
    return [beside(what, values)]


def _is_of(seen: SeenVariable | None, name: str, side: Side) -> bool:
    """Whether this is what the site says of the variable, and nothing else has set it."""
    if seen is None:
        return name not in side.place.variables and bool(side.place.name)
    return seen.source == "text" and side.place.variables.get(name) == seen.value


def _by_name(variables: tuple[SeenVariable, ...]) -> dict[str, SeenVariable]:
    return {each.name: each for each in variables}


def _by_target(side: Side) -> dict[str, SeenMount]:
    return {os.path.normpath(each.target): each for each in side.launch.mounts}


def _form(mount: SeenMount) -> tuple[str, str, str]:
    """A folder within a path is a path."""
    source, folder = mount.source, mount.folder.strip("/")
    if mount.kind == "path":
        return mount.kind, os.path.normpath(os.path.join(source, folder) if folder else source), ""
    return mount.kind, source, folder


def _names(mount: SeenMount, side: Side) -> set[str]:
    """The site's volumes that are this."""
    form = _form(mount)
    return {
        name
        for name, (kind, source, folder) in side.place.volumes.items()
        if _form(SeenMount("", kind, source, folder)) == form  # type: ignore[arg-type]
    }


def _shown_mount(mount: SeenMount | None, side: Side) -> str:
    if mount is None:
        return NOTHING
    source = " ".join(part for part in (mount.kind, mount.source, mount.folder) if part)
    names = sorted(_names(mount, side))
    return f"{names[0]} ({source})" if names else source


def _shown_variable(seen: SeenVariable | None) -> str:
    if seen is None:
        return NOTHING
    if seen.source == "text":
        return _value(seen.value)
    return f"{_FROM_OUTSIDE[seen.source]} {seen.value}".rstrip()


def _value(text: str | None) -> str:
    """Text as it is, or in quotes where it would not be seen."""
    if text is None:
        return NOTHING
    return text if text.isprintable() and text.strip() == text and text not in ("", NOTHING) else repr(text)


def _words(words: tuple[str, ...]) -> str:
    return " ".join(map(_value, words)) or NOTHING


def _reference(image: str) -> str:
    """A reference with what Docker puts in where it is left out: docker.io, library, latest."""
    if not image or image.startswith(("/", ".")):
        return image
    name = image.removeprefix("docker://")
    first, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif not ("." in first or ":" in first or first == "localhost"):
        name = f"docker.io/{name}"
    elif first == "docker.io" and name.count("/") == 1:
        name = f"docker.io/library/{name.partition('/')[2]}"
    return name if re.search(r":[^/]+$|@", name) else f"{name}:latest"
