"""The PCI tree, GPUs and HCAs of a made-up machine, as files and links below /sys, /proc and /dev.

The forms are those of the kernel's Documentation/ABI (testing/sysfs-bus-pci, stable/sysfs-class-infiniband)
and of the NVIDIA driver's README ("The /proc interface").
"""

import posixpath
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, field, structs

from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType
from hpclaunch.topology.model import device_names
from hpclaunch.values import pci

_BUSES = range(1, 255)
# Vendor, class and driver: a 3D controller of NVIDIA; an InfiniBand or Ethernet controller of Mellanox; a
# bridge of PLX.
_GPU = ("0x10de", "0x030200", "nvidia")
_HCA = {"InfiniBand": ("0x15b3", "0x020700", "mlx5_core"), "Ethernet": ("0x15b3", "0x020000", "mlx5_core")}
_BRIDGE = ("0x10b5", "0x060400", "pcieport")
# The speed of a link with four lanes, as the kernel words it (ib_port rate_show).
_SPEEDS = {25: "SDR", 40: "QDR", 56: "FDR", 100: "EDR", 200: "HDR", 400: "NDR", 800: "XDR"}


class Tree(Struct, frozen=True):
    """Files with their text, and links with what they point to; all paths are relative to the root."""

    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def link(self, path: str, target: str) -> None:
        """A link at `path` to `target`, both below the root."""
        self.links[path] = posixpath.relpath(target, posixpath.dirname(path))


def with_addresses(node_type: NodeType) -> NodeType:
    """The node type with a made-up PCI address for each GPU, where no source tells them."""
    if all(gpu.pci for gpu in node_type.gpus):
        return node_type
    taken = {pci.order(hca.pci)[1] for hca in node_type.hcas}
    free = (bus for bus in _BUSES if bus not in taken)
    gpus = (structs.replace(gpu, pci=f"0000:{next(free):02x}:00.0") for gpu in node_type.gpus)
    return structs.replace(node_type, gpus=tuple(gpus))


def devices(node_type: NodeType, variant: str | None, tree: Tree) -> None:
    """Add all devices of the node type. An HCA that the variant does not name is absent. Raises InputError
    for a variant that the type does not have."""
    names = device_names(node_type, variant)
    hcas = [hca for hca in node_type.hcas if hca.pci in names]
    places = _places([*node_type.gpus, *hcas], tree)
    for minor, gpu in enumerate(node_type.gpus):
        _device(tree, places[gpu.pci], gpu.numa, *_GPU)
        information = f"proc/driver/nvidia/gpus/{gpu.pci}/information"
        tree.files[information] = (
            f"Model: \t\t NVIDIA {node_type.gres.upper()}\n"
            f"Bus Location: \t {gpu.pci}\nDevice Minor: \t {minor}\n"
        )
        tree.files[f"dev/nvidia{minor}"] = ""
    for verbs, hca in enumerate(sorted(hcas, key=lambda hca: _natural(names[hca.pci]))):
        _device(tree, places[hca.pci], hca.numa, *_HCA[hca.link_layer])
        _infiniband(tree, places[hca.pci], names[hca.pci], hca, verbs)


def _device(tree: Tree, path: str, numa: int, vendor: str, kind: str, driver: str) -> None:
    tree.files[f"{path}/vendor"] = f"{vendor}\n"
    tree.files[f"{path}/class"] = f"{kind}\n"
    tree.files[f"{path}/numa_node"] = f"{numa}\n"
    tree.files.setdefault(f"sys/bus/pci/drivers/{driver}/uevent", "")
    tree.link(f"{path}/driver", f"sys/bus/pci/drivers/{driver}")
    tree.link(f"sys/bus/pci/devices/{posixpath.basename(path)}", path)


def _infiniband(tree: Tree, path: str, name: str, hca: HcaSpec, verbs: int) -> None:
    device, port = f"{path}/infiniband/{name}", f"{path}/infiniband/{name}/ports/{hca.port}"
    tree.files[f"{port}/state"] = "4: ACTIVE\n"
    tree.files[f"{port}/phys_state"] = "5: LinkUp\n"
    tree.files[f"{port}/link_layer"] = f"{hca.link_layer}\n"
    if hca.rate_gbps:
        speed = f" (4X {_SPEEDS[hca.rate_gbps]})" if hca.rate_gbps in _SPEEDS else ""
        tree.files[f"{port}/rate"] = f"{hca.rate_gbps} Gb/sec{speed}\n"
    tree.link(f"{device}/device", path)
    tree.link(f"sys/class/infiniband/{name}", device)
    opened = f"{path}/infiniband_verbs/uverbs{verbs}"
    tree.files[f"{opened}/ibdev"] = f"{name}\n"
    tree.link(f"{opened}/device", path)
    tree.link(f"sys/class/infiniband_verbs/uverbs{verbs}", opened)
    tree.files[f"dev/infiniband/uverbs{verbs}"] = ""


def _places(specs: Iterable[GpuSpec | HcaSpec], tree: Tree) -> Mapping[str, str]:
    """Address -> folder of the device. Makes the bridges above it, at made-up addresses."""
    ordered = sorted(specs, key=lambda spec: pci.order(spec.pci))
    taken = {_bus(spec.pci) for spec in ordered}
    bridges: dict[tuple[str, ...], str] = {}
    found: dict[str, str] = {}
    for spec in ordered:
        above = _bridges_above(spec)
        missing = [key for key in above if key not in bridges]
        for key, bus in zip(missing, _free_buses(_bus(spec.pci), len(missing), taken), strict=True):
            index = above.index(key)
            folder = bridges[above[index - 1]] if index else f"sys/devices/pci{bus}"
            bridges[key] = f"{folder}/{bus}:00.0"
            _device(tree, bridges[key], spec.numa, *_BRIDGE)
        found[spec.pci] = f"{bridges[above[-1]]}/{spec.pci}"
    return found


def _bridges_above(spec: GpuSpec | HcaSpec) -> list[tuple[str, ...]]:
    """What tells the bridges above a device apart, from the CPU on: a root port for each first part of a
    switch path, for each part the switch's upstream port and a downstream port for each thing behind it.
    What hangs on no switch has a root port of its own; the functions of one card share their port."""
    domain, bus = _bus(spec.pci).split(":")
    parts = spec.switch.split("/") if spec.switch else []
    found: list[tuple[str, ...]] = [("root", domain, *(parts[:1] or ("", bus)))]
    for depth in range(1, len(parts) + 1):
        behind = parts[depth] if depth < len(parts) else f"bus {bus}"
        found += [("up", domain, *parts[:depth]), ("down", domain, *parts[:depth], behind)]
    return found


def _free_buses(bus: str, count: int, taken: set[str]) -> list[str]:
    """So many buses of its domain that no device is on, rising, below this bus if there are; now taken."""
    domain, number = bus.split(":")
    near = int(number, 16)
    names = (f"{domain}:{one:02x}" for one in (*range(near - 1, -1, -1), *range(255, near, -1)))
    found = [name for name in names if name not in taken][:count]
    taken.update(found)
    return sorted(found)


def _bus(address: str) -> str:
    return address.rpartition(":")[0]


def _natural(name: str) -> tuple[str, int]:
    stem, number = re.fullmatch(r"(.*?)(\d*)", name).groups()  # type: ignore[union-attr]
    return stem, int(number or 0)
