"""The tables of lscpu: `-e` (text and JSON) and `-p`, one row for each CPU with its caches.

Columns are found by their names, so any choice of them and any order is read. A column "L1d:L1i:L2:L3" has
the caches of a CPU in one cell; -p has one column for each.
"""

import re
from collections.abc import Sequence
from typing import Any

from hpclaunch.topology.readers import text as captures
from hpclaunch.topology.readers.text import Line
from hpclaunch.topology.seen import CpuSeen, Origin, Seen

_EXTENDED = re.compile(
    r"^[^\w\n]{0,40}(?:[A-Z0-9]{2,12}[ \t]+){0,12}CPU(?:[ \t]+[A-Za-z0-9:]{2,40}){0,20}[ \t]*$", re.MULTILINE
)
_PARSABLE = re.compile(
    r"^[^\w\n]{0,40}(?:[A-Za-z]{2,12},){0,12}CPU(?:,[A-Za-z0-9:]{0,40}){1,20}[ \t]*$", re.MULTILINE
)
_TELLS = re.compile(r"\b(?:NODE|SOCKET|CORE|L[1-3])", re.IGNORECASE)
_PROSE = re.compile(r".*(?:parsable format|programs\. Each different|starting (?:usually )?from zero).*")
_COMMAND = re.compile(r"(?:.*[$%>]\s*)?(?:sudo\s+)?lscpu\b.*")
_NONE = ("", "-")
_ONLINE = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


def looks_like(text: str) -> bool:
    """Whether there is a header of such a table."""
    return any(
        _TELLS.search(match.group()) for each in (_EXTENDED, _PARSABLE) for match in each.finditer(text)
    )


def read(lines: Sequence[Line], origin: Origin) -> Seen:
    """What the table tells. Raises InputError for a row that does not fit its header."""
    header: list[str] = []
    left: list[Line] = []
    rows: dict[int, CpuSeen | None] = {}
    comma = False
    for line in lines:
        text = line.text.strip()
        if not text or _PROSE.fullmatch(text) or _COMMAND.fullmatch(text):
            continue
        if not header:
            found = (_EXTENDED.fullmatch(line.text) or _PARSABLE.fullmatch(line.text)) and _TELLS.search(text)
            if found:
                comma = "," in text
                header = [name.lower() for name in _cells(text, comma)]
            else:
                left.append(line)
            continue
        cells = _cells(text, comma)
        if not cells[0][:1].isdigit() and cells[0] != "-":
            left.append(line)
            continue
        if len(cells) != len(header):
            message = f"{len(cells)} cells for the {len(header)} columns of the header"
            raise captures.wrong(origin.file, message, line.number, line.shift + 1)
        _add(rows, dict(zip(header, cells, strict=True)), Origin(origin.file, origin.format, line.number))
    return _seen(rows, origin, left)


def read_json(entries: list[Any], origin: Origin, left: Sequence[Line]) -> Seen:
    """The same from the list "cpus" of `lscpu -e -J`. Raises InputError as `read`."""
    rows: dict[int, CpuSeen | None] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            raise captures.wrong(origin.file, 'an entry of "cpus" is no CPU')
        cells = {name.lower(): "-" if value is None else str(value) for name, value in entry.items()}
        _add(rows, cells, origin)
    return _seen(rows, origin, left)


def _cells(text: str, comma: bool) -> list[str]:
    return [cell.strip() for cell in text.split(",")] if comma else text.split()


def _seen(rows: dict[int, CpuSeen | None], origin: Origin, left: Sequence[Line]) -> Seen:
    cpus = tuple(cpu for _, cpu in sorted(rows.items()) if cpu is not None)
    if not cpus:
        raise captures.wrong(origin.file, "the table of lscpu has no CPU that is on-line")
    return Seen(origin=origin, cpus=cpus, cpu_count=len(cpus), unread=captures.unread(origin, left))


def _add(rows: dict[int, CpuSeen | None], cells: dict[str, str], origin: Origin) -> None:
    """Adds the CPU of a row; one that is off-line is known by its number alone."""
    number = _number(cells, "cpu", origin)
    if number is None:
        raise captures.wrong(origin.file, "a row without the number of its CPU", origin.line)
    if number in rows:
        raise captures.wrong(origin.file, f"CPU {number} stands twice", origin.line)
    word = cells.get("online", "yes").lower()
    if word not in _ONLINE:
        raise captures.wrong(origin.file, f"ONLINE is yes or no, not {captures.quoted(word)}", origin.line)
    rows[number] = None
    if _ONLINE[word]:
        rows[number] = CpuSeen(
            number,
            origin,
            socket=_number(cells, "socket", origin),
            core=_number(cells, "core", origin),
            numa=_number(cells, "node", origin),
            l3=_number(_caches(cells, origin), "l3", origin),
        )


def _caches(cells: dict[str, str], origin: Origin) -> dict[str, str]:
    for names, values in cells.items():
        if ":" in names and values not in _NONE:
            parts = values.split(":")
            if len(parts) != names.count(":") + 1:
                message = f"{captures.quoted(values)} is not one number for each of {names}"
                raise captures.wrong(origin.file, message, origin.line)
            return dict(zip(names.split(":"), parts, strict=True))
    return cells


def _number(cells: dict[str, str], name: str, origin: Origin) -> int | None:
    word = cells.get(name, "-")
    if word in _NONE:
        return None
    try:
        return captures.natural(word)
    except ValueError as error:
        raise captures.wrong(origin.file, f"{name.upper()}: {error}", origin.line) from None
