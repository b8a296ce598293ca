"""Lines of several files in one count, so that a line tells its file."""

import fnmatch
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from hpclaunch.convert.reading import Source
from hpclaunch.readback.shell import inside
from hpclaunch.readback.shell.values import Value
from hpclaunch.values.conversion import Place

_EACH = 10_000_000
_SOURCES = re.compile(
    r"(?:^|[;&|(){!]|\b(?:then|do|else|if|elif|while|until)\b)[ \t]*"
    r"(?:[A-Za-z_]\w{0,60}=[^\s;&|(){}]{0,200}[ \t]+){0,5}"
    r"(?:source|\.)[ \t]+((?:\$\((?:[^()\n]|\([^()\n]*\))*\)|[^\s;&|])+)",
    re.MULTILINE,
)
_EXPANSION = re.compile(r"\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\$\{[^{}]*\}|\$\w+")


class Files:
    """The sources, each with its own range of line numbers."""

    def __init__(self, sources: Sequence[Source]):
        self._sources = tuple(sources)
        self._last = ((0, 0), Place(""))
        self._index = {source.name: index for index, source in enumerate(sources)}

    @property
    def sources(self) -> tuple[Source, ...]:
        return self._sources

    @property
    def names(self) -> list[str]:
        """The names of the sources, in their order."""
        return list(self._index)

    def text(self, name: str) -> str:
        """The text, as bash sees it."""
        return inside(self._sources[self._index[name]].text)

    def first(self, name: str) -> int:
        """The number of its first line."""
        return self._index[name] * _EACH + 1

    def name(self, line: int) -> str:
        """The file of a line."""
        return self._sources[line // _EACH].name

    def place(self, line: int, last: int = 0) -> Place:
        """The line in its file; `last` where it goes on to another."""
        if self._last[0] != (line, last):
            index, number = divmod(line, _EACH)
            place = Place(self._sources[index].name, number, last % _EACH if last > line else 0)
            self._last = ((line, last), place)
        return self._last[1]

    def called(self, text: str, first: int, last: int) -> str:
        """A text for people with the lines, from 1, where it stands; without them where `first` is 0."""
        if not first:
            return text
        place = self.place(first, last)
        return f"{text} in {structs.replace(place, file=place.file.rpartition('/')[2])}"

    def placed(self, name: str, rows: Iterable[tuple[int, int, str]]) -> Iterator[tuple[Place, str]]:
        """Texts with the lines of this source where they begin and end, as `place` has them."""
        before = self.first(name) - 1
        for line, last, text in rows:
            yield Place(name, line - before, last - before if last > line else 0), text

    def found(self, value: Value, but: Sequence[str] = ()) -> str:
        """The source that a path means, "" for none or for several: by its end, and by its last part where
        that is the name of one only."""
        pattern = "".join(_literal(part) if isinstance(part, str) else "*" for part in value)
        return self._like(pattern, but)

    def sourced_by(self, name: str) -> set[str]:
        """The sources that the text of a source names after `source` or `.`"""
        text = self.text(name)
        paths = (
            _EXPANSION.sub("*", each).replace('"', "").replace("'", "") for each in _SOURCES.findall(text)
        )
        return {self._like(path, (name,)) for path in paths} - {""}

    def _like(self, pattern: str, but: Sequence[str]) -> str:
        last = pattern.rpartition("/")[2]
        if not last.strip("*"):
            return ""
        names = [name for name in self._index if name not in but]
        exact = [name for name in names if name == pattern or name.endswith("/" + pattern.lstrip("./"))]
        if len(exact) == 1:
            return exact[0]
        alike = [name for name in names if fnmatch.fnmatchcase(name.rpartition("/")[2], last)]
        return alike[0] if len(alike) == 1 else ""


def tells_file(path: Value) -> bool:
    """Whether a path that is known in part has the file's own name: $HERE/go.sh, and not $FILE or go$N.sh."""
    last = path[-1] if path else None
    return isinstance(last, str) and (len(path) == 1 or "/" in last)


def _literal(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)
