"""Lines of several files in one count, so that a line tells its file."""

import fnmatch
from collections.abc import Sequence

from hpclaunch.convert.reading import Source
from hpclaunch.readback.shell import inside
from hpclaunch.readback.shell.values import Value
from hpclaunch.values.conversion import Place

_EACH = 10_000_000


class Files:
    """The sources, each with its own range of line numbers."""

    def __init__(self, sources: Sequence[Source]):
        self._sources = tuple(sources)
        self._index = {source.name: index for index, source in enumerate(sources)}

    def text(self, name: str) -> str:
        """The text, as bash sees it."""
        return inside(self._sources[self._index[name]].text)

    def first(self, name: str) -> int:
        """The number of its first line."""
        return self._index[name] * _EACH + 1

    def place(self, line: int, last: int = 0) -> Place:
        """The line in its file."""
        index, number = divmod(line, _EACH)
        return Place(self._sources[index].name, number, last % _EACH if last > line else 0)

    def found(self, value: Value) -> str:
        """The source that a path means, "" for none: its last part is the name of one."""
        pattern = "".join(part if isinstance(part, str) else "*" for part in value).rpartition("/")[2]
        names = [name for name in self._index if fnmatch.fnmatchcase(name.rpartition("/")[2], pattern)]
        return names[0] if len(names) == 1 else ""
