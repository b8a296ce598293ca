"""Several job files and those that they wait for: read and checked as a whole before anything is sent."""

import os
from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.spec.document import Document
from hpclaunch.spec.job import Job
from hpclaunch.spec.read import read_job
from hpclaunch.spec.sweep import DependsOn
from hpclaunch.values.errors import InputError, Path, Problem


class Need(Struct, frozen=True):
    """A job that another waits for: its place in the graph, and until when: afterok or afterany.
    Of `singleton` the order alone counts."""

    index: int
    when: str


class Member(Struct, frozen=True):
    """A job of the graph. `given` is its place among the files that were given, None where it is found in
    `depends_on` alone. `singleton`: it waits for all jobs of its name."""

    document: Document[Job]
    given: int | None
    needs: tuple[Need, ...] = ()
    singleton: bool = False


def read_graph(files: Sequence[str], sets: Sequence[str]) -> list[Member]:
    """The jobs in an order in which none comes before one that it waits for; `sets` are put into those of
    `files`. Raises InputError with all problems of all files, and for files that wait for each other."""
    return _Graph(files, sets).ordered()


class _Graph:
    def __init__(self, files: Sequence[str], sets: Sequence[str]):
        self.problems: list[Problem] = []
        self.documents: dict[str, Document[Job] | None] = {}
        self.needs: dict[str, list[tuple[str, str, Path]]] = {}
        self.given: list[str] = []
        for file in files:
            key = os.path.realpath(file)
            if key in self.documents:
                self.problems.append(Problem(f"{file} is given twice: each file is one job", "job"))
                continue
            self.given.append(key)
            self._read(key, file, sets, "")
        for key in list(self.documents):
            self._follow(key)

    def ordered(self) -> list[Member]:
        """The members. Raises InputError."""
        order: list[str] = []
        if not self.problems:
            for key in self.given:
                self._visit(key, [], order)
        if self.problems:
            raise InputError(self.problems)
        places = {key: index for index, key in enumerate(order)}
        return [self._member(key, places) for key in order]

    def _member(self, key: str, places: dict[str, int]) -> Member:
        document = self.documents[key]
        assert document is not None
        needs = tuple(Need(places[other], when) for other, when, _ in self.needs[key] if other)
        singleton = any(when == "singleton" for _, when, _ in self.needs[key])
        given = self.given.index(key) if key in self.given else None
        return Member(document, given, needs, singleton)

    def _read(self, key: str, file: str, sets: Sequence[str], where: str) -> None:
        self.documents[key] = None
        try:
            self.documents[key] = read_job(file, sets)
        except InputError as error:
            # A file that is not there has no place of its own: the line that names it has.
            self.problems += (
                Problem(each.message, each.document, each.path, each.where or where)
                for each in error.problems
            )

    def _follow(self, key: str) -> None:
        """Reads what a job waits for, and what that waits for."""
        self.needs[key] = []
        document = self.documents[key]
        if document is None:
            return
        for index, entry in enumerate(document.value.depends_on):
            long = entry if isinstance(entry, DependsOn) else DependsOn(entry)
            path: Path = ("depends_on", index)
            if long.job is None:
                self.needs[key].append(("", long.when, path))
                continue
            written = document.has(("directory",))
            folder = document.value.directory if written else os.path.dirname(document.file)
            file = os.path.normpath(os.path.join(folder, long.job))
            other = os.path.realpath(file)
            self.needs[key].append((other, long.when, path))
            if other not in self.documents:
                self._read(other, file, (), document.locate(path))
                self._follow(other)
            self._check_singleton(document, other, long, path)

    def _check_singleton(self, document: Document[Job], other: str, entry: DependsOn, path: Path) -> None:
        waited_for = self.documents[other]
        if entry.when == "singleton" and waited_for and waited_for.value.name != document.value.name:
            message = (
                f"depends_on: singleton waits for jobs of the same name, and {entry.job} is "
                f"{waited_for.value.name}, not {document.value.name}: write afterany"
            )
            self.problems.append(Problem(message, "job", path, document.locate(path)))

    def _visit(self, key: str, above: list[str], order: list[str]) -> None:
        if key in order:
            return
        for other, _, path in self.needs[key]:
            if not other or other in order:
                continue
            document = self.documents[key]
            assert document is not None
            if other == key or other in above:
                ring = [*above, key][[*above, key].index(other) :]
                names = " waits for ".join(self._name(each) for each in [*ring, other])
                message = f"depends_on: the jobs wait for each other: {names}"
                self.problems.append(Problem(message, "job", path, document.locate(path)))
                return
            self._visit(other, [*above, key], order)
        order.append(key)

    def _name(self, key: str) -> str:
        document = self.documents[key]
        return document.file if document else key
