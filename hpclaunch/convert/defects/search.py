"""Searching the inputs by their syntax trees."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.recover import recovered
from hpclaunch.readback.shell import inside, outside, tree
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.shfmt import parsed, written
from hpclaunch.values.conversion import Place

# A tree costs some 15 microseconds a byte, and scripts that people write have 60 KB at most.
LARGEST = 1 << 16


class Parsed(Struct, frozen=True, dict=True):
    """An input and its tree. `bytes_` is what the tree's positions count."""

    source: Source
    file: tree.File
    bytes_: bytes

    @cached_property
    def nodes(self) -> tuple[tree.Node, ...]:
        """All its nodes, in the order of the text."""
        return tuple(nodes(self.file))

    @cached_property
    def calls(self) -> tuple[tree.CallExpr, ...]:
        """All its simple commands with a name."""
        return tuple(_calls(self.nodes))

    def text(self, node: tree.Node) -> str:
        """The node as it is written."""
        return outside(written(self.bytes_, node.pos.offset, node.end.offset))

    def place(self, node: tree.Node) -> Place:
        """Its lines."""
        return Place(self.source.name, node.pos.line, max(node.end.line, node.pos.line))


def trees(sources: Sequence[Source]) -> list[Parsed]:
    """A tree of each input that is a shell text and not too large. One that cannot be read at all has none:
    whoever reads the inputs says so."""
    found = []
    for source in sources:
        if len(source.text) > LARGEST:
            continue
        try:
            text, _ = recovered(inside(source.text))
            file, bytes_ = parsed(text, 1)
        except ScriptError:
            continue
        found.append(Parsed(source, file, bytes_))
    return found


def nodes(root: Struct) -> Iterator[tree.Node]:
    """All nodes below, in the order of the text."""
    waiting: list[Struct] = [root]
    while waiting:
        here = waiting.pop()
        if isinstance(here, tree.Node):
            yield here
        waiting += reversed(list(_parts(here)))


def lists(parsed: Parsed) -> Iterator[tuple[tree.Stmt, ...]]:
    """All lists of statements: what stands between do and done, in a function, at the top."""
    for node in parsed.nodes:
        for name in node.__struct_fields__:
            value = getattr(node, name)
            if isinstance(value, tuple) and value and isinstance(value[0], tree.Stmt):
                yield value


def calls(root: Struct) -> Iterator[tree.CallExpr]:
    """All simple commands with a name."""
    return _calls(nodes(root))


def _calls(found: Iterable[tree.Node]) -> Iterator[tree.CallExpr]:
    return (node for node in found if isinstance(node, tree.CallExpr) and node.args)


def literal(word: tree.Word) -> str | None:
    """The text of a word without expansions, quotes taken away; None for any other."""
    texts = []
    for part in word.parts:
        if isinstance(part, tree.Lit | tree.SglQuoted):
            texts.append(part.value)
        elif isinstance(part, tree.DblQuoted) and all(isinstance(each, tree.Lit) for each in part.parts):
            texts += [each.value for each in part.parts if isinstance(each, tree.Lit)]
        else:
            return None
    return "".join(texts)


def program(call: tree.CallExpr) -> str:
    """The name of the program without its folder, "" where the text does not tell it."""
    return (literal(call.args[0]) or "").rpartition("/")[2] if call.args else ""


def literals(words: Iterable[tree.Word]) -> list[str]:
    """The texts of those words that have one."""
    return [text for text in map(literal, words) if text is not None]


def _parts(here: Struct) -> Iterator[Struct]:
    for name in here.__struct_fields__:
        value = getattr(here, name)
        if isinstance(value, Struct) and not isinstance(value, tree.Position):
            yield value
        elif isinstance(value, tuple):
            yield from (each for each in value if isinstance(each, Struct))
