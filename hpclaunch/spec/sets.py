"""`--set KEY=VALUE`: values from the command line, put into the tree before it is read.

The tree is copied along the way to the key, since an alias may share the nodes with other keys.
"""

from collections.abc import Sequence

from hpclaunch.spec import scalars
from hpclaunch.spec.merge import Merging, Pair
from hpclaunch.spec.tree import MappingNode, Node, ScalarNode, SequenceNode, compose, is_null
from hpclaunch.values.errors import InputError, Problem

_DEEPEST = 20
LITERAL = "env"  # env.X takes the rest of the argument as it is; every other key takes YAML


def apply(root: Node, sets: Sequence[str], kind: str) -> Node:
    """`root` with each of `sets` put in, in order. Raises InputError for one that has no KEY=VALUE form,
    leads through a value that has no parts, or is not YAML."""
    merging = Merging(kind)
    for text in sets:
        key, equals, value = text.partition("=")
        parts = key.split(".")
        if not equals or not all(parts):
            raise InputError([Problem(f"{scalars.shown(text)} is not KEY=VALUE", kind, (), "--set")])
        if len(parts) > _DEEPEST:
            said = f"{scalars.shown(key)} is a key of {len(parts):,} parts, and none has more than {_DEEPEST}"
            raise InputError([Problem(said, kind, (), "--set")])
        try:
            scalars.carried(text)
            root = _put(root, parts, node_of(key, value, kind), merging)
        except ValueError as error:
            raise InputError([Problem(str(error), kind, (), f"--set {key}")]) from None
    return root


def put(root: Node, parts: Sequence[str], value: Node) -> Node:
    """`root` with one value put in at the key of these parts. Raises ValueError where that leads through a
    value that has no parts."""
    return _put(root, parts, value, Merging("job"))


def node_of(key: str, text: str, kind: str) -> Node:
    """The value that stands behind the `=`. Raises InputError for what is no YAML."""
    parts = key.split(".")
    if parts[0] == LITERAL and len(parts) == 2:
        return ScalarNode("", text, None, None, style='"')
    try:
        node = compose(text, "", kind)
    except InputError as error:
        placed = [Problem(p.message, kind, (), f"--set {key}") for p in error.problems]
        raise InputError(placed) from None
    if node is None:
        return ScalarNode("", "", None, None)
    return _unplaced(node, {})


def _unplaced(node: Node, done: dict[int, Node]) -> Node:
    """`node` without a place in a file: that is how a value of the command line is known."""
    if id(node) not in done:
        done[id(node)] = node
        node.start_mark = node.end_mark = None
        for child in node.value if not isinstance(node, ScalarNode) else ():
            for part in child if isinstance(child, tuple) else (child,):
                _unplaced(part, done)
    return node


def _put(node: Node, parts: Sequence[str], value: Node, merging: Merging) -> Node:
    if not parts:
        return value
    if isinstance(node, SequenceNode):
        return _put_item(node, parts, value, merging)
    if is_null(node):
        node = MappingNode("", [], None, None)
    if not isinstance(node, MappingNode):
        raise ValueError(f"there is no key {parts[0]!r}: it leads into a value that is not a map or a list")
    entries: list[Pair] = []
    missing = True
    for key, old in merging.pairs(node):
        if isinstance(key, ScalarNode) and key.value == parts[0]:
            missing = False
            entries.append((key, _put(old, parts[1:], value, merging)))
        else:
            entries.append((key, old))
    if missing:
        empty = MappingNode("", [], None, None)
        entries.append(
            (ScalarNode("", parts[0], None, None, style='"'), _put(empty, parts[1:], value, merging))
        )
    return MappingNode(node.tag, entries, node.start_mark, node.end_mark)


def _put_item(node: SequenceNode, parts: Sequence[str], value: Node, merging: Merging) -> Node:
    index = scalars.whole_number(parts[0])
    items = list(node.value)
    if not 0 <= index <= len(items):
        raise ValueError(f"the list has {len(items)} entries, from 0: there is no entry {index}")
    old = items[index] if index < len(items) else MappingNode("", [], None, None)
    items[index : index + 1] = [_put(old, parts[1:], value, merging)]
    return SequenceNode(node.tag, items, node.start_mark, node.end_mark)
