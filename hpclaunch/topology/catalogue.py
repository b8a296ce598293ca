"""The node types by name: the user's own, those that ship with hpclaunch, and `local`, this machine."""

import os

from hpclaunch.spec.document import Document
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.read import read_node_type
from hpclaunch.spec.search import by_name, folders, is_path
from hpclaunch.spec.wording import not_found
from hpclaunch.values.errors import InputError

LOCAL = "local"
_SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node-types")


def names() -> tuple[str, ...]:
    """The names of all node types that have a file, sorted. `local` has none and is not among them."""
    return tuple(by_name(_folders()))


def load(name: str) -> Document[NodeType]:
    """The node type of this name; of this file where it has a `/` or ends in .yaml or .yml; of this
    machine where it is `local`.

    Names are searched in the folders of $HPCLAUNCH_NODE_TYPES (separated as in $PATH), then in
    hpclaunch/node-types of the user's and the system's configuration folders, then among the shipped ones.
    Raises InputError for a name that is nowhere, and for a file that cannot be read, is not valid,
    contradicts itself, or has another name in it than its own.
    """
    if is_path(name):
        return read_node_type(name)
    if name == LOCAL:
        # Reading the machine costs more than reading a file, and most commands never ask for it.
        from hpclaunch.topology.local import read_local

        return Document(kind="node type", file="this machine", value=read_local(), marks={})
    file = by_name(_folders()).get(name)
    if file is None:
        raise InputError(not_found("node type", name, [*names(), LOCAL], _folders()))
    document = read_node_type(file)
    if document.value.name != name:
        raise InputError(
            f"{document.locate(('name',))}: the file is {os.path.basename(file)}, "
            f"so the name in it must be {name!r}, not {document.value.name!r}"
        )
    return document


def _folders() -> list[str]:
    return folders("node-types", "HPCLAUNCH_NODE_TYPES", _SHIPPED)
