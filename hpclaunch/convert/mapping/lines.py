"""The lines from which a piece of a command comes, also where its text is known in part."""

import re

from hpclaunch.convert.programs.layers import Option
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known, shown
from hpclaunch.values.conversion import Place


def lines_of(reading: ShellReading, command: Command, option: Option) -> tuple[Place, ...]:
    """The line of the command, those of the variables that hold the option, and those of its own value."""
    return lines_of_text(reading, command, option.written, known(option.value or ()) or "")


def lines_of_text(reading: ShellReading, command: Command, text: str, value: str = "") -> tuple[Place, ...]:
    """The line of the command, those of the variables by way of which it has the text, and those whose own
    text is a part of the value."""
    found = {command.place: None}
    as_words = re.compile(rf"(?<!\S){re.escape(text)}(?!\S)") if text else None
    for name in uses_of(reading, command):
        each = reading.last(name)
        own = (shown(each.value) or " ".join(map(shown, each.array or ()))) if each is not None else ""
        has_it = as_words is not None and as_words.search(own) is not None
        if each is not None and (has_it or (len(own) > 1 and own in value) or f"${{{name}}}" in text):
            found[each.place] = None
    return tuple(found)


def uses_of(reading: ShellReading, command: Command) -> tuple[str, ...]:
    """The variables that a command uses, also by way of others."""
    waiting, seen = list(command.uses), dict.fromkeys(command.uses)
    while waiting:
        each = reading.last(waiting.pop(0))
        for name in each.uses if each is not None else ():
            if name not in seen:
                seen[name] = None
                waiting.append(name)
    return tuple(seen)
