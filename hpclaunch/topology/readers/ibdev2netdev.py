"""`ibdev2netdev`, plain and -v: which network interface is on which port, and with -v its PCI address.

The form is that of Mellanox OFED's script. Its state in brackets at the end is that of the interface (an
InfiniBand port without IPoIB is "Down" and still carries jobs); with -v the port's own stands before "==>".
"""

import re

from hpclaunch.topology.readers import functions
from hpclaunch.topology.readers import text as captures
from hpclaunch.topology.readers.text import Line
from hpclaunch.topology.seen import HcaSeen, Origin, Seen

FORMAT = "ibdev2netdev"
_NAME = r"[A-Za-z][A-Za-z0-9_.-]{0,63}"
_PORT = re.compile(
    rf"\s*(?:(?P<pci>[0-9a-fA-F:.]{{7,16}})\s+)?(?P<name>{_NAME})\s+(?:(?P<model>\(.*)\s)?port\s+(?P<port>[0-9]+)"
    rf"\s+(?:\((?P<state>\w+)\s*\)\s+)?==>\s*(?P<net>{_NAME})?\s*\((?P<up>\w+)\s*\)(?:\s*[(#].*)?"
)
_LOOKS = re.compile(r"\bport[ \t]+[0-9]+[ \t]+(?:\(\w+[ \t]*\)[ \t]+)?\\?=\\?=\\?(?:>|&gt;)")
_COMMAND = re.compile(r".*\bibdev2netdev\b.*")
_MODEL = re.compile(r"\s*\((\S+) - (\S+?)\s*\)\s*(.*?)\s*(?:\bfw\b.*)?")


def looks_like(text: str) -> bool:
    """Whether a line has a port and an arrow, as no other tool writes it."""
    return _LOOKS.search(text) is not None


def read(text: str, file: str) -> Seen:
    """What it tells of each port. Raises InputError where no line is one of ibdev2netdev's, and where two
    lines contradict each other."""
    origin = Origin(file, FORMAT)
    found: dict[tuple[str, int], HcaSeen] = {}
    addresses: dict[str, str] = {}
    left: list[Line] = []
    for line in _unbroken(captures.lines(text, file, longest=captures.LONGEST)):
        match = _PORT.fullmatch(line.text)
        if match is None:
            if line.text.strip() and not _COMMAND.fullmatch(line.text):
                left.append(line)
            continue
        one = _port(match, Origin(file, FORMAT, line.number), line)
        if addresses.setdefault(one.name, one.pci) != one.pci:
            message = f"{one.name} is at {one.pci or 'no address'}, and at {addresses[one.name]} above"
            raise captures.wrong(file, message, line.number, line.shift + 1)
        before = found.setdefault((one.name, one.port or 0), one)
        if before is not one:
            # More interfaces on one port, such as IPoIB partitions: the first is the port's own.
            left.append(line)
    if not found:
        raise captures.wrong(file, 'no line of ibdev2netdev, such as "mlx5_0 port 1 ==> ib0 (Up)"')
    return Seen(origin=origin, hcas=tuple(found.values()), unread=captures.unread(origin, left))


def _unbroken(lines: tuple[Line, ...]) -> list[Line]:
    """The lines, and those that a terminal broke put together again."""
    found: list[Line] = []
    open_line: Line | None = None
    for line in lines:
        if open_line is not None and line.text.strip() and not re.match(rf"\s*{_NAME}\s+port\b", line.text):
            for join in (" ", ""):
                whole = Line(open_line.number, open_line.text + join + line.text, open_line.shift)
                if _PORT.fullmatch(whole.text):
                    break
            if _PORT.fullmatch(whole.text):
                found[-1] = whole
                open_line = None
                continue
        found.append(line)
        whole_line = _PORT.fullmatch(line.text) or not line.text.strip() or len(line.text) > 400
        open_line = None if whole_line else line
    return found


def _port(match: re.Match[str], origin: Origin, line: Line) -> HcaSeen:
    address = functions.address(match["pci"]) if match["pci"] else ""
    if match["pci"] and not address:
        message = f"{captures.quoted(match['pci'])} is not a PCI address"
        raise captures.wrong(origin.file, message, line.number, line.shift + 1)
    try:
        port = captures.natural(match["port"], 255)
    except ValueError as error:
        raise captures.wrong(origin.file, str(error), line.number, line.shift + 1) from None
    model = _MODEL.fullmatch(match["model"] or "")
    return HcaSeen(
        origin,
        name=match["name"],
        pci=address,
        port=port,
        state=match["state"] or match["up"],
        netdev=match["net"] or "",
        model=(model.group(3) or model.group(2).replace("NA", "")) if model else "",
    )
