"""The tree of `lspci -t` and `lspci -tv`: which bridges stand above each device.

Each bus is a column of "device.function" entries (ls-tree.c of pciutils); a bridge is followed by the bus or
buses behind it in brackets, and where it has several devices, theirs begin below one another:

    -+-[0000:80]-+-00.0  Intel Corporation Host Bridge
     |           \\-01.0-[81-83]----00.0-[82-83]--+-00.0-[83]----00.0  NVIDIA Corporation GA100 [A100]
     |                                           \\-08.0-[84]--
     \\-[0000:00]-
"""

import re
from collections.abc import Iterable

from hpclaunch.topology.readers.functions import Function
from hpclaunch.topology.readers.text import Line, wrong

_ROOT = re.compile(r"\[(?:([0-9a-f]{4,8}):)?([0-9a-f]{2})\]", re.ASCII)
_DEVICE = re.compile(r"([0-9a-f]{2})\.([0-7])(?![0-9a-f])", re.ASCII)
_BEHIND = re.compile(r"-\[(?:[0-9a-f]{4,8}:)?([0-9a-f]{2})(?:-(?:[0-9a-f]{4,8}:)?[0-9a-f]{2})?\]", re.ASCII)
_FILL = re.compile(r"[ |+\\`-]*")
_NUMBERS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
# "NVIDIA Corporation GA100": what is before the first of these words' end is the vendor.
_VENDOR = re.compile(r"(NVIDIA Corporation|nVidia Corporation|Mellanox Technologies(?:,? Ltd\.?)?)\s*(.*)")


class _Bus:
    """A bus whose devices stand in one column: its number, and the bridges above it."""

    def __init__(self, column: int, domain: str, number: str, path: tuple[str, ...]):
        self.column = column
        self.domain = domain
        self.number = number
        self.path = path


def begins(line: str) -> bool:
    """Whether the line is the first of a root bus: "-+-[0000:80]-+-00.0"."""
    start = _FILL.match(line)
    assert start is not None
    return start.end() > 0 and line[start.end() - 1] == "-" and _ROOT.match(line, start.end()) is not None


def functions(lines: Iterable[Line], file: str) -> tuple[list[Function], list[Line]]:
    """Every device of the tree but bridges, with its path, and the lines that are not the tree's.

    Raises InputError for a line of the tree that fits no bus, as where lines were broken or moved: what is
    below it would hang on the wrong bridge.
    """
    found: list[Function] = []
    strange: list[Line] = []
    open_buses: list[_Bus] = []
    for line in lines:
        if not line.text.strip(" |"):
            continue
        start = _FILL.match(line.text)
        assert start is not None
        at = start.end()
        root = _ROOT.match(line.text, at)
        if root is not None:
            domain, number = root.groups()
            open_buses = [_Bus(-1, domain or "0000", number, ())]
            fill = _FILL.match(line.text, root.end())
            assert fill is not None
            at = fill.end()
            open_buses[0].column = at
        while open_buses and open_buses[-1].column > at:
            open_buses.pop()
        if at == len(line.text) and root is not None:
            continue  # a bus without devices
        if not open_buses or open_buses[-1].column != at or not _chain(line, at, open_buses, found):
            if at and _DEVICE.match(line.text, at):
                raise wrong(file, "this line fits no bus above it: were lines wrapped or moved?", line.number)
            strange.append(line)
    return found, strange


def _chain(line: Line, at: int, buses: list[_Bus], found: list[Function]) -> bool:
    """Reads one line from a device on: through bridges to the last device and its name."""
    text = line.text
    while True:
        device = _DEVICE.match(text, at)
        if device is None:
            return False
        bus = buses[-1]
        address = f"{bus.domain}:{bus.number}:{device.group(1)}.{device.group(2)}"
        behind = _BEHIND.match(text, device.end())
        if behind is None:
            found.append(_function(address, line.number, text[device.end() :].strip(), bus.path))
            return True
        fill = _FILL.match(text, behind.end())
        assert fill is not None
        at = fill.end()
        if at == len(text):
            return True  # nothing behind the bridge
        buses.append(_Bus(at, bus.domain, behind.group(1), (*bus.path, address)))


def _function(address: str, line: int, name: str, path: tuple[str, ...]) -> Function:
    vendor = _VENDOR.match(name)
    numbers = _NUMBERS.findall(name)
    if vendor is None:
        return Function(address, line, vendor=numbers[-1][0] if numbers else "", device=name, path=path)
    return Function(address, line, vendor=vendor.group(1), device=vendor.group(2), path=path)
