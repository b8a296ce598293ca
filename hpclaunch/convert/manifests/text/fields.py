"""Values of a manifest with their lines, and which of them were read: what nobody read is told in the end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.text.lines import Line, Spread
from hpclaunch.spec import scalars
from hpclaunch.spec.tree import MappingNode, Node, ScalarNode, SequenceNode, is_null
from hpclaunch.values import quantity
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError, Path, Problem

_MOST = 50_000  # values, with those that aliases stand for
_DEEPEST = 40
_PLACE = re.compile(r"\$\{?[A-Za-z_]\w*\}?")


class Book:
    """One object of an input: its file, the numbers of its lines, and which of its values were read."""

    def __init__(self, file: str, lines: Sequence[Line], draft: Draft) -> None:
        self.file = file
        self.draft = draft
        self._numbers = [line.number for line in lines]
        self._taken: set[Path] = set()
        self._touched: set[Path] = {()}
        self._wrong: set[Path] = set()

    def place(self, node: Node) -> Place:
        """The lines of a node."""
        first = self.number(node.start_mark.line)
        end = node.end_mark.line
        # A block's end is where the next one begins.
        if node.end_mark.column == 0 or isinstance(node, MappingNode | SequenceNode):
            end = max(node.start_mark.line, end - (not _is_flow(node)))
        last = self.number(end)
        return Place(self.file, first, last if last > first else 0)

    def number(self, line: int) -> int:
        """The number in the input of a line of the text that was read, from 0."""
        return self._numbers[min(line, len(self._numbers) - 1)] if self._numbers else line + 1

    def take(self, path: Path) -> None:
        self._taken.add(path)
        for length in range(len(path) + 1):
            self._touched.add(path[:length])

    def is_taken(self, path: Path) -> bool:
        return path in self._taken

    def is_touched(self, path: Path) -> bool:
        return path in self._touched

    def too_many(self, field: Field, first: Node, most: int) -> None:
        """Items that nobody reads, from this one on."""
        if (*field.path, most) not in self._taken:
            self._taken.add((*field.path, most))
            why = f"more than {most} items: those from here on are not read"
            self.draft.say("unread", [self.place(first)], field.name, why=why)

    def wrong(self, field: Field, message: str) -> None:
        """A value that the API does not take in its place: it counts for nothing, and is said once."""
        if field.path in self._wrong:
            return
        self._wrong.add(field.path)
        self.take(field.path)
        self.draft.say("unread", [field.place], field.name, why=message, todo="write it as the API has it")


def _is_flow(node: Node) -> bool:
    return bool(getattr(node, "flow_style", False))


class Field:
    """A value, or an object with fields of its own."""

    __slots__ = ("book", "key", "node", "path")

    def __init__(self, book: Book, node: Node, path: Path, key: Node | None = None) -> None:
        self.book = book
        self.node = node
        self.path = path
        self.key = key

    @property
    def place(self) -> Place:
        """Its lines, from that of its key."""
        found = self.book.place(self.node)
        if self.key is None:
            return found
        first = self.book.place(self.key).line
        last = max(found.last, found.line)
        return Place(found.file, first, last if last > first else 0)

    @property
    def text_place(self) -> Place:
        """The lines of a text, which are those of the text itself where it stands in a block as it is (|)."""
        found = self.place
        as_it_is = getattr(self.node, "style", None) == "|"
        return found if as_it_is else Spread(found.file, found.line, found.last)

    @property
    def at(self) -> Place:
        """The line that it begins on."""
        return Place(self.book.file, self.place.line)

    @property
    def name(self) -> str:
        """Its path, as people write it: spec.containers[0].image."""
        return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path).lstrip(".")

    @property
    def is_null(self) -> bool:
        return is_null(self.node)

    @property
    def is_list(self) -> bool:
        return isinstance(self.node, SequenceNode)

    def fields(self) -> Iterator[tuple[str, Field]]:
        """The fields of an object that have a value. Of two with one key the last counts, as in the API."""
        for key, (key_node, value) in self._entries().items():
            yield key, Field(self.book, value, (*self.path, key), key_node)

    def get(self, *keys: str) -> Field | None:
        """The field below, None where it is not there or null."""
        found = self
        for key in keys:
            entry = found._entries().get(key)
            if entry is None or is_null(entry[1]):
                return None
            found = Field(self.book, entry[1], (*found.path, key), entry[0])
        return found

    def is_left_open(self, key: str) -> bool:
        """Whether the key is there, and nothing behind it."""
        entry = self._entries().get(key)
        return entry is not None and is_null(entry[1])

    def items(self, most: int = 1000) -> list[Field]:
        """The items of a list, no more than that many: what is beyond is said."""
        if isinstance(self.node, SequenceNode):
            nodes = self.node.value
            if len(nodes) > most:
                self.book.too_many(self, nodes[most], most)
            return [Field(self.book, node, (*self.path, index)) for index, node in enumerate(nodes[:most])]
        if not self.is_null:
            self.book.wrong(self, "the API has a list here")
        return []

    def text(self) -> str:
        """A scalar as it is written."""
        self.book.take(self.path)
        if isinstance(self.node, ScalarNode):
            return "" if is_null(self.node) else str(self.node.value)
        self.book.wrong(self, "the API has one value here")
        return ""

    def peek(self) -> str:
        """A scalar as it is written, which does not count as read."""
        return str(self.node.value) if isinstance(self.node, ScalarNode) else ""

    def plain(self) -> object:
        """The value for a comparison, whatever its style; it does not count as read."""
        if isinstance(self.node, MappingNode):
            return {key: each.plain() for key, each in self.fields()}
        if isinstance(self.node, SequenceNode):
            return [each.plain() for each in self.items()]
        return self.node.value

    def number(self, most: int = 10**9 - 1) -> int | None:
        """A whole number that is neither negative nor more than `most`, None (and said) for another value."""
        text = self.text()
        try:
            found = quantity.whole(text)
        except ValueError:
            found = -1
        if not 0 <= found <= most:
            # Of a place for a number ($NODES) the value is asked for.
            if self.is_to_fill_in():
                self.book.take(self.path)
            else:
                self.book.wrong(self, f"{scalars.shown(text)} is no number that can stand here")
            return None
        return found

    def is_to_fill_in(self) -> bool:
        """Whether all of the value is a place that somebody fills in before the API gets it."""
        return _PLACE.fullmatch(self.text()) is not None

    def truth(self) -> bool:
        """Whether it is true. Any other text than true and false is said, and counts as false."""
        text = self.text()
        if text not in scalars.TRUE and text not in scalars.FALSE:
            self.book.wrong(self, f"{scalars.shown(text)} is neither true nor false")
        return text in scalars.TRUE

    def pairs(self) -> dict[str, str]:
        """An object of texts, such as labels."""
        return {key: field.text() for key, field in self.fields()}

    def take(self) -> Field:
        """All of it counts as read."""
        self.book.take(self.path)
        return self

    def left(self) -> Iterator[Field]:
        """The fields of which nothing was read, as much in one as there is."""
        if self.book.is_taken(self.path):
            return
        if not self.book.is_touched(self.path) or isinstance(self.node, ScalarNode):
            if not self.is_null:
                yield self
            return
        below = self.items() if isinstance(self.node, SequenceNode) else [each for _, each in self.fields()]
        for each in below:
            yield from each.left()

    def _entries(self) -> dict[str, tuple[Node, Node]]:
        if not isinstance(self.node, MappingNode):
            if not self.is_null and not self.book.is_taken(self.path):
                self.book.wrong(self, "the API has an object here")
            return {}
        found: dict[str, tuple[Node, Node]] = {}
        for key, value in _merged(self.node):
            if isinstance(key, ScalarNode):
                found[key.value] = (key, value)
        return found


def _merged(node: MappingNode) -> list[tuple[Node, Node]]:
    """The entries, those of a merge key (<<) first, as others are to win."""
    merged: list[tuple[Node, Node]] = []
    own: list[tuple[Node, Node]] = []
    for key, value in node.value:
        if isinstance(key, ScalarNode) and key.value == "<<" and not key.style:
            for each in value.value if isinstance(value, SequenceNode) else [value]:
                merged += each.value if isinstance(each, MappingNode) else []
        else:
            own.append((key, value))
    return merged + own


def check(root: Node, book: Book) -> None:
    """Refuses what aliases make endless, or too large.

    Raises InputError with file:line:col.
    """
    waiting: list[tuple[Node, int]] = [(root, 0)]
    count = 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if depth > _DEEPEST or count > _MOST:
            mark = node.start_mark
            where = f"{book.file}:{book.number(mark.line)}:{mark.column + 1}"
            raise InputError(
                [Problem("too deep, or too much: an alias (*name) that holds itself, or many", where=where)]
            )
        if isinstance(node, SequenceNode):
            waiting += [(each, depth + 1) for each in node.value]
        elif isinstance(node, MappingNode):
            waiting += [(value, depth + 1) for _, value in node.value]


def say_twice(root: Node, book: Book) -> None:
    """Says which keys stand twice, of a tree that `check` has let pass."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, SequenceNode):
            waiting += node.value
        elif isinstance(node, MappingNode):
            _twice(node, book)
            waiting += [value for _, value in node.value]


def _twice(node: MappingNode, book: Book) -> None:
    seen: dict[str, Node] = {}
    for key, _ in node.value:
        if not isinstance(key, ScalarNode):
            book.draft.say(
                "unread",
                [book.place(key)],
                "a key that is no text",
                why="no object of the API has such a key",
            )
            continue
        if key.value in seen and key.value != "<<":
            both = [book.place(seen[key.value]), book.place(key)]
            book.draft.say("defect", both, f"the key {key.value} stands twice", why="the last one counts")
        seen[key.value] = key
