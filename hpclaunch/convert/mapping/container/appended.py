"""A list of mounts that a script makes bit by bit: what is in it for certain, and what on a condition."""

from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.convert.mapping.words.texts import split
from hpclaunch.convert.reading import Assigned, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known
from hpclaunch.values.conversion import Place


class Entry(Struct, frozen=True):
    """One mount, with its lines. `only`: it is there on this condition."""

    value: Value
    places: tuple[Place, ...]
    only: str = ""


def entries(reading: ShellReading, entry: Entry) -> list[Entry]:
    """The mounts of a variable to which the script only added, each with its line; the entry as it is where
    it is anything else."""
    part = entry.value[0] if len(entry.value) == 1 else None
    if not isinstance(part, Unknown) or part.kind != "either" or _is_lost(reading, part.name):
        return [entry]
    found: list[Entry] = []
    before: Value = ()
    for each in (each for each in reading.assigned if each.name == part.name):
        added = _added(each, before, found)
        if added is None and not (each.conditions or each.loops) and known(each.value) is not None:
            found, added = [], each.value  # all of it is told anew, as by ${MOUNTS%,}
        if added is None:
            return [entry]
        before = each.value
        found += [Entry(value, (each.place,), _only(each)) for value in split(added, ",") if value]
    return found or [entry]


def _is_lost(reading: ShellReading, name: str) -> bool:
    """Whether the variable may lose what it had where no assignment says so."""
    taken = (each.written for each in reading.statements if each.written.startswith(("unset", "eval")))
    return any(each.unread for each in reading.unclear) or any(name in each for each in taken)


def _added(each: Assigned, before: Value, found: Sequence[Entry]) -> Value | None:
    """What is new in a value, None where it takes the place of the one before."""
    if each.array is not None or each.loops:
        return None
    first = each.value[0] if each.value else ""
    if isinstance(first, Unknown) and first.kind == "either" and first.name == each.name:
        return each.value[1:]
    if before and each.value[: len(before) - 1] == before[:-1] and len(each.value) >= len(before):
        last, its = before[-1], each.value[len(before) - 1]
        if isinstance(last, str) and isinstance(its, str) and its.startswith(last):
            return (its[len(last) :], *each.value[len(before) :])
        if last == its:
            return each.value[len(before) :]
    return each.value if not found else None


def _only(each: Assigned) -> str:
    """The innermost condition, without its line."""
    return each.conditions[-1].split(": ", 1)[-1].removeprefix("if ") if each.conditions else ""
