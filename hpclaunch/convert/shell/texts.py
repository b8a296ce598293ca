"""The texts of the sources, each walked where the script goes through it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hpclaunch.convert.reading import Source, Statement
from hpclaunch.convert.shell.listing import row_of, statements_of
from hpclaunch.convert.shell.parsed import parsed
from hpclaunch.convert.shell.recorder import Recorder
from hpclaunch.convert.shell.values import Context
from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.flow import Flow
from hpclaunch.readback.shell.reads import Input
from hpclaunch.readback.shell.state import State
from hpclaunch.readback.shell.statements import Group
from hpclaunch.readback.shell.statements import Statement as Part

_OFTEN = 20  # after so many statements the commands are counted


class Texts(Recorder):
    """Walks sources, the statements of each in their order. `seen` are those that were walked, and `reached`
    is the number of the statement that was begun last, of those that stand in nothing."""

    def __init__(self, sources: Sequence[Source]):
        super().__init__(sources)
        self.seen: set[str] = set()
        self.reached = self.read_up_to = 0  # and the last line that was read
        self._parsed: dict[str, Group] = {}
        self._open: list[str] = []

    def parse(self, name: str) -> Group:
        """The statements of a source. Raises ScriptError."""
        if name not in self._parsed:
            self._parsed[name] = parsed(self.files.text(name), self.files.first(name))
        return self._parsed[name]

    def statements(self) -> list[Statement]:
        """All statements of the sources that were walked."""
        found: list[Statement] = []
        for name, body in self._parsed.items():
            parts = statements_of(body)
            rows = self.files.placed(name, map(row_of, parts))
            found += [
                Statement(place, written if written.isascii() else outside(written), part)
                for (place, written), part in zip(rows, parts, strict=True)
            ]
        return found

    @property
    def around(self) -> Sequence[str]:
        """The sources that the walk is in, each of which began the next."""
        return self._open

    @contextmanager
    def opened(self, name: str) -> Iterator[None]:
        """Be in a source, while it lasts."""
        self._open.append(name)
        self.seen.add(name)
        try:
            yield
        finally:
            self._open.pop()

    def walk(self, name: str) -> Flow:
        """Walk a source, as `source` does."""
        with self.opened(name):
            return self.lines(self.parse(name).body)

    def walk_from(self, name: str, number: int) -> None:
        """Walk the statements of a source from the one of this number on, with nothing around them."""
        self.context, self._depth = Context(), 0
        with self.opened(name):
            self.lines(self._from(name, number))

    def _from(self, name: str, number: int) -> Iterator[Part]:
        """The statements of a source from the one of this number on, as long as it goes on."""
        for index, statement in enumerate(self.parse(name).body[number:], number):
            self.reached, self.read_up_to = index, statement.last
            yield statement
            if index % _OFTEN == 0 and self.has_enough():
                return

    def start_afresh(self, state: State) -> None:
        """Be in this state, outside of all commands, wherever a walk was given up."""
        self.state, self.input, self.output, self.errors = state, Input(""), None, None
        state.arguments = None
        self.locals.clear()
        self.excused = 0
