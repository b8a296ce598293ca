"""`lspci` in its forms: the tree (-t, -tv), records (-vmm), quoted fields (-mm), and the listing, plain or
verbose (-v), with numbers (-nn) or without, with the domain (-D) or without, with paths (-PP).

The forms are those of lspci(8) and of lspci.c and ls-tree.c in pciutils. Where no line has a domain there is
only domain 0000.
"""

import re
import shlex
from collections.abc import Iterable, Iterator

import msgspec

from hpclaunch.topology.readers import functions, lspci_tree
from hpclaunch.topology.readers.functions import Function
from hpclaunch.topology.readers.text import Line, lines, unread
from hpclaunch.topology.seen import Origin, Seen
from hpclaunch.values.errors import InputError

_ADDRESS = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_LISTED = re.compile(
    rf"((?:{_ADDRESS}/)*{_ADDRESS})\s+"
    r"(?:([0-9a-f]{4})|([^:\[\"]{2,60}?)(?:\s\[([0-9a-f]{4})\])?):\s+(\S.*)",
    re.ASCII,
)
_QUOTED = re.compile(rf'({_ADDRESS})\s+"[^"]*"\s+"[^"]*"\s+"', re.ASCII)
_RECORD = re.compile(rf"(?:Slot|Device):\s+({_ADDRESS})\s*", re.ASCII)
_NUMBER = re.compile(r"\[([0-9a-f]{4})\]\s*$")
_IDS = re.compile(r"\[?([0-9a-f]{4}):([0-9a-f]{4})\]?(?:\s+\(rev [0-9a-f]{2}\))?", re.ASCII)
_SECONDARY = re.compile(r"\s+Bus: primary=[0-9a-f]{2}, secondary=([0-9a-f]{2}),")
_NUMA = re.compile(r"\s+NUMA node: ([0-9]{1,5})\s*$")
_VENDOR = re.compile(r"(NVIDIA Corporation|nVidia Corporation|Mellanox Technologies)\s*", re.IGNORECASE)

TREE, RECORDS, QUOTED, LISTING = "lspci -tv", "lspci -vmm", "lspci -mm", "lspci"


def looks_like(text: str) -> bool:
    """Whether a form of lspci's output is in the text."""
    return _form(lines(text, "")) != ""


def read(text: str, file: str) -> Seen:
    """The GPUs and HCAs, with what the form tells: addresses and kinds in all but the tree, NUMA nodes in
    records and verbose listings, bridges in the tree, verbose listings and -PP."""
    body = lines(text, file)
    form = _form(body)
    readers = {TREE: _tree, RECORDS: _records, QUOTED: _quoted, LISTING: _listing}
    found, strange = readers[form](body, file) if form else ([], list(body))
    origin = Origin(file, form or LISTING)
    once = {each.pci: each for each in reversed(found)}
    twice = [each for each in found if once[each.pci] != each]
    said = [f"{file}:{each.line}: {each.pci} stands twice, and not the same" for each in twice]
    return functions.seen(origin, once.values(), [*unread(origin, strange), *said])


def _form(body: Iterable[Line]) -> str:
    for line in body:
        if lspci_tree.begins(line.text):
            return TREE
        if _RECORD.fullmatch(line.text):
            return RECORDS
        if _QUOTED.match(line.text):
            return QUOTED
        if _LISTED.match(line.text):
            return LISTING
    return ""


def _tree(body: tuple[Line, ...], file: str) -> tuple[list[Function], list[Line]]:
    first = next(index for index, line in enumerate(body) if lspci_tree.begins(line.text))
    tree = body[first:]
    try:
        return lspci_tree.functions(tree, file)
    except InputError:
        # Whoever pastes a tree often loses, or adds, the blanks before its first line alone.
        head = msgspec.structs.replace(tree[0], text=tree[0].text.lstrip())
        if head == tree[0]:
            raise
        return lspci_tree.functions((head, *tree[1:]), file)


def _records(body: tuple[Line, ...], file: str) -> tuple[list[Function], list[Line]]:
    found: list[Function] = []
    for start, fields in _blocks(body):
        code, class_name = _split(fields.get("Class", ""))
        vendor_id, vendor = _split(fields.get("Vendor", ""))
        device_id, device = _split(fields.get("Device", ""))
        numa = fields.get("NUMANode", "")
        found.append(
            Function(
                functions.address(fields["Slot"]),
                start,
                code or functions.class_code(class_name),
                vendor_id or vendor,
                device or device_id,
                int(numa) if re.fullmatch(r"[0-9]{1,5}", numa) else None,
            )
        )
    return found, []


def _blocks(body: tuple[Line, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Records are apart by an empty line. What lspci says in between on standard error is passed over."""
    start, fields = 0, dict[str, str]()
    for line in (*body, Line(0, "")):
        slot = _RECORD.fullmatch(line.text)
        if slot is not None and "Slot" not in fields:
            start, fields = line.number, {"Slot": slot.group(1)}
        elif not line.text.strip() and fields:
            yield start, fields
            fields = {}
        elif fields:
            key, colon, value = line.text.partition(":")
            if colon:
                fields.setdefault(key.strip(), value.strip())


def _split(text: str) -> tuple[str, str]:
    """(number, name) of "3D controller [0302]", "0302", or "3D controller"."""
    number = _NUMBER.search(text)
    if number is not None:
        return number.group(1), text[: number.start()].strip()
    return (text, "") if re.fullmatch(r"[0-9a-f]{4}", text) else ("", text)


def _quoted(body: tuple[Line, ...], file: str) -> tuple[list[Function], list[Line]]:
    found: list[Function] = []
    strange: list[Line] = []
    for line in body:
        try:
            words = shlex.split(line.text)
        except ValueError:
            words = []
        address = functions.address(words[0]) if len(words) >= 4 else ""
        if address:
            (code, class_name), (vendor_id, vendor) = _split(words[1]), _split(words[2])
            device_id, device = _split(words[3])
            code = code or functions.class_code(class_name)
            found.append(Function(address, line.number, code, vendor_id or vendor, device or device_id))
        elif line.text.strip():
            strange.append(line)
    return found, strange


def _listing(body: tuple[Line, ...], file: str) -> tuple[list[Function], list[Line]]:
    """The lines of devices begin at the margin; those of -v below them are indented."""
    found: list[Function] = []
    strange: list[Line] = []
    bridges: dict[str, str] = {}  # domain:bus behind -> the bridge
    for line in body:
        listed = _LISTED.match(line.text)
        if listed is not None:
            found.append(_listed(line.number, *listed.groups()))
        elif line.text[:1].isspace() and found:
            last = found[-1]
            numa, bus = _NUMA.match(line.text), _SECONDARY.match(line.text)
            if numa is not None:
                found[-1] = Function(
                    last.pci, last.line, last.code, last.vendor, last.device, int(numa.group(1)), last.path
                )
            elif bus is not None and last.code == "0604":
                bridges[f"{last.pci.rpartition(':')[0].rpartition(':')[0]}:{bus.group(1)}"] = last.pci
        elif line.text.strip():
            strange.append(line)
    return [_below(each, bridges) for each in found], strange


def _listed(
    line: int, address: str, only: str | None, class_name: str | None, code: str | None, rest: str
) -> Function:
    *above, own = address.split("/")
    ids = _IDS.findall(rest)
    vendor = _VENDOR.match(rest)
    device = rest[vendor.end() :] if vendor else rest
    return Function(
        functions.address(own),
        line,
        code or only or functions.class_code(class_name or ""),
        ids[-1][0] if ids else vendor.group(1) if vendor else "",
        re.sub(
            r"\s*(?:\[[0-9a-f]{4}:[0-9a-f]{4}\])?\s*(?:\(rev [0-9a-f]{2}\))?\s*(?:\(prog-if .*)?$", "", device
        ),
        path=tuple(functions.address(each) for each in above),
    )


def _below(function: Function, bridges: dict[str, str]) -> Function:
    """The function with the bridges above it, where a verbose listing tells them all."""
    if function.path or not bridges:
        return function
    path: list[str] = []
    at = function.pci
    while (bridge := bridges.get(at.rpartition(":")[0])) and bridge not in path:
        path.insert(0, bridge)
        at = bridge
    return Function(
        function.pci,
        function.line,
        function.code,
        function.vendor,
        function.device,
        function.numa,
        tuple(path),
    )
