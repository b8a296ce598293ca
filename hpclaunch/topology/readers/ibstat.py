"""`ibstat`, `ibstat -l`, `ibstatus` and `ibv_devinfo`: the ports of each HCA, their state and link layer.

The forms are those of infiniband-diags (ibstat.c, ibstatus) and of libibverbs' devinfo.c, all in rdma-core.
All three write a line for each device, one for each port in it, and "name: value" below. A rate is taken
from an active port alone: one that is down says the slowest that there is (10, or 2.5).
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field

from hpclaunch.topology.readers import text as captures
from hpclaunch.topology.readers.text import Line
from hpclaunch.topology.seen import HcaSeen, Origin, Seen

FORMAT = "ibstat"
_NAME = r"[A-Za-z][A-Za-z0-9_.-]{0,63}"
_DEVICE = re.compile(rf"\s*(?:CA '({_NAME})'|hca_id:\s*({_NAME}))\s*")
_STATUS = re.compile(rf"\s*Infiniband device '({_NAME})' port ([0-9]+) status:\s*")
_PORT = re.compile(r"\s*(?:Port ([0-9]+):|port:\s+([0-9]+))\s*")
_FIELD = re.compile(r"\s*([A-Za-z][A-Za-z0-9 _/-]{0,40}):(?:\s+(.*)|)")
# Indented words below a field of ibv_devinfo -v, and what the same tools write beside the devices.
_KNOWN = re.compile(
    r"\s*(?:[A-Z][A-Z0-9_ ]+|Unknown flags: .*|Device ports:|.*\b(?:ibstat|ibstatus|ibv_devinfo)\b.*)"
)
# A device that could not be read, such as "ibpanic: [13] main: stat of IB device 'mlx5_8' failed: ...".
_FAILED = re.compile(r"\s*ib(?:panic|warn):.*")
# What ibstat, ibstatus and ibv_devinfo call them.
_STATES = {
    "nop",
    "no state change",
    "down",
    "init",
    "initializing",
    "armed",
    "active",
    "active_defer",
    "actdefer",
}
# iWARP devices say "Unspecified".
_LINK_LAYERS = {"infiniband": "InfiniBand", "ethernet": "Ethernet", "unspecified": "", "": ""}
_LISTED_LOOKS = re.compile(r"\s*(?:mlx[0-9]_|hfi1_|irdma|bnxt_re|rdmap|roce|ibp|ibs)\w*[0-9]\s*")
_LOOKS = re.compile(
    r"^[^\w\n]{0,40}(?:CA '[\w\\]+'|hca_id:\s|Infiniband device '[\w\\]+' port [0-9]+ status:)", re.MULTILINE
)


class _Port(Struct):
    """A port and its lines, by their names in lower case."""

    device: "_Device"
    number: int
    line: int
    fields: dict[str, str] = field(default_factory=dict)


class _Device(Struct):
    name: str
    line: int
    ports: list[_Port] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)


def looks_like(text: str) -> bool:
    """Whether a device begins as these tools write it, or every line is the name of one (`ibstat -l`)."""
    if _LOOKS.search(text):
        return True
    lines = [line for line in text[:10_000].splitlines() if line.strip() and "ibstat" not in line]
    return bool(lines) and all(_LISTED_LOOKS.fullmatch(line) for line in lines)


def read(text: str, file: str) -> Seen:
    """What is told of each port. Raises InputError where the text is of none of the tools, breaks off, or
    has a device or port twice."""
    origin = Origin(file, FORMAT)
    left: list[Line] = []
    devices = _devices(captures.lines(text, file, longest=captures.LONGEST), file, left)
    if not devices and left and all(_LISTED_LOOKS.fullmatch(line.text) for line in left):
        return _list(left, origin)
    if not devices:
        raise captures.wrong(file, "no device of ibstat, ibstatus or ibv_devinfo, such as CA 'mlx5_0'")
    hcas = [hca for device in devices for hca in _hcas(device, file)]
    links = [port for device in devices for port in device.ports if _link(port)]
    for port in (port for device in devices for port in device.ports if links and not _link(port)):
        message = f"no link layer of port {port.number} of {port.device.name}: the capture breaks off"
        raise captures.wrong(file, message, port.line)
    return Seen(origin=origin, hcas=tuple(hcas), unread=captures.unread(origin, left))


def _devices(lines: Sequence[Line], file: str, left: list[Line]) -> list[_Device]:
    found: dict[str, _Device] = {}
    device: _Device | None = None
    port: _Port | None = None
    for line in lines:
        text = line.text
        begins, status, inner = _DEVICE.fullmatch(text), _STATUS.fullmatch(text), _PORT.fullmatch(text)
        if begins:
            name = begins.group(1) or begins.group(2)
            if name in found:
                raise captures.wrong(file, f"{name} stands twice", line.number, line.shift + 1)
            device, port = found.setdefault(name, _Device(name, line.number)), None
        elif status:
            device = found.setdefault(status.group(1), _Device(status.group(1), line.number))
            port = _new_port(device, status.group(2), line, file)
        elif inner and device:
            port = _new_port(device, inner.group(1) or inner.group(2), line, file)
        elif _FAILED.fullmatch(text):
            left.append(line)
        elif (match := _FIELD.fullmatch(text)) and device:
            value = re.split(r"\s+#", match.group(2) or "")[0].strip()
            fields = port.fields if port else device.fields
            fields.setdefault(match.group(1).strip().lower(), value)
        elif text.strip() and not _KNOWN.fullmatch(text):
            left.append(line)
    return list(found.values())


def _new_port(device: _Device, number: str, line: Line, file: str) -> _Port:
    port = _Port(device, _number(number, file, line.number), line.number)
    if any(other.number == port.number for other in device.ports):
        message = f"port {port.number} of {device.name} stands twice"
        raise captures.wrong(file, message, line.number, line.shift + 1)
    device.ports.append(port)
    return port


def _hcas(device: _Device, file: str) -> list[HcaSeen]:
    count = device.fields.get("number of ports", device.fields.get("phys_port_cnt", ""))
    if count and _number(count, file, device.line) != len(device.ports):
        message = (
            f"{device.name} has {count} ports, and {len(device.ports)} are shown: the capture breaks off"
        )
        raise captures.wrong(file, message, device.line)
    model = device.fields.get("ca type", "")
    if device.fields.get("vendor_part_id"):
        model = f"MT{device.fields['vendor_part_id']}"
    if not device.ports:
        raise captures.wrong(file, f"no port of {device.name}: the capture breaks off", device.line)
    return [_hca(port, model, file) for port in device.ports]


def _hca(port: _Port, model: str, file: str) -> HcaSeen:
    name = port.device.name
    # "Active", "4: ACTIVE" and "PORT_ACTIVE (4)" are one state.
    state = re.sub(r"^[0-9]+:\s*|^PORT_|\s*\([0-9]+\)$", "", port.fields.get("state", ""))
    if not state:
        message = f"no state of port {port.number} of {name}: the capture breaks off"
        raise captures.wrong(file, message, port.line)
    if state.lower() not in _STATES:
        raise captures.wrong(file, f"{captures.quoted(state)} is no state of a port ({name})", port.line)
    link = _link(port)
    if link.lower() not in _LINK_LAYERS:
        message = f"the link layer of {name} is {captures.quoted(link)}, neither InfiniBand nor Ethernet"
        raise captures.wrong(file, message, port.line)
    return HcaSeen(
        Origin(file, FORMAT, port.line),
        name=name,
        port=port.number,
        link_layer=_LINK_LAYERS[link.lower()],
        rate_gbps=_rate(port.fields) if state.upper() == "ACTIVE" else None,
        state=state,
        model=model,
    )


def _link(port: _Port) -> str:
    return port.fields.get("link layer", port.fields.get("link_layer", ""))


def _rate(fields: dict[str, str]) -> int | None:
    """ "200" and "200 Gb/sec (4X HDR)" are 200; None where it is not told, or where it is the last that is,
    since each of the tools writes more after it."""
    match = re.match(r"([0-9]{1,6})(?:\.[0-9]+)?(?:\s|$)", fields.get("rate", ""))
    return int(match.group(1)) if match and list(fields)[-1] != "rate" else None


def _number(text: str, file: str, line: int) -> int:
    try:
        return captures.natural(text, 255)
    except ValueError as error:
        raise captures.wrong(file, str(error), line) from None


def _list(lines: Sequence[Line], origin: Origin) -> Seen:
    names: dict[str, HcaSeen] = {}
    for line in lines:
        name = line.text.strip()
        if name in names:
            raise captures.wrong(origin.file, f"{name} stands twice", line.number, line.shift + 1)
        names[name] = HcaSeen(Origin(origin.file, origin.format, line.number), name=name)
    return Seen(origin=origin, hcas=tuple(names.values()))
