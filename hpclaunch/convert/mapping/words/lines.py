"""The lines from which a piece of a command comes, also where its text is known in part."""

import re
from functools import lru_cache

from hpclaunch.convert.programs.layers import Option
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known, shown
from hpclaunch.values.conversion import Place

_MOST = 400  # variables of a command
_NAMED = re.compile(r"\$\{(\w+)\}")
_NAMES = re.compile(r"\$\{?([A-Za-z_]\w*)")
_LONG = 10_000  # characters of a command as it is written


def lines_of(reading: ShellReading, command: Command, option: Option) -> tuple[Place, ...]:
    """The line of the command, those of the variables that hold the option, and those of its own value."""
    return _lines_of_text(reading, command, option.written, known(option.value or ()) or "")


def _lines_of_text(reading: ShellReading, command: Command, text: str, value: str = "") -> tuple[Place, ...]:
    """The line of the command, those of the variables by way of which it has the text, and those whose own
    text is a part of the value; of NAME=VALUE that of NAME alone, where it has all of the value."""
    found = {command.place: None}
    words = set(text.split())
    named = set(_NAMED.findall(text))
    variables = _variables(_Of(reading, command.uses))
    given, _, its_value = value.partition("=")
    is_named = any((name, own) == (given, its_value) for name, _, own, _ in variables)
    for name, place, own, its in variables:
        in_value = name == given if is_named else 1 < len(own) <= len(value) and own in value
        if (words and words <= its) or in_value or name in named:
            found[place] = None
    return tuple(found)


def names_behind(option: str, command: Command) -> list[str] | None:
    """The variables in the word behind an option (-N, --nodes); None where the command as it is written does
    not have it once."""
    behind = rf"(?<!\S){re.escape(option)}(?:[=\s]\s*|(?=[^\w\s-]))(\S+)"
    words = re.findall(behind, command.written) if len(command.written) < _LONG else ()
    return _NAMES.findall(words[0]) if len(words) == 1 else None


def names_from(word: str, command: Command) -> list[str] | None:
    """The variables from a word on, and the functions that it is given; None where the command as it is
    written does not have it once."""
    parts = re.split(rf"(?<!\S){re.escape(word)}(?!\S)", command.written, maxsplit=2) if word else ()
    functions = [name for name in command.uses if name.endswith("()")]
    return [*_NAMES.findall(parts[1]), *functions] if len(parts) == 2 else None


class _Of:
    """The variables of a command in a reading, which is the same reading only if it is the very one."""

    def __init__(self, reading: ShellReading, uses: tuple[str, ...]):
        self.reading, self.uses = reading, uses

    def __hash__(self) -> int:
        return hash((id(self.reading), self.uses))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Of) and self.reading is other.reading and self.uses == other.uses


@lru_cache(maxsize=64)
def _variables(of: _Of) -> tuple[tuple[str, Place, str, frozenset[str]], ...]:
    """Name, line, text and words of each variable that has a value."""
    found = []
    for name in _closure(of.reading, of.uses):
        each = of.reading.last(name)
        if each is not None:
            own = shown(each.value) or " ".join(map(shown, each.array or ()))
            found.append((name, each.place, own, frozenset(own.split())))
    return tuple(found)


def uses_of(reading: ShellReading, command: Command) -> tuple[str, ...]:
    """The variables that a command uses, also by way of others, as many as a launcher may have."""
    return _closure(reading, command.uses)


def _closure(reading: ShellReading, uses: tuple[str, ...]) -> tuple[str, ...]:
    waiting, seen = list(uses), dict.fromkeys(uses)
    while waiting and len(seen) < _MOST:
        each = reading.last(waiting.pop(0))
        for name in each.uses if each is not None else ():
            if name not in seen:
                seen[name] = None
                waiting.append(name)
    return tuple(seen)[:_MOST]
