"""What is found out while one file is read: where its values stand, and what is wrong with it."""

from hpclaunch.spec import scalars
from hpclaunch.spec.merge import Merging
from hpclaunch.spec.tree import MAX_NODES, MappingNode, Node, ScalarNode, where
from hpclaunch.values.errors import InputError, Path, Problem

MAX_PROBLEMS = 40  # nobody reads more, and a file of another kind would fill the screen


class TooManyProblems(Exception):
    """Reading stops: there are more problems than anybody wants to see."""


class Reading:
    """What is found out while one file is read."""

    def __init__(self, kind: str, file: str):
        self.kind = kind
        self.file = file
        self.problems: list[Problem] = []
        self.wrong_paths: set[Path] = set()
        self.marks: dict[Path, tuple[int, int]] = {}
        self.files: dict[Path, str] = {}
        self.nodes = 0
        self.merging = Merging(kind)

    def note(self, node: Node, path: Path) -> None:
        """Remembers where the value at `path` stands."""
        self.count(node, path)
        start = node.start_mark
        if start is None:
            self.marks[path] = (0, 0)
            return
        self.marks[path] = (start.line + 1, start.column + 1)
        if start.name != self.file:
            self.files[path] = start.name

    def count(self, node: Node, path: Path) -> None:
        """Aliases can make a small file large: refuses one that expands without end."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            message = f"aliases (*NAME) expand to more than {MAX_NODES:,} values"
            raise InputError([Problem(message, self.kind, path, where(node, path))])

    def wrong(self, node: Node, path: Path, message: str) -> None:
        self.wrong_paths.add(path)
        self.problems.append(Problem(message, self.kind, path, where(node, path)))
        if len(self.problems) >= MAX_PROBLEMS:
            raise TooManyProblems


def entries(reading: Reading, node: MappingNode, path: Path) -> list[tuple[str, Node, Node]]:
    """(key, its node, its value's node) of a map, merge keys resolved. Wrong and double keys are reported."""
    found: dict[str, tuple[str, Node, Node]] = {}
    for key_node, value in reading.merging.pairs(node):
        if not isinstance(key_node, ScalarNode) or key_node.tag:
            reading.wrong(key_node, path, "a key must be plain text")
            continue
        key = key_node.value
        if key == "" and not key_node.style:
            reading.wrong(key_node, path, "a key has no name")
        elif key in found:
            first = where(found[key][1], (*path, key))
            reading.wrong(
                key_node, (*path, key), f"the key {scalars.shown(key)} stands twice, first at {first}"
            )
        else:
            found[key] = (key, key_node, value)
    return list(found.values())
