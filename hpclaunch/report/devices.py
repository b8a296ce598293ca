"""GPUs and HCAs of a NUMA node, each inside the PCI switches that it hangs on."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from hpclaunch.report import bands, text
from hpclaunch.report.claims import Claims
from hpclaunch.report.scene import Group, Item, Rect, Role, Text, stretched
from hpclaunch.values.outline import GpuOutline, HcaOutline

GAP = 6.0
_PAD = 6.0
_DEVICE, _WIDEST = 96.0, 260.0  # the least and the most width of a GPU or an HCA
_HEAD = 18.0  # the line with the name of a switch
_BAND = 20.0
_LINK = {"InfiniBand": "IB", "Ethernet": "Eth"}

T = TypeVar("T")
Make = Callable[[float, float, float, T], Group]  # (x, y, width, thing) -> what stands there


class Switch(Struct, frozen=True):
    """A PCI switch, or with the name "" the CPU's own ports: what hangs on it, and the switches behind it."""

    name: str
    gpus: tuple[GpuOutline, ...]
    hcas: tuple[HcaOutline, ...]
    behind: tuple["Switch", ...] = ()


def tree(gpus: Sequence[GpuOutline], hcas: Sequence[HcaOutline], depth: int = 0, name: str = "") -> Switch:
    """The switches by the devices' paths, in the order in which the devices first name them."""
    paths = [gpu.switch for gpu in gpus] + [hca.switch for hca in hcas]
    names = [path[depth] for path in paths if len(path) > depth]
    behind = [
        tree(
            [gpu for gpu in gpus if gpu.switch[depth : depth + 1] == (each,)],
            [hca for hca in hcas if hca.switch[depth : depth + 1] == (each,)],
            depth + 1,
            each,
        )
        for each in dict.fromkeys(names)
    ]
    return Switch(
        name,
        tuple(gpu for gpu in gpus if len(gpu.switch) == depth),
        tuple(hca for hca in hcas if len(hca.switch) == depth),
        tuple(behind),
    )


def inside(
    x: float, y: float, width: float, switch: Switch, claims: Claims | None
) -> tuple[list[Item], float]:
    """What hangs on a switch, without the switch's own frame, and the height that it takes."""
    compute = [hca for hca in switch.hcas if hca.use == "compute"]
    other = [hca for hca in switch.hcas if hca.use != "compute"]
    items: list[Item] = []
    top = y

    def row(things: Sequence[T], make: Make[T], least: float = _DEVICE, most: float = _WIDEST) -> None:
        nonlocal top
        if things:
            groups, height = flow(x, top, width, things, make, least, most)
            items.extend(groups)
            top += height + GAP

    row(switch.gpus, lambda x, y, w, gpu: _gpu(x, y, w, gpu, claims))
    row(compute, lambda x, y, w, hca: _hca(x, y, w, hca, claims))
    natural = max(map(_natural, switch.behind), default=0.0)
    row(switch.behind, lambda x, y, w, each: _framed(x, y, w, each, claims), natural, width)
    row(other, _other)
    return items, max(0.0, top - GAP - y)


def flow(
    x: float,
    y: float,
    width: float,
    things: Sequence[T],
    make: Make[T],
    least: float,
    most: float,
    gap: float = GAP,
) -> tuple[list[Group], float]:
    """Things of one width in rows of equal length, and the height of all rows. Each is at least `least` wide
    where there is the room, and at most `most`; `make` draws one."""
    fitting = max(1, min(len(things), int((width + gap) // (least + gap))))
    rows = -(-len(things) // fitting)
    columns = -(-len(things) // rows)
    each = min(most, (width - gap * (columns - 1)) / columns)
    groups: list[Group] = []
    top = y
    for start in range(0, len(things), columns):
        row = [
            make(x + index * (each + gap), top, each, thing)
            for index, thing in enumerate(things[start : start + columns])
        ]
        height = max(group.frame.height for group in row)
        groups += [stretched(group, height) for group in row]
        top += height + gap
    return groups, top - gap - y


def _natural(switch: Switch) -> float:
    """The width that a switch would like: two devices side by side, or all the switches behind it."""
    abreast = min(2, max(len(switch.gpus), len(switch.hcas)))
    own = abreast * (_DEVICE + GAP) - GAP
    behind = sum(_natural(each) + GAP for each in switch.behind[:2]) - GAP
    return max(own, behind) + 2 * _PAD


def _framed(x: float, y: float, width: float, switch: Switch, claims: Claims | None) -> Group:
    items, height = inside(x + _PAD, y + _HEAD, width - 2 * _PAD, switch, claims)
    name = text.printable(switch.name)
    title = f"PCI switch {name}"
    words = [title, f"switch {name}", name]
    word = next((word for word in words if text.width(word, 10) <= width - 2 * _PAD), name)
    head = Text(x + _PAD, y + 13, text.fitted(word, width - 2 * _PAD, 10), 10, ink="faint")
    return Group(Rect(x, y, width, _HEAD + height + _PAD, "switch", title=title), (head, *items))


def _gpu(x: float, y: float, width: float, gpu: GpuOutline, claims: Claims | None) -> Group:
    owners = claims.gpus.get(gpu.index, ()) if claims else ()
    return _device(x, y, width, "gpu", (f"GPU {gpu.index}", gpu.pci), owners, claims)


def _hca(x: float, y: float, width: float, hca: HcaOutline, claims: Claims | None) -> Group:
    owners = claims.hcas.get(hca.name, ()) if claims else ()
    return _device(x, y, width, "hca", (_name(hca), hca.pci, _link(hca)), owners, claims)


def _other(x: float, y: float, width: float, hca: HcaOutline) -> Group:
    return _device(
        x, y, width, "other", (_name(hca), hca.pci, f"{hca.use}, {_LINK[hca.link_layer]}"), (), None
    )


def _device(
    x: float,
    y: float,
    width: float,
    role: Role,
    lines: Sequence[str],
    owners: Sequence[int],
    claims: Claims | None,
) -> Group:
    shown = [text.printable(line) for line in lines if line]
    inner = width - 2 * _PAD
    items: list[Item] = [
        Text(x + _PAD, y + 15, text.fitted(shown[0], inner, 11.5, bold=True), 11.5, bold=role != "other")
    ]
    top = y + 15
    for line in shown[1:]:
        top += 13
        items.append(Text(x + _PAD, top, text.fitted(line, inner, 9.5), 9.5, ink="faint"))
    top += 6
    if claims:
        items += bands.band(x + 4, top, width - 8, _BAND, owners, claims.noun, f"no {claims.noun}")
        top += _BAND + 4
    return Group(Rect(x, y, width, top - y, role, title=" · ".join(shown)), tuple(items))


def _name(hca: HcaOutline) -> str:
    return hca.name or "HCA"


def _link(hca: HcaOutline) -> str:
    rate = f" {hca.rate_gbps} Gb/s" if hca.rate_gbps else ""
    return _LINK[hca.link_layer] + rate
