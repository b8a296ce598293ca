"""Scripts that a config map beside the job mounts into a pod, and those that are given beside its manifest,
by their paths in the pod."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

from msgspec import Struct

from hpclaunch.convert.manifests.objects.workload import COMMAND, Pod
from hpclaunch.convert.manifests.running.shelltext import has_launcher, launcher_in
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.lines import Spread
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Source
from hpclaunch.values.conversion import Place

Script = tuple[str, Place]  # its text, and the lines of that
NO_SCRIPTS: Mapping[str, Script] = MappingProxyType({})
_OF_SHELL = re.compile(r"#!\s*\S*/(?:env\s+)?(?:ba|da|k|z)?sh\b")
# Of a shell, behind which no text stands (bash(1)).
_OPTION = re.compile(r"[-+](?!-|[a-zA-Z]*c)\S+|--(?:no\w+|posix|login)")
_COMMENT = re.compile(r"(?<!\S)#.*")
_OF_PYTHON = re.compile(r"(?:^|[\s/])python[\d.]*(?:\s+-\S+)*\s+$")
_MOST = 100  # mounts, and files of one, that are looked at
_LONGEST = 32_000  # characters of a command that are looked through, as of a shell's text


class Unread(Struct, frozen=True):
    """A script that a command starts among other things, and so is not read as the command: its path and its
    text, and the launcher in it, "" for none."""

    path: str = ""
    text: str = ""
    launcher: str = ""


def given(files: Sequence[Source]) -> dict[str, Script]:
    """Files beside the manifest, by their names without folders."""
    found: dict[str, Script] = {}
    for each in files:
        last = each.text.rstrip("\n").count("\n") + 1
        found[posixpath.basename(each.name)] = each.text, Spread(each.name, 1, last)
    return found


def of(
    pod: Pod, maps: Mapping[str, Mapping[str, Script]], beside: Mapping[str, Script] = NO_SCRIPTS
) -> dict[str, Script]:
    """The scripts with a launcher in them, by their paths in the container. `maps` is what the config maps
    have, by their names and keys, and `beside` are files by their names. No field counts as read by it."""
    launchers = {name: script for name, script in beside.items() if has_launcher(script[0])}
    found = {path: script for name, script in launchers.items() for path in _paths(pod, name)}
    return found | _of_maps(pod, maps)


def _paths(pod: Pod, name: str) -> Iterator[str]:
    """The paths with this name at their end in what a pod is given to execute."""
    path = re.compile(rf"(?<![\w./-])[\w./-]*(?<![\w.-]){re.escape(name)}(?![\w/.-])")
    for key in COMMAND:
        for each in _items(pod.container, key)[:_MOST]:
            text = each.peek()
            yield from map(posixpath.normpath, path.findall(text) if len(text) <= _LONGEST else ())


def _of_maps(pod: Pod, maps: Mapping[str, Mapping[str, Script]]) -> dict[str, Script]:
    volumes = {_peek(each, "name"): each.get("configMap") for each in _items(pod.spec, "volumes")}
    found: dict[str, Script] = {}
    for mount in _items(pod.container, "volumeMounts")[:_MOST]:
        source = volumes.get(_peek(mount, "name"))
        data = maps.get(_peek(source, "name"), {}) if source is not None else {}
        for path, key in _files(source, data, mount) if source is not None else ():
            text, place = data[key]
            if has_launcher(text):
                found[path] = text, _of_its_lines(text, place)
    return found


def _files(source: Field, data: Mapping[str, Script], mount: Field) -> Iterator[tuple[str, str]]:
    """The paths in the container, and the keys of the config map that have their texts."""
    folder, sub = _peek(mount, "mountPath"), _peek(mount, "subPath")
    items = _items(source, "items")
    names = [(_peek(each, "path"), _peek(each, "key")) for each in items] or [(key, key) for key in data]
    for name, key in names[:_MOST]:
        if key in data and (not sub or posixpath.normpath(sub) == posixpath.normpath(name)):
            yield posixpath.normpath(folder if sub else posixpath.join(folder, name)), key


def _of_its_lines(text: str, place: Place) -> Place:
    """The place, where each line of the text has one of its own there; else which of them is not known."""
    is_block = place.last - place.line == text.rstrip("\n").count("\n") + 1
    return place if is_block else Spread(place.file, place.line, place.last)


def started(words: Sequence[str | None], scripts: Mapping[str, Script]) -> int | None:
    """Where the script stands among the words of a command that does nothing else than start it, None where
    it starts none of them."""
    at = 0
    if words and (words[0] or "").rpartition("/")[2] in SHELLS:
        at = next((i for i, word in enumerate(words[1:], 1) if not _OPTION.fullmatch(word or "")), len(words))
    path = posixpath.normpath(words[at] or "?") if at < len(words) else ""
    if path not in scripts:
        return None
    return at if at or _OF_SHELL.match(scripts[path][0]) else None


def unread(text: str, folder: str, scripts: Mapping[str, Script]) -> Unread:
    """The first one with a launcher that a command names, given as its text. `folder` is where it starts."""
    if len(text) > _LONGEST:
        return Unread()
    for path, (script, _) in islice(scripts.items(), _MOST):
        above, _, name = path.rpartition("/")
        names = [re.escape(path)]
        if above and (
            folder.rstrip("/") == above or re.search(rf"\bcd\s+{re.escape(above)}/?(?![^\s;&])", text)
        ):
            names.append(rf"(?:\./)?{re.escape(name)}")
        found = re.search(rf"(?<![\w./-])(?:{'|'.join(names)})(?![\w/.-])", text)
        is_shells = _OF_SHELL.match(script) or not script.startswith("#!")
        launcher = launcher_in(_COMMENT.sub("", script))
        if found is not None and is_shells and launcher and not _OF_PYTHON.search(text[: found.start()]):
            return Unread(path, script, launcher)
    return Unread()


def _items(field: Field, key: str) -> list[Field]:
    listed = field.get(key)
    return listed.items() if listed is not None and listed.is_list else []


def _peek(field: Field, key: str) -> str:
    found = field.get(key)
    return found.peek() if found is not None else ""
