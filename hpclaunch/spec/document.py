"""What was read: the value, and where in its file each key stands."""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

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


def located(problems: Sequence[Problem], *documents: Document) -> InputError:  # type: ignore[type-arg]
    """The error in which each problem says file:line:col, by the document that it names."""
    by_kind = {document.kind: document for document in documents}
    placed = []
    for problem in problems:
        document = by_kind.get(problem.document)
        where = problem.where or (document.locate(problem.path) if document else "")
        placed.append(Problem(problem.message, problem.document, problem.path, where))
    return InputError(placed)
