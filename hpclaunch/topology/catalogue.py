"""The node types by name: the user's own, those that ship with hpclaunch, and `local`, this machine."""

import os

from hpclaunch.spec.document import Document, located
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology.consistency import problems
from hpclaunch.values.errors import InputError

LOCAL = "local"
_SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node-types")
_ENDING = ".yaml"


def names() -> tuple[str, ...]:
    """The names of all node types that have a file, sorted. `local` has none and is not among them."""
    return tuple(sorted(_files()))


def load(name: str) -> Document[NodeType]:
    """The node type of this name; of this file where `name` has a `/` or ends in .yaml; of this machine
    where it is `local`.

    Names are searched in the folders of $HPCLAUNCH_NODE_TYPES (separated as in $PATH), then in
    $XDG_CONFIG_HOME/hpclaunch/node-types, then among the shipped ones. Raises InputError for a name that
    is nowhere, and for a file that cannot be read, is not valid, or bears another name than its own.
    """
    if "/" in name or name.endswith(_ENDING):
        return _read(name)
    if name == LOCAL:
        # Reading the machine costs more than reading a file, and most commands never ask for it.
        from hpclaunch.topology.local import read_local

        return Document(kind="node type", file="this machine", value=read_local(), marks={})
    file = _files().get(name)
    if file is None:
        raise InputError(_unknown(name))
    document = _read(file)
    if document.value.name != name:
        raise InputError(
            f"{document.locate(('name',))}: the file is {name}{_ENDING}, "
            f"so the name in it must be {name!r}, not {document.value.name!r}"
        )
    return document


def _folders() -> list[str]:
    """Where node types are searched, the user's own first."""
    own = [folder for folder in os.environ.get("HPCLAUNCH_NODE_TYPES", "").split(os.pathsep) if folder]
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return [*own, os.path.join(config, "hpclaunch", "node-types"), _SHIPPED]


def _files() -> dict[str, str]:
    """Name -> file. The first folder that has a name wins, as in `load`."""
    found: dict[str, str] = {}
    for folder in _folders():
        try:
            entries = os.listdir(folder)
        except OSError:
            continue  # a folder that is not there, or not ours to read, has no node types for us
        for entry in entries:
            if entry.endswith(_ENDING) and not entry.startswith("."):
                found.setdefault(entry[: -len(_ENDING)], os.path.join(folder, entry))
    return found


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    known = [*names(), LOCAL]
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"no node type is named {name!r}.{hint} Known: {', '.join(known)}; or give the path of a file."


def _read(file: str) -> Document[NodeType]:
    import msgspec
    import yaml

    try:
        with open(file, encoding="utf-8") as stream:
            value = msgspec.convert(yaml.load(stream, yaml.CSafeLoader), NodeType)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise InputError(f"{file}: {error}") from error
    document = Document(kind="node type", file=file, value=value, marks={})
    if found := problems(document.value):
        raise located(found, document)
    return document
