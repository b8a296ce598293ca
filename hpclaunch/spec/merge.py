"""YAML's merge key: `<<: *NAME` gives a map the keys of another that it does not have itself."""

from collections.abc import Iterable

from hpclaunch.spec.tree import MAX_NODES, MappingNode, Node, ScalarNode, SequenceNode, where
from hpclaunch.values.errors import InputError, Problem

Pair = tuple[Node, Node]

_MAX_DEPTH = 8


class Merging:
    """Resolves merge keys for one file. It counts, since a few lines of aliases can stand for millions of
    keys."""

    def __init__(self, kind: str):
        self.kind = kind
        self.left = MAX_NODES

    def pairs(self, node: MappingNode) -> list[Pair]:
        """(key, value) nodes of a map: its own as they stand, then those merged in. Raises InputError for a
        `<<` that is not a map, a list of maps, or that leads to itself."""
        pairs: list[Pair] = node.value
        return self._flat(node, 0) if any(map(_is_merge, pairs)) else pairs

    def _flat(self, node: MappingNode, depth: int) -> list[Pair]:
        own = [pair for pair in node.value if not _is_merge(pair)]
        names = {pair[0].value for pair in own if isinstance(pair[0], ScalarNode)}
        for pair in filter(_is_merge, node.value):
            for key, value in self._merged(pair[1], depth):
                if isinstance(key, ScalarNode) and key.value not in names:
                    names.add(key.value)
                    own.append((key, value))
        return own

    def _merged(self, node: Node, depth: int) -> Iterable[Pair]:
        parts: list[Node] = node.value if isinstance(node, SequenceNode) else [node]
        for part in parts:
            if not isinstance(part, MappingNode) or depth > _MAX_DEPTH:
                raise self._problem(node, "<< takes a map (*NAME) or a list of maps, and not itself")
            pairs = self._flat(part, depth + 1)
            self.left -= 1 + len(pairs)
            if self.left < 0:
                raise self._problem(node, f"merges (<<) expand to more than {MAX_NODES:,} keys")
            yield from pairs

    def _problem(self, node: Node, message: str) -> InputError:
        return InputError([Problem(message, self.kind, (), where(node, ("<<",)))])


def _is_merge(pair: Pair) -> bool:
    key = pair[0]
    return isinstance(key, ScalarNode) and key.value == "<<" and not key.style
