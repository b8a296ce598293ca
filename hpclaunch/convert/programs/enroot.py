"""enroot: an image brought to a squashfs file (import), unpacked (create), and a command in it (start).

The options are those of enroot(1) 3.5 to 4.0 (doc/cmd/ and enroot.in of its sources).
"""

import re
from collections.abc import Sequence
from posixpath import basename

from msgspec import Struct

from hpclaunch.convert.programs.flags import is_named_options, leading, table, take
from hpclaunch.convert.programs.layers import Layer, may_be_many
from hpclaunch.readback.shell.values import Unknown, Value, known, program_of

_IMPORT = table(((1, "arch=a output=o"), (0, "help=h")))
_CREATE = table(((1, "name=n"), (0, "force=f help=h")))
_START = table(((1, "conf=c env=e rc mount=m"), (0, "root=r rw=w pid net ipc uts help=h")))
# Those that make, bring or take away an image or a container.
_OF_IMAGES = frozenset(("import", "create", "remove", "load"))
# How variables are called that hold options of `start`; one cut out of another (${NAME:1}) has its name.
_OF_START = re.compile(r"(?i)(^|_)(kwargs|env_?vars|envs|mounts|binds|volumes)(?=$|\W)|(opt|arg)s(?=\W)")


class Import(Struct, frozen=True):
    """What is imported, as Enroot's URI, and the file that it becomes; () where that is not told."""

    image: Value
    output: Value


class Created(Struct, frozen=True):
    """A container that `enroot create` makes, and the file that it is made of."""

    name: Value
    file: Value


def imported(words: Sequence[Value]) -> Import | None:
    """The import of `enroot import ...`, None for any other command."""
    if len(words) < 3 or program_of(words) != "enroot" or known(words[1]) != "import":
        return None
    options, rest = take(words[2:], _IMPORT, clusters=True)
    if not rest:
        return None
    output = next((each.value for each in options if each.name == "output"), None)
    return Import(rest[0], output or _named_by_itself(known(rest[0]) or ""))


def _named_by_itself(uri: str) -> Value:
    """Where Enroot writes what it has no name for (docker::import in its src/docker.sh): ubuntu+22.04.sqsh of
    docker://ubuntu:22.04, without the registry. Of an image of the node's own daemon it takes the whole name
    (docker::daemon::import)."""
    for daemon in ("dockerd://", "podman://"):
        if uri.startswith(daemon):
            return (f"{re.sub('[:/]', '+', uri.removeprefix(daemon))}.sqsh",)
    if not uri.startswith("docker://"):
        return ()
    image = uri.removeprefix("docker://").rpartition("#")[2].rpartition("@")[2]
    return (f"{image.replace('/', '+').replace(':', '+')}.sqsh",)


def created(words: Sequence[Value]) -> Created | None:
    """The container of `enroot create ...`, None for any other command."""
    if len(words) < 3 or program_of(words) != "enroot" or known(words[1]) != "create":
        return None
    options, rest = take(words[2:], _CREATE, clusters=True)
    if not rest:
        return None
    name = next((each.value for each in options if each.name == "name"), None)
    last = rest[0][-1] if rest[0] else ""
    is_told = isinstance(last, str) and (len(rest[0]) == 1 or "/" in last)
    return Created(name or ((basename(str(last)).removesuffix(".sqsh"),) if is_told else ()), rest[0])


def is_about_images(words: Sequence[Value]) -> bool:
    """Whether the command makes, brings or takes away an image or a container."""
    return program_of(words) == "enroot" and len(words) > 1 and (known(words[1]) or "") in _OF_IMAGES


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "enroot start" with the container's name, or the image's file, as its one word, and the
    command in it; a layer without a program for what starts no container."""
    if len(words) < 3 or known(words[1]) != "start":
        return Layer(""), list(words)
    options, rest = take(words[2:], _START, clusters=True, own=_holds_options)
    return Layer("enroot start", tuple(options), tuple(rest[:1])), rest[1:]


def _holds_options(word: Value, after: Sequence[Value]) -> bool:
    """Whether the word, of which nothing is known, holds options, and is not the container: by its name, and
    where options follow it, or a file that a container is started from."""
    part = word[0] if may_be_many(word) and after else ""
    if not isinstance(part, Unknown):
        return False
    follows = leading(after[0]).startswith("-") or (known(after[0]) or "").endswith((".sqsh", ".squashfs"))
    return follows or is_named_options(word) or _OF_START.search(part.name) is not None
