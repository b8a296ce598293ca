"""YAML text -> a tree of nodes, each with its own text and its place in the file.

Nodes and not values, since YAML's own reading of scalars is the trap: `no`, `1.10`, `0o17` and `1:30` must
reach the rank as they were written. Anchors and aliases share nodes here; nothing is expanded.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from yaml.error import MarkedYAMLError, YAMLError
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
            raise _TooMuch(f"nested more than {MAX_DEPTH} levels deep")
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
        raise InputError([_syntax_problem(error, text, file, kind)]) from None
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


_BREAKS = re.compile("[\x85\u2028\u2029]")  # line breaks to YAML 1.1, invisible to the writer
_FORBIDDEN = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_ALIAS = 'YAML takes *NAME for an alias, and there is no anchor &NAME: put the value in "quotes"'
_ADVICE = (
    ("'\\t'", "a tab in the indentation: YAML wants spaces"),
    ("undefined alias", _ALIAS),
    ("scanning an alias", _ALIAS),
    ("duplicate anchor", "an anchor (&NAME) stands twice"),
    ("single document", "more than one YAML document (`---`); write one document to a file"),
    ("mapping values are not allowed", 'a ": " where no key can stand: put the value in "quotes"'),
    ("cannot start any token", 'a value cannot begin with this character: put it in "quotes"'),
    ("found unexpected end of stream", "a quote that was opened is not closed"),
    ("could not find expected ':'", 'a line that is not "key: value"'),
    ("expected ',' or", "a list [ ] or map { } is not closed, or a comma is missing"),
    (
        "expected node content",
        "a value is missing: a list [ ] or map { } is not closed, or text needs quotes",
    ),
    ("did not find expected key", "wrong indentation or quoting: a key was expected"),
    ("did not find expected '-'", "wrong indentation: a list entry (- ...) was expected"),
    ("undefined tag handle", 'YAML takes !NAME for a tag: put the value in "quotes"'),
)


def _refuse_hidden_breaks(text: str, file: str, kind: str) -> None:
    found = _BREAKS.search(text)
    if found:
        message = (
            f'the line separator U+{ord(found[0]):04X}: write it as "\\u{ord(found[0]):04x}" in double quotes'
        )
        raise InputError([Problem(message, kind, (), f"{file}:{position(text[: found.start()])}")])


def _syntax_problem(error: Exception, text: str, file: str, kind: str) -> Problem:
    found = _FORBIDDEN.search(text)
    if found:
        code = ord(found[0])
        message = f'the control character U+{code:04X}: write it as "\\u{code:04x}" in double quotes'
        return Problem(message, kind, (), f"{file}:{position(text[: found.start()])}")
    if not isinstance(error, MarkedYAMLError):
        return Problem(f"not YAML: {error}", kind, (), file)
    spot = error.problem_mark or error.context_mark
    place = f"{file}:{spot.line + 1}:{spot.column + 1}" if spot else file
    said = " ".join(part for part in (error.context, error.problem) if part)
    lines = text.splitlines()
    if spot and spot.line < len(lines) and "\t" in _indentation(lines[spot.line]):
        said += " '\\t'"
    for words, advice in _ADVICE:
        if words in said:
            return Problem(f"{advice} ({error.problem})", kind, (), place)
    return Problem(f"not YAML: {said}", kind, (), place)


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
