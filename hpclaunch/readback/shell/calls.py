"""What an evaluation finds."""

from msgspec import Struct

from hpclaunch.readback.shell.state import Outside
from hpclaunch.readback.shell.values import Value


class Note(Struct, frozen=True):
    """Something on a line that is not understood."""

    line: int
    text: str


class Call(Struct, frozen=True):
    """A command that would be run, with its words. Of watched commands `environment` has the variables
    that the script exports to it, and `unnamed` what it exports under names that it does not tell;
    `outside` says which others may come from the shell that started the script. `conditions` are those on
    which it depends that it is run, by line: none, and it is."""

    line: int
    words: tuple[Value, ...]
    environment: tuple[tuple[str, Value], ...]
    unnamed: tuple[Value, ...]
    outside: Outside
    conditions: tuple[str, ...]


class Reading(Struct, frozen=True):
    """The calls in their order, and what is not understood."""

    calls: tuple[Call, ...]
    notes: tuple[Note, ...]
