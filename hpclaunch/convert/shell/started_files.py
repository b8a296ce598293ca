"""A script in a file that this one starts by itself (bash FILE WORDS, ./FILE WORDS): one of the sources, or
one that it has written."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.shell import written_files
from hpclaunch.convert.shell.names import python
from hpclaunch.convert.shell.places import tells_file
from hpclaunch.convert.shell.started import behind_options
from hpclaunch.readback.shell.values import Unknown, Value, base_name

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker


class Script(Struct, frozen=True):
    """`name` is that of a source, "" for a written one; `first` the line where its text stands in the script
    that writes it, 0 where it is that of the command; `arguments` what stands behind its name."""

    text: Value
    arguments: tuple[Value, ...]
    name: str = ""
    first: int = 0

    @contextmanager
    def lines(self, shell: "Walker") -> Iterator[None]:
        """Be at its lines, while it lasts."""
        line = shell.line
        try:
            if self.name:
                with shell.opened(self.name):
                    self._be_at(shell, shell.files.first(self.name))
                    yield
                return
            if self.first:
                self._be_at(shell, shell.files.first(shell.files.name(line)) + self.first - 1)
            yield
        finally:
            shell.line = line

    def _be_at(self, shell: "Walker", first: int) -> None:
        """Be at the first of its lines, none of which ends the script that starts it."""
        count = sum(part.count("\n") for part in self.text if isinstance(part, str))
        shell.line = first
        shell.subshells.append(shell.files.place(first, first + count))


def of(shell: "Walker", words: Sequence[Value]) -> Script | None:
    """The script that these words start, None where its text is not known."""
    rest = list(words)
    if rest and base_name(rest[0]) in SHELLS:
        rest = behind_options(rest[1:])
    elif not rest or "/" not in "".join(part for part in rest[0] if isinstance(part, str)):
        return None
    if not rest:
        return None
    path, arguments = rest[0], tuple(rest[1:])
    name = shell.files.found(path, shell.around) if tells_file(path) and shell.script in shell.around else ""
    if name:
        return Script((shell.files.text(name),), arguments, name)
    is_made = any(isinstance(part, Unknown) and part.kind == "output" for part in path)
    text = written_files.of(shell, python(path), _written(shell) if is_made else "")
    return None if text is None else Script(text.text, arguments, first=text.first)


def _written(shell: "Walker") -> str:
    current = shell.current
    return "" if current is None else " ".join(word.written for word in current.words)
