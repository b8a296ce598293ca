"""Fields of a published manifest and what became of them in the one that hpclaunch renders.

A path is keys with spaces between. In a list an item is meant by its number, or by its `name`.
"""

import re
from collections.abc import Callable, Iterator
from types import EllipsisType
from typing import Any, NamedTuple

import yaml

from hpclaunch.values import quantity

MISSING = object()


class Manifest:
    """A manifest, as it was published or rendered."""

    def __init__(self, document: Any) -> None:
        self.document = document

    @classmethod
    def parsed(cls, text: str) -> "Manifest":
        return cls(yaml.load(text, yaml.CSafeLoader))

    def at(self, path: str) -> Any:
        """The value there, or MISSING."""
        node = self.document
        for part in path.split():
            node = _step(node, part)
        return node

    def leaves(self) -> dict[str, Any]:
        """Every value that is no mapping and no list, by its path."""
        return dict(_leaves(self.document, ()))

    def mounts(self) -> dict[str, tuple[Any, Any]]:
        """Target -> the mount and the volume behind it ({}: none), of the pod that has the GPUs."""
        spec = self.at("spec mpiReplicaSpecs Worker template spec")
        spec = self.at("spec template spec") if spec is MISSING else spec
        (container,) = spec["containers"]
        volumes = {volume["name"]: volume for volume in spec.get("volumes", ())}
        return {
            mount["mountPath"]: (mount, volumes.get(mount["name"], {}))
            for mount in container.get("volumeMounts", ())
        }


class Process:
    """What starts the ranks in a rendered manifest, after the kubelet: `launcher` all words of it, `starter`
    mpirun with its options, `environment` and `argv` those of each rank."""

    def __init__(self, manifest: Manifest) -> None:
        launcher = manifest.at("spec mpiReplicaSpecs Launcher template spec containers 0")
        alone = manifest.at("spec template spec containers 0")
        self.container = alone if launcher is MISSING else launcher
        self.launcher = [_expanded(word) for word in self.container["command"] + self.container["args"]]
        before, rank = self.launcher, self.launcher
        self.starter: list[str] = []
        if "hpclaunch-launcher" in self.launcher:
            begin = self.launcher.index("--") + 1
            end = self.launcher.index("/bin/sh", begin)
            self.starter, rank = before[begin:end], before[end:]
        first = rank.index("--")
        second = rank.index("--", first + 1)
        self.environment = dict(word.split("=", 1) for word in rank[first + 1 : second])
        self.argv = [word.removeprefix("=") for word in rank[second + 1 :]]


def _expanded(word: str) -> str:
    """The kubelet's `$$`. There is no variable that it would put in: each `$(` has a `$` before it."""
    assert not re.search(r"(?<!\$)(\$\$)*\$\(", word)
    return word.replace("$$", "$")


def _step(node: Any, part: str) -> Any:
    if isinstance(node, dict):
        return node.get(part, MISSING)
    if isinstance(node, list) and part.isdigit():
        return node[int(part)] if int(part) < len(node) else MISSING
    if isinstance(node, list):
        return next((item for item in node if item.get("name") == part), MISSING)
    return MISSING


def _leaves(node: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            # Variables are told apart by their names, and have no order of their own.
            if path[-1] == "env":
                assert set(value) == {"name", "value"}
                yield " ".join((*path, value["name"])), value["value"]
            else:
                yield from _leaves(value, (*path, str(number)))
    else:
        yield " ".join(path), node


Check = Callable[[Any, Manifest], str]


class Row(NamedTuple):
    """A field of the published manifest: where it is, what holds of the rendered one, and why where that is
    not the same there. `words` are the words of a command at `at` that it is about, ... the rest."""

    at: str
    check: Check
    why: str = ""
    words: tuple[str | EllipsisType, ...] = ()

    def covers(self, leaves: dict[str, Any]) -> tuple[tuple[str, ...], Any]:
        """The leaves that the row is about, and their value; none where it matches nothing."""
        if not self.words:
            return ((self.at,), leaves[self.at]) if self.at in leaves else ((), None)
        found = [path for path in leaves if path.startswith(f"{self.at} ")]
        fixed = [word for word in self.words if not isinstance(word, EllipsisType)]
        for begin in range(len(found)):
            end = len(found) if ... in self.words else begin + len(fixed)
            paths = tuple(found[begin:end])
            if [leaves[path] for path in paths[: len(fixed)]] == fixed:
                return paths, tuple(leaves[path] for path in paths)
        return (), None


def complaints(published: Manifest, rendered: Manifest, rows: list[Row]) -> list[str]:
    """Fields that no row is about, and rows that do not hold or are about nothing."""
    leaves = published.leaves()
    left = dict(leaves)
    found = []
    for row in rows:
        paths, value = row.covers(leaves)
        name = " ".join((row.at, *map(str, row.words)))
        if not paths:
            found.append(f"{name}: the manifest has no such field")
        if [path for path in paths if path not in left]:
            found.append(f"{name}: another row is about it too")
        for path in paths:
            left.pop(path, None)
        wrong = row.check(value, rendered) if paths else ""
        if wrong:
            found.append(f"{name}: {wrong}")
    return found + [f"{path}: no row says what became of {value!r}" for path, value in left.items()]


def _unless(holds: object, wrong: str) -> str:
    return "" if holds else wrong


def same(*paths: str) -> Check:
    """There, and equal."""

    def check(value: Any, ours: Manifest) -> str:
        found = [ours.at(path) for path in paths]
        return _unless(all(each == value for each in found), f"{found} is not {value!r}")

    return check


def amount(path: str) -> Check:
    """As much of it: the API takes 8 and "8"."""

    def check(value: Any, ours: Manifest) -> str:
        found = ours.at(path)
        equal = found is not MISSING and quantity.nano(str(found)) == quantity.nano(str(value))
        return _unless(equal, f"{found} is not {value}")

    return check


def becomes(path: str, other: object) -> Check:
    """Another value on purpose."""

    def check(value: Any, ours: Manifest) -> str:
        assert value != other
        return _unless(ours.at(path) == other, f"{ours.at(path)!r} is not {other!r}")

    return check


def label(path: str, change: Callable[[str], str]) -> Check:
    """A name that the API refuses (DNS-1035), changed by a rule."""

    def check(value: Any, ours: Manifest) -> str:
        allowed = r"[a-z]([-a-z0-9]*[a-z0-9])?"
        assert not re.fullmatch(allowed, value)
        found = ours.at(path)
        return _unless(re.fullmatch(allowed, found) and found == change(value), f"{found} is not the name")

    return check


def absent(path: str) -> Check:
    """Left out on purpose."""

    def check(_: Any, ours: Manifest) -> str:
        return _unless(ours.at(path) is MISSING, f"{path} is there")

    return check


def both(*checks: Check) -> Check:
    """All of these."""
    return lambda value, ours: "; ".join(filter(None, (check(value, ours) for check in checks)))


def mounted(at: str, source: str) -> Check:
    """What is behind the mount of this target: such as `hostPath path`."""

    def check(value: Any, ours: Manifest) -> str:
        if at not in ours.mounts():
            return f"nothing is mounted at {at}"
        found = Manifest(ours.mounts()[at][1]).at(source)
        return _unless(found == value, f"{found!r} is behind {at}, not {value!r}")

    return check


def target() -> Check:
    """A mount of that target."""
    return lambda value, ours: _unless(value in ours.mounts(), f"nothing is mounted at {value}")


def writable(at: str) -> Check:
    """The mount of this target is as writable."""

    def check(value: Any, ours: Manifest) -> str:
        mount, _ = ours.mounts().get(at, ({}, {}))
        return _unless(mount and bool(mount.get("readOnly")) == value, f"{mount} is not readOnly: {value}")

    return check


def options(*words: str) -> Check:
    """mpirun has these words in a row; without any, those of the manifest."""

    def check(value: Any, ours: Manifest) -> str:
        found, wanted = Process(ours).starter, list(words or value)
        rows = [found[begin : begin + len(wanted)] for begin in range(len(found))]
        return _unless(wanted in rows, f"{wanted} is not in {found}")

    return check


def variable(name: str = "") -> Check:
    """Each rank has it: the last of the words is NAME=value, or the value of `name`."""

    def check(value: Any, ours: Manifest) -> str:
        wanted, text = (name, value[-1]) if name else value[-1].split("=", 1)
        found = Process(ours).environment.get(wanted)
        return _unless(found == text, f"{wanted} is {found!r} in the ranks, not {text!r}")

    return check


def command(change: Callable[[Any], list[str]] = list) -> Check:
    """The words that each rank executes, from the program on."""

    def check(value: Any, ours: Manifest) -> str:
        found = Process(ours).argv
        return _unless(found == change(value), f"ranks execute {found}")

    return check
