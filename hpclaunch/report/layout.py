"""Where everything in the picture of one node is. Nothing is drawn here: the result is a `scene`."""

from msgspec import Struct

from hpclaunch.report import bands, devices, legend, text
from hpclaunch.report.claims import Claims
from hpclaunch.report.cores import cells
from hpclaunch.report.scene import Group, Item, Rect, Text
from hpclaunch.values.outline import NumaOutline, Outline, SocketOutline

WIDE, NARROW = 1120.0, 400.0
_SMALL = 640.0  # for a machine that would be lost in the wide one
_MARGIN = 16.0
_GAP = 10.0
_PAD = 8.0
_SOCKET_LEAST, _NODE_LEAST = 420.0, 226.0
_MEMORY_BAND = 20.0


class Head(Struct, frozen=True):
    """What stands over a picture."""

    title: str
    lines: tuple[str, ...] = ()


def picture(
    head: Head, machine: Outline, claims: Claims | None, width: float = WIDE, y: float = 0.0
) -> Group:
    """The picture of a node, from `y` down. Without claims it is the machine alone."""
    nodes = sum(len(socket.nodes) for socket in machine.sockets)
    if nodes == 1:
        width = min(width, _SMALL)
    inner = width - 2 * _MARGIN
    items, top = _head(head, claims, y + _MARGIN, inner)
    groups, height = devices.flow(
        _MARGIN,
        top,
        inner,
        machine.sockets,
        lambda x, y, w, socket: _socket(x, y, w, socket, machine, claims),
        _SOCKET_LEAST,
        inner,
        _GAP,
    )
    items += groups
    top += height + 14
    found, height = legend.owners(_MARGIN, top, inner, claims)
    items += found
    top += height + 8 if found else 0
    found, height = legend.signs(_MARGIN, top, inner, machine)
    items += found
    top += height + _MARGIN
    return Group(Rect(0, y, width, top - y, "page"), tuple(items))


def _head(head: Head, claims: Claims | None, y: float, width: float) -> tuple[list[Item], float]:
    title = text.printable(head.title)
    items: list[Item] = [Text(_MARGIN, y + 16, text.fitted(title, width, 17, bold=True), 17, bold=True)]
    top = y + 24
    for line in (*head.lines, *(claims.notes if claims else ())):
        found, height = legend.paragraph(_MARGIN, top, width, text.printable(line), 12)
        items += found
        top += height
    return items, top + 8


def _socket(
    x: float, y: float, width: float, socket: SocketOutline, machine: Outline, claims: Claims | None
) -> Group:
    head = Text(x + _PAD, y + 17, f"Socket {socket.socket}", 12, bold=True)
    groups, height = devices.flow(
        x + _PAD,
        y + 25,
        width - 2 * _PAD,
        socket.nodes,
        lambda x, y, w, numa: _numa(x, y, w, numa, machine, claims),
        _NODE_LEAST,
        width,
        _GAP,
    )
    frame = Rect(x, y, width, 25 + height + _PAD, "socket", title=f"Socket {socket.socket}")
    return Group(frame, (head, *groups))


def _numa(
    x: float, y: float, width: float, numa: NumaOutline, machine: Outline, claims: Claims | None
) -> Group:
    left, inner = x + _PAD, width - 2 * _PAD
    name = f"NUMA node {numa.node}"
    items: list[Item] = [Text(left, y + 16, name, 11.5, bold=True)]
    cpus = [cpu for core in numa.cores for cpu in core]
    room = inner - text.width(name, 11.5, bold=True) - _GAP
    words = text.fitted(f"CPUs {text.brief(cpus)}" if cpus else "no CPUs", room, 10)
    if words:
        items.append(Text(left + inner, y + 16, words, 10, anchor="end", ink="faint"))
    top = y + 24
    found, height = cells(left, top, inner, numa, claims, frozenset(machine.reserved))
    items += found
    top += height + (7 if found else 0)
    items += _memory(left, top, inner, numa, claims)
    top += _MEMORY_BAND
    hanging = devices.tree(
        [gpu for gpu in machine.gpus if gpu.numa == numa.node],
        [hca for hca in machine.hcas if hca.numa == numa.node],
    )
    found, height = devices.inside(left, top + 8, inner, hanging, claims)
    items += found
    top += height + 8 if found else 0
    return Group(Rect(x, y, width, top + _PAD - y, "node", title=name), tuple(items))


def _memory(x: float, y: float, width: float, numa: NumaOutline, claims: Claims | None) -> list[Item]:
    size = f" {numa.memory_gib} GiB" if numa.memory_gib else ""
    if claims is None:
        return bands.band(x, y, width, _MEMORY_BAND, (), "", f"memory{size}")
    words = f"memory{size}"
    taken = text.width(words, 10) + _PAD
    nobody = "any rank" if claims.any_memory else f"no {claims.noun}"
    return [
        Text(x, y + 14, words, 10, ink="faint"),
        *bands.band(
            x + taken,
            y,
            width - taken,
            _MEMORY_BAND,
            claims.memory.get(numa.node, ()),
            claims.noun,
            nobody,
        ),
    ]
