"""YAML text -> a tree of nodes, each with its own text and its place in the file.

Nodes and not values, since YAML's own reading of scalars is the trap: `no`, `1.10`, `0o17` and `1:30` must
reach the rank as they were written. Anchors and aliases share nodes here; nothing is expanded.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from yaml.error import YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hpclaunch.spec.source import position
from hpclaunch.values.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

try:
    from yaml.cyaml import CParser as _Parser  # type: ignore[attr-defined]
except ImportError:  # a PyYAML built without libyaml
    from yaml.composer import Composer
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class _Parser(Reader, Scanner, Parser, Composer):  # type: ignore[no-redef]
        def __init__(self, stream: io.BytesIO):
            Reader.__init__(self, stream)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)


MAX_DEPTH = 24
_DEEP = f"nested more than {MAX_DEPTH} levels deep"
_OF_LIBYAML = "maximum nesting depth"  # which looks ahead, and from 0.2.6 on ends at its own limit first
MAX_NODES = 100_000
NULLS = frozenset(("", "~", "null", "Null", "NULL"))

__all__ = [
    "MAX_NODES",
    "NULLS",
    "MappingNode",
    "Node",
    "ScalarNode",
    "SequenceNode",
    "compose",
    "is_null",
    "where",
]


class _TooMuch(Exception):
    """The tree is deeper or larger than any file that a person writes."""


class _Named(io.BytesIO):
    name = ""  # what the marks of the nodes say that the file is


class _Composer(_Parser):
    """Composes nodes whose tag is "" unless the file wrote one, so that no scalar is ever interpreted."""

    def __init__(self, stream: io.BytesIO):
        super().__init__(stream)
        self.depth = 0
        self.nodes = 0

    def resolve(self, kind: type[Node], value: str | None, implicit: Sequence[bool]) -> str:
        return ""

    def descend_resolver(self, parent: Node | None, index: Any) -> None:
        # The composer recurses in C: without this limit a file of 100,000 "[" overflows the stack.
        self.depth += 1
        self.nodes += 1
        if self.depth > MAX_DEPTH:
            raise _TooMuch(_DEEP)
        if self.nodes > MAX_NODES:
            raise _TooMuch(f"more than {MAX_NODES:,} values")

    def ascend_resolver(self) -> None:
        self.depth -= 1


def compose(text: str, file: str, kind: str) -> Node | None:
    """The root node of the one document in `text`; None where there is none. Raises InputError."""
    if not text.isascii():
        _refuse_hidden_breaks(text, file, kind)
    stream = _Named(text.encode("utf-8", "surrogatepass"))
    stream.name = file
    try:
        root: Node | None = _Composer(stream).get_single_node()
    except _TooMuch as error:
        raise InputError([Problem(str(error), kind, (), file)]) from None
    except (YAMLError, UnicodeError) as error:
        if _OF_LIBYAML in str(error):
            raise InputError([Problem(_DEEP, kind, (), file)]) from None
        from hpclaunch.spec.syntax import syntax_problem  # its patterns cost 3 ms that only an error pays

        raise InputError([syntax_problem(error, text, file, kind)]) from None
    return root


def is_null(node: Node) -> bool:
    """Is this YAML's null: nothing, `~` or `null`, without quotes?"""
    return isinstance(node, ScalarNode) and node.value in NULLS and not node.style


def where(node: Node, path: Sequence[str | int]) -> str:
    """file:line:col of a node, or the --set that wrote it."""
    start = node.start_mark
    if start is None:
        return "--set " + ".".join(map(str, path))
    return f"{start.name}:{start.line + 1}:{start.column + 1}"


def _refuse_hidden_breaks(text: str, file: str, kind: str) -> None:
    """YAML 1.1 takes these for line breaks, and nobody sees them in an editor."""
    for character in "\x85\u2028\u2029":
        before, found, _ = text.partition(character)
        if found:
            code = ord(found)
            message = f'the line separator U+{code:04X}: write it as "\\u{code:04x}" in double quotes'
            raise InputError([Problem(message, kind, (), f"{file}:{position(before)}")])
