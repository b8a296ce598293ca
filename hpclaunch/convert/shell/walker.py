"""A shell that runs nothing, and notes what a launcher would do: its commands, and where values come from."""

import re
from collections.abc import Sequence

from hpclaunch.convert.reading import Assigned, Assumed, Command, Source, Sourced, Statement, Unclear
from hpclaunch.convert.shell.lenient import LenientExpander
from hpclaunch.convert.shell.places import Files
from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.evaluate import Shell
from hpclaunch.readback.shell.expand import Expander
from hpclaunch.readback.shell.flow import Flow
from hpclaunch.readback.shell.parse import parse
from hpclaunch.readback.shell.state import Array
from hpclaunch.readback.shell.statements import Assignment, Simple
from hpclaunch.readback.shell.values import Value, known
from hpclaunch.values.conversion import Place

_NAMES = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*)")


class Walker(Shell):
    """Walks the sources, one after the other, with one state."""

    def __init__(self, sources: Sequence[Source]):
        super().__init__(())
        self.files = Files(sources)
        self.commands: list[Command] = []
        self.assigned: list[Assigned] = []
        self.assumed: list[Assumed] = []
        self.wanted: dict[str, list[Place]] = {}
        self.sourced: list[Sourced] = []
        self.statements: list[Statement] = []
        self.unclear: list[Unclear] = []
        self._walked: set[str] = set()

    @property
    def place(self) -> Place:
        """Where the walk is."""
        return self.files.place(self.line)

    @property
    def expander(self) -> Expander:
        return LenientExpander(self, self.state, self._output_of, self._budget)

    def note(self, text: str) -> None:
        self.unclear.append(Unclear(self.place, outside(text)))

    def walk(self, name: str) -> None:
        """Walk a source, as `source` does."""
        if name in self._walked:
            return
        self._walked.add(name)
        self.run(parse(self.files.text(name), self.files.first(name)))

    def assign(self, assignment: Assignment, keyed: bool = False, exports: bool | None = None) -> None:
        super().assign(assignment, keyed, exports)
        after = self.state.get(assignment.name)
        if after is None or after.value is None:
            return
        array = after.value.items.values() if isinstance(after.value, Array) else None
        value = after.value if not isinstance(after.value, Array) else ()
        self.assigned.append(
            Assigned(
                assignment.name,
                shown_value(value),
                self.place,
                after.exported,
                array=None if array is None else tuple(map(shown_value, array)),
                uses=tuple(dict.fromkeys(_NAMES.findall(assignment.written))),
            )
        )

    def _simple(self, statement: Simple) -> Flow:
        self._current = statement
        return super()._simple(statement)

    def _call(self, words: list[Value]) -> Flow:
        name = known(words[0])
        if name in ("source", ".") and len(words) > 1:
            self._source(words[1])
            return Flow.NEXT
        return super()._call(words)

    def _source(self, value: Value) -> None:
        name = self.files.found(value)
        self.sourced.append(Sourced(self.place, shown_value(value), name))
        self.status = None
        if name:
            line = self.line
            self.walk(name)
            self.line = line

    def _external(self, words: list[Value]) -> None:
        super()._external(words)
        self.calls.clear()
        written = " ".join(word.written for word in self._current.words)
        self.commands.append(
            Command(
                self.place,
                tuple(map(shown_value, words)),
                outside(written),
                environment=tuple(
                    (name, shown_value(variable.value))
                    for name, variable in self.state.exported().items()
                    if variable.value is not None and not isinstance(variable.value, Array)
                ),
                stdin=None if self.input.text is None else shown_value(self.input.text),
                conditions=tuple(self._conditions),
                within="output" if self.output is not None else "",
                uses=tuple(dict.fromkeys(_NAMES.findall(written))),
            )
        )


def shown_value(value: Value) -> Value:
    """A value with Python's text in it."""
    return tuple(outside(part) if isinstance(part, str) else part for part in value)
