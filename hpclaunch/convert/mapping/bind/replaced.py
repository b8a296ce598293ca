"""Words that bind in the value of a variable of a script (CMD=(./bind.sh --)) which the script gives another
value before anything uses it: nothing is bound by them."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from hpclaunch.convert.reading import Assigned, Source
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.values.errors import InputError

_GIVES = re.compile(r"[ \t]*(?:(?:export|local|readonly|declare(?:[ \t]+-\w+)*)[ \t]+)?(\w+)\+?=")


def given(source: Source, environment: Mapping[str, str]) -> Sequence[Assigned]:
    """The values that the script gives its variables, none of one that no shell would take."""
    with suppress(ScriptError, InputError):
        return walk.read((source,), environment, source.name).assigned
    return ()


def is_replaced(source: Source, start: int, values: Sequence[Assigned]) -> bool:
    """Whether the line of the text that begins at `start` gives a variable a value, and each way through the
    script gives it another one before it is used."""
    found = _GIVES.match(source.text, start)
    if found is None:
        return False
    line = source.text.count("\n", 0, found.start(1)) + 1
    later = [
        each.place.line
        for each in values
        if each.name == found[1] and each.place.line > line and not (each.conditions or each.loops)
    ]
    # Up to the end of the line that replaces it, which may be made of what was there.
    until = source.text.splitlines(keepends=True)[line : min(later)] if later else ()
    uses = re.compile(rf"(?<!\\)\$(?:\{{[#!]?)?{found[1]}\b")
    return bool(later) and not any(uses.search(text) for text in until if not text.lstrip().startswith("#"))
