"""docker's -v and --mount -> `mounts`.

The forms are those of docker-run(1): -v [SRC:]DST[:OPTIONS], --mount type=bind,source=,target=,readonly.
"""

import re
from collections.abc import Sequence
from posixpath import normpath

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.words.texts import as_written, is_here, is_of_script, path, split
from hpclaunch.convert.programs.flags import cut, leading, not_told
from hpclaunch.readback.shell.values import Unknown, Value, join, known, shown
from hpclaunch.values.conversion import Place

# Options that change nothing for a step: SELinux labels, caching on a Mac, and how mounts below spread.
_OF_NO_WEIGHT = frozenset(
    {
        *("rw", "z", "Z", "U", "nocopy", "copy", "cached", "delegated", "consistent", "private", "rprivate"),
        *("shared", "rshared", "slave", "rslave", "bind", "rbind", "exec", "suid", "dev"),
    }
)
_KEYS_OF_SSH = re.compile(r"/\.ssh/?$")
# Where mpirun's wrappers of ssh, its list of hosts and its parameters lie (MLPerf v0.6).
RUN_FOLDER = re.compile(r"/dev/shm/mpi\b")
_KEYS = {"src": "source", "dst": "target", "destination": "target", "ro": "readonly"}

_NAMED = "a volume that docker keeps on its own node, which a job cannot find"
_NAME_FOLDER = "copy what it holds to a folder that all nodes see, and write SRC:DST under mounts"
# Kinds of --mount that no job file has (docker-run(1), podman-run(1)): why, and what to do.
_KINDS = {
    "tmpfs": ("memory of the node", "/dev/shm is memory of the node"),
    "ramfs": ("memory of the node", "/dev/shm is memory of the node"),
    "devpts": ("terminals of the container's own", "a job has no terminal"),
    "glob": (
        "it mounts what fits the pattern on each node, each below the place in the container or where it is, "
        "and a job file names each mount",
        "write SRC:DST under mounts for each of them",
    ),
    "image": ("it mounts another image, and a job has one", "copy what it holds to a folder, and mount that"),
}


class Mount(Struct, frozen=True):
    """A mount as the line of docker `written` at these places has it. `folder` is where the script has gone
    to by then."""

    source: Value
    target: Value
    read_only: bool
    written: str
    places: Sequence[Place]
    folder: Value = ()

    @property
    def path(self) -> Value:
        """The host's folder, from that of submission."""
        text = leading(self.source)
        if not self.folder or not (text in (".", "..") or text.startswith(("./", "../"))):
            return self.source
        gone = ["." if isinstance(part, Unknown) and is_here(part) else part for part in self.folder]
        whole = join([*gone, "/", *self.source])
        told = known(whole)
        there = normpath(told) if told is not None else ""
        return (there if there.startswith(("/", ".")) else f"./{there}",) if there else whole


def volume(value: Value, written: str, places: Sequence[Place], draft: Draft, folder: Value = ()) -> None:
    """The value of -v."""
    source, target, options = _parts(value)
    if target is None:
        why = f"{shown(source)} is an empty volume of the container's own"
        draft.say("left", places, written, why=why, todo="mount a folder where data is to stay")
        return
    if _of_the_launch(source, written, places, draft):
        return
    given = [each for each in (known(options) or "").split(",") if each] if options else []
    read_only = "ro" in given
    others = [each for each in given if each not in _OF_NO_WEIGHT and each != "ro"]
    if others:
        draft.say("left", places, f"{written}: {','.join(others)}", why="no mount of a job has such options")
    if options and known(options) is None:
        draft.say("left", places, written, why="whether it is read-only is not told", todo="add :ro if it is")
    _put(Mount(source, target, read_only, written, places, folder), draft)


def _of_the_launch(source: Value, written: str, places: Sequence[Place], draft: Draft) -> bool:
    """Whether the mount is there for mpirun and ssh alone: keys, and the files of the launch."""
    if _KEYS_OF_SSH.search(shown(source)):
        why = "srun starts the ranks: no ssh, so no key in the container"
    elif RUN_FOLDER.search(shown(source)):
        why = "srun starts the ranks: no files of the launch are needed in the container"
    else:
        return False
    draft.say("replaced", places, written, why=why)
    return True


def _parts(value: Value) -> tuple[Value, Value | None, Value]:
    """Source, target (None where there is only one path) and options."""
    parts = split(value, ":")
    if len(parts) == 1:
        return parts[0], None, ()
    return parts[0], parts[1], parts[2] if len(parts) > 2 else ()


def mount(value: Value, written: str, places: Sequence[Place], draft: Draft, folder: Value = ()) -> None:
    """The value of --mount."""
    given: dict[str, Value] = {}
    for part in split(as_written(value), ","):
        pair = cut(part, "=")
        name = (pair[0] if pair else leading(part)).strip()
        given[_KEYS.get(name, name)] = pair[1] if pair else ("true",)
    kind = known(given.get("type", ("volume",)))
    if kind != "bind":
        why, todo = _KINDS.get(kind or "", (_NAMED, _NAME_FOLDER))
        draft.say("left", places, written, why=why, todo=todo)
        return
    read_only = known(given.get("readonly", ("false",))) in ("true", "1")
    if _of_the_launch(given.get("source", ()), written, places, draft):
        return
    source, target = given.get("source", ()), given.get("target", ())
    _put(Mount(source, target, read_only, written, places, folder), draft)


def _put(its: Mount, draft: Draft) -> None:
    at = known(its.target)
    folder = path(its.path)
    index = draft.count("mounts")
    if at is None or not at.startswith("/"):
        question = (
            f"a mount {shown(its.source)}:{shown(its.target)}, where {_missing(its.target)} is not told"
        )
        draft.ask(("mounts", index), question, its.places, its.written)
    elif folder is None:
        question = f"the host's folder for {at} in the container (SRC:{at}): {_missing(its.path)} is not told"
        draft.ask(("mounts", index), question, its.places, its.written)
    elif not folder.startswith(("/", ".")):
        question = f"the host's folder for {at} in the container: {folder} is {_NAMED}"
        draft.ask(("mounts", index), question, its.places, its.written, todo=_NAME_FOLDER)
    else:
        _fact(folder, at, its, draft)


def _fact(folder: str, at: str, its: Mount, draft: Draft) -> None:
    text = f"{folder}:{at}" + (":ro" if its.read_only else "")
    if draft.lists("mounts", text):
        return
    for key, fact in list(draft.facts.items()):
        if key[0] == "mounts" and isinstance(fact.value, str) and fact.value.split(":")[1] == at:
            draft.say("replaced", fact.places, f"mount of {at}", why="a later one has the same place in it")
            draft.put(key, text, its.places, its.written)
            return
    index = draft.count("mounts")
    if known(its.source) is None or not folder.startswith("/"):
        place = "is" if any(map(is_of_script, its.source[:1])) else "was submitted"
        why = f"relative paths start from the job file's folder: put it where the script {place}"
        draft.put(("mounts", index), text, its.places, its.written, why=why, kind="assumed")
    else:
        draft.put(("mounts", index), text, its.places, its.written)


def _missing(value: Value) -> str:
    return ", ".join(not_told(value)) or shown(value) or "the path"
