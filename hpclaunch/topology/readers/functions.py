"""PCI functions as listings show them, and which of them are GPUs and HCAs.

The kind follows from the class code of the PCI specification (0300 VGA, 0302 3D, 0200 Ethernet, 0207
InfiniBand, 0604 bridge) or its name in pci.ids. A ConnectX function has class 0207 while its port is
InfiniBand and 0200 while it is Ethernet, so the class also tells the link layer.
"""

import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from hpclaunch.topology.seen import GpuSeen, HcaSeen, Origin, Seen
from hpclaunch.values import pci

Kind = Literal["gpu", "hca", "bridge", "other", "unknown"]

NVIDIA, MELLANOX = "10de", "15b3"
_CODES = {
    "vga compatible controller": "0300",
    "3d controller": "0302",
    "infiniband controller": "0207",
    "ethernet controller": "0200",
    "network controller": "0280",
    "pci bridge": "0604",
}
_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE | re.ASCII)


class Function(Struct, frozen=True):
    """A PCI function. `code` is its class, four hexadecimal digits, "" where it is not told; `vendor` and
    `device` are hexadecimal numbers or names, as the capture has them."""

    pci: str
    line: int
    code: str = ""
    vendor: str = ""
    device: str = ""
    numa: int | None = None
    path: tuple[str, ...] = ()
    name: str = ""
    netdev: str = ""


def address(text: str) -> str:
    """The full address in lower case; without a domain it is 0000, as lspci leaves that out. A domain of
    eight digits (nvidia-smi) is cut to what Linux writes. "" for what is no address."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        return ""
    domain, bus, slot, function = (part or "0" for part in match.groups())
    return f"{int(domain, 16):04x}:{bus}:{slot}.{function}".lower()


def class_code(name: str) -> str:
    """The class code of a name in pci.ids, "" for one that does not matter here."""
    return _CODES.get(name.strip().lower(), "ffff" if name.strip() else "")


def link_layer(code: str) -> str:
    """The link layer of an adapter of this class, "" where the class does not tell it."""
    return {"0207": "InfiniBand", "0200": "Ethernet"}.get(code, "")


def kind(function: Function) -> Kind:
    """What the function is, by class and vendor; where the class is not told (`lspci -tv`), by its name."""
    vendor = function.vendor.lower()
    nvidia = vendor == NVIDIA or vendor.startswith("nvidia")
    mellanox = vendor == MELLANOX or vendor.startswith("mellanox") or (nvidia and _is_adapter(function))
    if function.code == "0604":
        return "bridge"
    if function.code in ("0300", "0302") and nvidia:
        return "gpu"
    if function.code in ("0200", "0207", "0280") and mellanox:
        return "hca"
    if function.code:
        return "other"
    return _by_name(function.device, nvidia, mellanox)


def _is_adapter(function: Function) -> bool:
    """NVIDIA's newest adapters may carry its own name as vendor."""
    return re.search(r"ConnectX|BlueField", function.device) is not None


def _by_name(device: str, nvidia: bool, mellanox: bool) -> Kind:
    if mellanox:
        side = re.search(r"bridge|SoC|DMA|Crypto|management|Device [0-9a-f]{4}\b", device, re.IGNORECASE)
        return "unknown" if side else "hca"
    if nvidia and device:
        side = re.search(r"NVSwitch|audio|USB|UCSI|serial|bridge|memory", device, re.IGNORECASE)
        return "other" if side else "unknown" if re.search(r"Device [0-9a-f]{4}\b", device) else "gpu"
    return "other" if device else "unknown"


def seen(origin: Origin, functions: Iterable[Function], unread: Iterable[str] = ()) -> Seen:
    """The GPUs and HCAs among the functions. Those of an NVIDIA or Mellanox device whose kind is not told
    are in `paths` alone, and named."""
    gpus: list[GpuSeen] = []
    hcas: list[HcaSeen] = []
    said = list(unread)
    paths: dict[str, tuple[str, ...]] = {}
    for each in sorted(functions, key=lambda one: pci.order(one.pci)):
        where = Origin(origin.file, origin.format, each.line)
        what = kind(each)
        if each.path:
            paths[each.pci] = each.path
        if what == "gpu":
            gpus.append(GpuSeen(where, None, each.pci, each.numa, each.device, each.path))
        elif what == "hca":
            hcas.append(
                HcaSeen(
                    where,
                    name=each.name,
                    pci=each.pci,
                    numa=each.numa,
                    link_layer=link_layer(each.code),
                    netdev=each.netdev,
                    model=each.device,
                    path=each.path,
                )
            )
        elif what == "unknown" and (each.vendor or each.device):
            said.append(
                f"line {each.line}: the class of {each.pci} ({each.device}) is not told; -nn tells it"
            )
    return Seen(origin=origin, gpus=tuple(gpus), hcas=tuple(hcas), paths=paths, unread=tuple(said))
