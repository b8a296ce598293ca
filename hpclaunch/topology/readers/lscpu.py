"""`lscpu` in the C locale: the summary as text or JSON. The tables of `-e` and `-p` are `lscpu_table`'s.

The fields are those of lscpu.c in util-linux 2.13 to 2.41: "CPU socket(s)" became "Socket(s)" in 2.20, JSON
came in 2.30, sections with indented fields (in JSON: children) in 2.37. With -x the lists are masks.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from hpclaunch.topology.readers import bitset, lscpu_table
from hpclaunch.topology.readers import text as captures
from hpclaunch.topology.readers.text import Line
from hpclaunch.topology.seen import CpuSeen, NumaSeen, Origin, Seen

FORMAT = "lscpu"
_LOOKS = re.compile(
    r"^[^\w\n]{0,40}(?:Architecture|CPU\(s\)|On-line CPU\(s\) (?:list|mask)|Thread\(s\) per core):"
    r'|\{\s*"(?:lscpu|cpus)"\s*:',
    re.MULTILINE,
)
_FIELD = re.compile(r"\s*([A-Za-z][^:]*):(?:\s+(.*)|)")
_KNOWN = re.compile(
    r"Architecture|CPU op-mode\(s\)|Address sizes|Byte Order|CPU\(s\)|(?:On|Off)-line CPU\(s\) (?:list|mask)"
    r"|(?:BIOS )?(?:Vendor ID|Vendor|Model name|CPU family)|Model|Machine type|(?:CPU )?[Ss]ocket\(s\)"
    r"|(?:Thread|Core|Socket|Cluster|Book|Drawer)\(s\)(?: per (?:core|socket|cluster|book|drawer))?"
    r"|Stepping|Frequency boost|CPU\(s\) scaling MHz|CPU (?:max|min|static|dynamic)? ?MHz|BogoMIPS|Flags"
    r"|Physical (?:sockets|chips|cores/chip)|Virtuali[sz]ation.*|Hypervisor.*|Dispatching mode"
    r"|Caches \(sum of all\)|L[1-4][di]?(?: cache)?"
    r"|NUMA|NUMA node\(s\)|NUMA node[0-9]+ CPU\(s\)|Vulnerabilit.*"
)
_COMMAND = re.compile(r"(?:.*[$%>]\s*)?(?:LC_ALL=\S+\s+|LANG=\S+\s+|sudo\s+)*lscpu\b[^:]*")
_LIST_PIECE = re.compile(r"\s*[0-9,-]+")
_NODE = re.compile(r"NUMA node([0-9]{1,6}) CPU\(s\)")
_TAKES_MORE = ("Flags", "Vulnerabilit")


class _Field(Struct, frozen=True):
    name: str
    value: str
    line: int


def looks_like(text: str) -> bool:
    """Whether there is a field that lscpu alone writes, its JSON, or the header of a table of it."""
    return _LOOKS.search(text) is not None or lscpu_table.looks_like(text)


def read(text: str, file: str) -> Seen:
    """What lscpu tells. Raises InputError where the text is none of lscpu's, breaks off, or contradicts
    itself."""
    written = re.search(r'"(?:lscpu|cpus)"\s*:', text) is not None
    # JSON may stand in one line.
    lines = captures.lines(text, file) if written else captures.lines(text, file, longest=captures.LONGEST)
    begin = next((index for index, line in enumerate(lines) if line.text.lstrip()[:1] in ("{", "[")), None)
    if begin is not None and written:
        return _json(lines, begin, file)
    if lscpu_table.looks_like(text):
        return lscpu_table.read(lines, Origin(file, FORMAT))
    left: list[Line] = []
    fields = _fields(lines, left)
    return _summary(fields, Origin(file, FORMAT), left)


def _json(lines: Sequence[Line], begin: int, file: str) -> Seen:
    text = "\n".join(line.text for line in lines)
    start = sum(len(line.text) + 1 for line in lines[:begin])
    try:
        data, end = json.JSONDecoder(parse_int=_integer).raw_decode(text, start + text[start:].index("{"))
    except json.JSONDecodeError as error:
        raise captures.wrong(
            file, f"the JSON of lscpu breaks off: {error.msg}", error.lineno, error.colno
        ) from None
    except (ValueError, RecursionError):
        raise captures.wrong(file, "this JSON is not what lscpu writes") from None
    origin = Origin(file, FORMAT)
    after = text.count("\n", 0, end) + 1
    left = [line for line in (*lines[:begin], *lines[after:]) if _unknown(line)]
    if isinstance(data.get("cpus"), list):
        return lscpu_table.read_json(data["cpus"], origin, left)
    if not isinstance(data.get("lscpu"), list):
        raise captures.wrong(file, 'the JSON has neither a list "lscpu" nor a list "cpus"', begin + 1)
    return _summary(list(_flat(data["lscpu"], file)), origin, left)


def _integer(text: str) -> int:
    return captures.natural(text.removeprefix("-"), 1 << 60) * (-1 if text.startswith("-") else 1)


def _flat(entries: list[Any], file: str) -> Iterator[_Field]:
    waiting = list(reversed(entries))
    while waiting:
        entry = waiting.pop()
        if not isinstance(entry, dict) or not isinstance(entry.get("field"), str):
            raise captures.wrong(file, 'an entry of "lscpu" is no field')
        value = entry.get("data")
        yield _Field(entry["field"].strip().removesuffix(":"), "" if value is None else str(value), 0)
        children = entry.get("children", [])
        if isinstance(children, list):
            waiting += reversed(children)


def _unknown(line: Line) -> bool:
    return bool(line.text.strip()) and not _COMMAND.fullmatch(line.text.strip())


def _fields(lines: Sequence[Line], left: list[Line]) -> list[_Field]:
    """The fields in order; a list that a terminal broke is put together again."""
    found: list[_Field] = []
    vulnerabilities = False
    for line in lines:
        text = line.text
        if not text.strip():
            vulnerabilities = False
        elif not _unknown(line):
            pass
        elif found and _LIST_PIECE.fullmatch(text) and found[-1].name.endswith(("CPU(s)", "list", "mask")):
            last = found[-1]
            found[-1] = _Field(last.name, last.value + text.strip(), last.line)
        else:
            match = _FIELD.fullmatch(text)
            name = match.group(1).strip() if match else ""
            if match and _KNOWN.fullmatch(name):
                found.append(_Field(name, (match.group(2) or "").strip(), line.number))
                vulnerabilities = name == "Vulnerabilities"
            elif not vulnerabilities and not (found and found[-1].name.startswith(_TAKES_MORE) and not match):
                left.append(line)
    return found


class _Values:
    """The fields by name. A machine with cores of several kinds says some of them for each kind."""

    def __init__(self, fields: list[_Field], origin: Origin):
        self.fields = fields
        self.origin = origin

    def texts(self, *names: str) -> list[_Field]:
        return [each for each in self.fields if each.name in names and each.value not in ("", "-")]

    def number(self, *names: str) -> int | None:
        """The number, None where it is missing or each kind of core has its own."""
        values = {self._checked(each) for each in self.texts(*names)}
        return values.pop() if len(values) == 1 else None

    def _checked(self, each: _Field) -> int:
        try:
            return captures.natural(each.value)
        except ValueError as error:
            raise captures.wrong(self.origin.file, f"{each.name}: {error}", each.line) from None

    def cpus(self, each: _Field, masks: bool) -> tuple[int, ...]:
        try:
            hexadecimal = masks or each.value.startswith("0x")
            return (
                bitset.of_one_number(each.value) if hexadecimal and each.value else captures.cpus(each.value)
            )
        except ValueError as error:
            raise captures.wrong(self.origin.file, f"{each.name}: {error}", each.line) from None


def _summary(fields: list[_Field], origin: Origin, left: list[Line]) -> Seen:
    values = _Values(fields, origin)
    listed = values.texts("On-line CPU(s) list", "On-line CPU(s) mask")
    count = values.number("CPU(s)")
    if not listed and count is None:
        message = "not what lscpu writes in the C locale: no CPU(s) and no on-line CPUs (LC_ALL=C lscpu)"
        raise captures.wrong(origin.file, message)
    masks = bool(listed) and listed[0].name.endswith("mask")
    online = values.cpus(listed[0], masks) if listed else ()
    if listed and count is not None:
        others = values.texts("Off-line CPU(s) list", "Off-line CPU(s) mask")
        offline = values.cpus(others[0], masks) if others else ()
        if len(online) + len(offline) != count:
            message = f"it says {count} CPUs and lists {len(online) + len(offline)}: the capture breaks off"
            raise captures.wrong(origin.file, message, listed[0].line)
    nodes = _nodes(values, masks)
    home = {cpu: node.node for node in nodes for cpu in node.cpus or ()}
    lost = [cpu for cpu in online if nodes and cpu not in home]
    if lost:
        last = nodes[-1].origin.line
        message = f"CPU {lost[0]} is on-line, and stands in no NUMA node: the capture breaks off"
        raise captures.wrong(origin.file, message, last)
    models = list(dict.fromkeys(each.value for each in values.texts("Model name")))
    return Seen(
        origin=origin,
        cpus=tuple(
            CpuSeen(cpu, Origin(origin.file, origin.format, listed[0].line), numa=home.get(cpu))
            for cpu in online
        ),
        numa=nodes,
        cpu_count=len(online) or count,
        sockets=values.number("Socket(s)", "CPU socket(s)"),
        cores_per_socket=values.number("Core(s) per socket"),
        threads_per_core=values.number("Thread(s) per core"),
        model=" + ".join(models),
        unread=captures.unread(origin, left),
    )


def _nodes(values: _Values, masks: bool) -> tuple[NumaSeen, ...]:
    found: dict[int, NumaSeen] = {}
    owners: dict[int, int] = {}
    origin = values.origin
    for each in values.fields:
        match = _NODE.fullmatch(each.name)
        if not match:
            continue
        node = int(match.group(1))
        if node in found:
            raise captures.wrong(origin.file, f"NUMA node {node} stands twice", each.line)
        cpus = values.cpus(each, masks)
        shared = next((cpu for cpu in cpus if cpu in owners), None)
        if shared is not None:
            message = f"CPU {shared} stands in NUMA node {owners[shared]} and in {node}"
            raise captures.wrong(origin.file, message, each.line)
        owners.update(dict.fromkeys(cpus, node))
        found[node] = NumaSeen(node, Origin(origin.file, origin.format, each.line), cpus)
    count = values.number("NUMA node(s)")
    if count is not None and count != len(found):
        line = values.texts("NUMA node(s)")[0].line
        message = f"it says {count} NUMA nodes and lists {len(found)}: the capture breaks off"
        raise captures.wrong(origin.file, message, line)
    return tuple(found[node] for node in sorted(found))
