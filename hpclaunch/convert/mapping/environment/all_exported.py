"""`set -a` around a file that the script sources: programs have what the file gives a value. A rank's own
shell, which sources the file now, does that too."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hpclaunch.convert.mapping.environment.in_order import Prepared
from hpclaunch.convert.reading import ShellReading, once
from hpclaunch.readback.shell.values import Value
from hpclaunch.values.conversion import Place

# bash(1), "set": -a and -o allexport mark what is given a value for export, +a and +o allexport end that.
_SWITCH = re.compile(r"set\s+(?:([-+])\w*a\w*|([-+])o\s+allexport)\b.*")
_SOURCES = re.compile(r"(?:source|\.)\s")
_JOINS: tuple[Value, ...] = (("&&",), ("||",))

# Where a file is sourced, with the text of that; where `set -a` stands before it, and `set +a` behind it.
_Switches = dict[tuple[Place, str], list[Place]]


def with_switches(reading: ShellReading, prepared: Sequence[Prepared]) -> Iterator[Prepared]:
    """What a rank's shell does, with `set -a` before what the script sources behind one, and `set +a` behind
    that. What && and || join stays together."""
    switches = _switches(reading) if prepared else {}
    starts = [number for number, each in enumerate(prepared) if not (number and each.words[0] in _JOINS)]
    now: list[Place] = []  # that of the `set -a` which counts, and of its end where there is one
    last = prepared[:1]
    for begin, end in pairwise([*starts, len(prepared)]):
        chain = prepared[begin:end]
        its = next((row for each in chain if (row := switches.get((each.place, each.written)))), [])
        if its != now:
            yield from _switch(last, now[1:], "+a")
            yield from _switch(chain, its[:1], "-a")
        yield from chain
        now, last = its, chain[-1:]
    yield from _switch(last, now[1:], "+a")


def _switch(beside: Sequence[Prepared], places: Sequence[Place], word: str) -> Iterator[Prepared]:
    for place in places:
        yield beside[0]._replace(place=place, words=(("set",), (word,)), written="")


@once
def _switches(reading: ShellReading) -> _Switches:
    found: _Switches = {}
    on: dict[str, list[tuple[Place, str]]] = {}  # of each file in which it counts, what is sourced meanwhile
    begun: dict[str, Place] = {}
    for each in reading.statements:
        file = each.place.file
        switch = _SWITCH.fullmatch(each.written)
        if switch is None:
            if file in begun and _SOURCES.match(each.written):
                found[each.place, each.written] = [begun[file]]
                on.setdefault(file, []).append((each.place, each.written))
        elif "-" in switch.groups():
            begun.setdefault(file, each.place)
        elif begun.pop(file, None) is not None:
            for key in on.pop(file, ()):
                found[key].append(each.place)
    return found
