"""YAML text -> plain values, each with its place in the text.

Scalars are read as the API server's YAML reads them (sigs.k8s.io/yaml on go-yaml 2): `yes`, `on` and `y` are
booleans there, 1:30 and dates are text. So a value that the server would refuse is refused here too.
"""

import io
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from yaml.composer import Composer
from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from hpclaunch.values.errors import InputError, Path, Problem

_MAX_DEPTH = 64
_DEEP = f"nested more than {_MAX_DEPTH} levels deep"
_OF_LIBYAML = "maximum nesting depth"  # which looks ahead, and from 0.2.6 on ends at its own limit first
_MAX_VALUES = 100_000  # after aliases: a few lines of them could stand for billions

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_WORDS = {
    **{form: True for word in ("y", "yes", "true", "on") for form in (word, word.title(), word.upper())},
    **{form: False for word in ("n", "no", "false", "off") for form in (word, word.title(), word.upper())},
}
_INT = re.compile(r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_STRING_TAG = "tag:yaml.org,2002:str"


class _Limited:
    """Leaves every tag empty that the text does not write, and ends what is too deep: libyaml's composer
    recurses in C, where a text of 100,000 "[" would overflow the stack."""

    depth = 0

    def resolve(self, kind: type[Node], value: str | None, implicit: Sequence[bool]) -> str:
        return ""

    def descend_resolver(self, parent: Node | None, index: Any) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _TooDeep

    def ascend_resolver(self) -> None:
        self.depth -= 1


class _TooDeep(Exception):
    pass


try:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    class _Composer(_Limited, CParser):
        """libyaml's."""

except ImportError:  # a PyYAML built without libyaml

    class _Composer(_Limited, Reader, Scanner, Parser, Composer):  # type: ignore[no-redef]
        """PyYAML's own."""

        def __init__(self, stream: io.BytesIO):
            Reader.__init__(self, stream)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)


class Document(Struct, frozen=True):
    """One document of a text: its value, and where each part of it stands."""

    file: str
    value: Any
    node: Node

    def refuse(self, path: Path, message: str) -> InputError:
        """The error about the value at this path, or about the nearest one above it that is there."""
        node = self.node
        for key in path:
            below = _below(node, key)
            if below is None:
                break
            node = below
        return _error(self.file, node, message)


def documents(text: str, file: str) -> list[Document]:
    """The documents of a text that hold something. `file` is what messages call it. Raises InputError for
    what is no YAML or not what the API takes: a key twice, a tag, an endless alias."""
    parser = None
    try:
        parser = _Composer(io.BytesIO(text.encode("utf-8", "surrogatepass")))
        nodes: list[Node] = []
        while parser.check_node():
            node = parser.get_node()
            nodes += [node] if node is not None else []
    except _TooDeep:
        raise InputError([Problem(_DEEP, where=file)]) from None
    except MarkedYAMLError as error:
        if _OF_LIBYAML in str(error):
            raise InputError([Problem(_DEEP, where=file)]) from None
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        raise InputError([Problem(f"not YAML: {error.problem or error.context}", where=where)]) from None
    except (YAMLError, UnicodeError) as error:
        raise InputError([Problem(f"not YAML: {' '.join(str(error).split())}", where=file)]) from None
    finally:
        if parser is not None:
            parser.dispose()
    reader = _Reader(file)
    found = [Document(file, reader.value(node, 0), node) for node in nodes]
    return [document for document in found if document.value is not None]


class _Reader:
    def __init__(self, file: str):
        self.file = file
        self.values = 0

    def value(self, node: Node, depth: int) -> Any:
        self.values += 1
        if depth > _MAX_DEPTH or self.values > _MAX_VALUES:
            raise _error(
                self.file, node, "too deep, or too much: an alias (*name) that holds itself, or many"
            )
        if node.tag not in ("", "!", _STRING_TAG):
            raise _error(self.file, node, f"a tag ({node.tag}), which the API does not take")
        if isinstance(node, SequenceNode):
            return [self.value(each, depth + 1) for each in node.value]
        if isinstance(node, MappingNode):
            return self.mapping(node, depth)
        assert isinstance(node, ScalarNode)
        return node.value if node.style or node.tag else _plain(node.value)

    def mapping(self, node: MappingNode, depth: int) -> dict[str, Any]:
        """Without keys that are null, which the API takes for not given."""
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                raise _error(self.file, key, "a key that is no text")
            if key.value == "<<" and not key.style:
                raise _error(self.file, key, "a merge key (<<): write its fields out")
            if key.value in found:
                raise _error(self.file, key, f"the key {key.value!r} stands twice")
            found[key.value] = self.value(value, depth + 1)
        return {key: value for key, value in found.items() if value is not None}


def _plain(text: str) -> Any:
    """A scalar without quotes."""
    if text in _NULL:
        return None
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def _integer(text: str) -> int | str:
    """A number that begins with 0 is octal; what is no number after all, 09, is text."""
    sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text.lstrip("+"))
    digits = digits.replace("_", "")
    if digits.isdigit() and digits.startswith("0") and len(digits) > 1:
        digits = f"0o{digits[1:]}"
    try:
        return int(sign + digits, 0)
    except ValueError:
        return text


def _below(node: Node, key: str | int) -> Node | None:
    if isinstance(node, MappingNode):
        return next((value for name, value in node.value if name.value == key), None)
    if isinstance(node, SequenceNode) and isinstance(key, int) and key < len(node.value):
        found: Node = node.value[key]
        return found
    return None


def _error(file: str, node: Node, message: str) -> InputError:
    mark = node.start_mark
    return InputError([Problem(message, where=f"{file}:{mark.line + 1}:{mark.column + 1}")])
