"""What was read: the value, and where in its file each key stands."""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from hpclaunch.values.cpulist import format_list
from hpclaunch.values.errors import InputError, Path, Problem

T = TypeVar("T")


class Document(Struct, Generic[T], frozen=True):
    """A file that was read and is valid. `marks` maps the keys down to a value to (line, column), from 1;
    a value set on the command line has (0, 0). `files` names the file of those that stand in another one:
    what a site took from the site that it extends."""

    kind: str
    file: str
    value: T
    marks: Mapping[Path, tuple[int, int]]
    files: Mapping[Path, str] = {}

    def locate(self, path: Path) -> str:
        """file:line:col of the value at `path`, or of the nearest key above it."""
        for length in range(len(path), -1, -1):
            mark = self.marks.get(path[:length])
            if mark == (0, 0):
                return "--set " + ".".join(map(str, path[:length]))
            if mark:
                return f"{self.files.get(path[:length], self.file)}:{mark[0]}:{mark[1]}"
        return self.file

    def has(self, path: Path) -> bool:
        """Whether the file, or the command line, says something at this very path."""
        return path in self.marks

    def lines(self, paths: Sequence[Path]) -> str:
        """file:line of the values at these paths, or of the nearest keys above them: file:26, file:26-33,
        file:8,12; several files where a site extends another."""
        found: dict[str, set[int]] = {}
        for path in paths:
            place = self.locate(path)
            file, _, line = place.rpartition(":")[0].rpartition(":")
            if line.isdigit():
                found.setdefault(file, set()).add(int(line))
            else:
                found.setdefault(place, set())
        return ", ".join(
            f"{file}:{format_list(numbers)}" if numbers else file for file, numbers in found.items()
        )


def located(problems: Sequence[Problem], *documents: Document) -> InputError:  # type: ignore[type-arg]
    """The error in which each problem says file:line:col, by the document that it names."""
    by_kind = {document.kind: document for document in documents}
    placed = []
    for problem in problems:
        document = by_kind.get(problem.document)
        where = problem.where or (document.locate(problem.path) if document else "")
        placed.append(Problem(problem.message, problem.document, problem.path, where))
    return InputError(placed)
