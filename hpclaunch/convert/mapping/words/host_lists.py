"""Lists of hosts, which a launcher writes by a here-document or has beside it as a file."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from os.path import basename, normpath

from msgspec import Struct

from hpclaunch.convert.mapping.slurm.numbers.settled import by_role
from hpclaunch.convert.mapping.words.hosts import Counted
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known, shown
from hpclaunch.values.conversion import Place

_LIST = re.compile(r"host|machine|nodes|slots", re.IGNORECASE)
_OF_HERE = re.compile(r"localhost|127\.0\.0\.1|\$\(hostname(?: -\w)?\)|\$\{HOSTNAME\}")
_SLOTS = re.compile(r"(?:max[_-])?slots=")
_WITH_SLOTS = re.compile(r"[\w.-]+\s+slots\s*=\s*(\d+)(?:\s.*)?|[\w.-]+:(\d+)")

_MOST_STARTS = 100  # commands whose words are looked through for each list


class HostList(Struct, frozen=True):
    """A list: how many hosts it names, and the slots of each, None where they are not the same for all or are
    not said. `each` has those of one host after the other, where all are said."""

    hosts: Counted
    slots: int | None = None
    each: tuple[int, ...] = ()


def lists(reading: ShellReading) -> Iterator[HostList]:
    """Those of here-documents whose hosts have slots, and those of files that a source names, or a word that
    variables have a part of (-hostfile list$N)."""
    for command in reading.commands:
        text = known(command.stdin or ())
        names = " ".join(shown(each.path) for each in command.writes)
        if text and _LIST.search(f"{names} {command.written.partition(chr(10))[0]}"):
            found = _read(_rows(text), (command.place,), "a list of {} hosts")
            if found is not None and _have_slots(_rows(text)):
                yield found
    yield from _of_its_own(reading)
    for file in by_role(reading).get("hostfile", ()):
        named = re.compile(rf"(?<![\w.-]){re.escape(basename(file.name))}(?![\w.-])")
        words = (shown(word) for each in reading.starting[:_MOST_STARTS] for word in each.words)
        if any(map(named.search, chain((source.text for source in reading.sources), words))):
            last = file.text.rstrip().count("\n") + 1
            found = _read(_rows(file.text), (Place(file.name, 1, last if last > 1 else 0),), "{} hosts in it")
            if found is not None:
                yield found


def _of_its_own(reading: ShellReading) -> Iterator[HostList]:
    """Those that the script writes line by line: of nothing but the machine that it runs on, or of hosts that
    all have their slots beside them."""
    written: dict[str, list[Command]] = {}
    begun: set[str] = set()  # of the others there may be more than the script writes
    for command in reading.commands:
        if command.program == "rm":
            begun.update(normpath(known(word) or ".") for word in command.words[1:])
        for output in command.writes:
            path = known(output.path) or ""
            if output.descriptor in ("", "1") and _LIST.search(basename(path)):
                begun.update(() if output.append else (normpath(path),))
                written.setdefault(normpath(path), []).append(command)
    taken = (shown(word).rpartition("=")[2] for each in reading.starting if written for word in each.words)
    for path in dict.fromkeys(normpath(text) for text in taken if text):
        commands = written.get(path, ())
        if not commands:
            continue
        places = tuple(dict.fromkeys(each.place for each in commands))
        if all(map(_is_of_here, commands)):
            yield HostList(Counted(1, places, "a list of its own host"))
            continue
        rows = [row for each in commands for row in _rows(_said(each) or " ")]
        found = _read(rows, places, "a list of {} hosts")
        if path in begun and found is not None and all(map(_said, commands)) and _have_slots(rows):
            yield found


def _is_of_here(command: Command) -> bool:
    """Whether it writes the name of its own machine (`hostname`, `echo $(hostname) slots=4`)."""
    if command.program == "hostname":
        return True
    words = command.words[1:]
    own = bool(words) and _OF_HERE.fullmatch(shown(words[0])) is not None
    return command.program == "echo" and own and all(_SLOTS.match(shown(word)) for word in words[1:])


def _said(command: Command) -> str:
    """The text that echo writes, whatever the script's values are; "" where it depends on more."""
    words = [known(word) for word in command.words]
    if words[:1] != ["echo"] or len(words) != 2 or command.conditions or command.loops:
        return ""
    return words[1] or ""


def _rows(text: str) -> list[str]:
    return [row.strip() for row in text.splitlines() if row.strip() and not row.lstrip().startswith("#")]


def _have_slots(rows: Sequence[str]) -> bool:
    return all(map(_WITH_SLOTS.fullmatch, rows))


def _read(rows: Sequence[str], places: tuple[Place, ...], what: str) -> HostList | None:
    if not rows:
        return None
    found = [_WITH_SLOTS.fullmatch(row) for row in rows]
    slots = {(each[1] or each[2]) if each else "" for each in found}
    only = slots.pop() if len(slots) == 1 else ""
    names = {re.split(r"[\s:]", row)[0] for row in rows}
    counted = Counted(len(names), places, what.format(len(names)))
    every = tuple(int(each[1] or each[2]) for each in found if each is not None)
    told = every if len(every) == len(names) == len(rows) and all(every) else ()
    return HostList(counted, int(only) if only else None, told)
