"""GPUs and HCAs in a tree of hwloc, with the bridges above them and the NUMA node that they hang on."""

import re

from hpclaunch.topology.readers import bitset, functions
from hpclaunch.topology.readers.xmltree import Element
from hpclaunch.topology.seen import GpuSeen, HcaSeen, Origin
from hpclaunch.values import pci

# The kernel's ib_port_state, which hwloc writes as a number.
_STATES = {"1": "DOWN", "2": "INIT", "3": "ARMED", "4": "ACTIVE"}


class Devices:
    """The devices below an element. `bits` says that OS devices are told as bits (version 3: 32 is
    OpenFabrics), not as numbers (3 is)."""

    def __init__(self, root: Element, origin: Origin, bits: bool):
        self.origin = origin
        self.bits = bits
        self.gpus: list[GpuSeen] = []
        self.hcas: list[HcaSeen] = []
        self.paths: dict[str, tuple[str, ...]] = {}
        waiting: list[tuple[Element, tuple[str, ...], int | None]] = [(root, (), None)]
        while waiting:
            element, path, numa = waiting.pop()
            if element.get("nodeset"):
                numa = _single(element.get("nodeset"))
            below = path
            busid = functions.address(element.get("pci_busid"))
            if busid and element.get("type") == "Bridge":
                below = (*path, busid)
            elif busid and element.get("type") == "PCIDev":
                if path:
                    self.paths[busid] = path
                self._device(element, busid, path, numa)
            waiting += [(child, below, numa) for child in element.children if child.tag == "object"]
        self.gpus.sort(key=lambda gpu: pci.order(gpu.pci))
        self.hcas.sort(key=lambda hca: (pci.order(hca.pci), hca.name))

    def _device(self, element: Element, busid: str, path: tuple[str, ...], numa: int | None) -> None:
        match = re.match(r"([0-9a-f]{4}) \[([0-9a-f]{4}):[0-9a-f]{4}\]", element.get("pci_type"))
        code, vendor = match.group(1, 2) if match else ("", "")
        model = info(element).get("PCIDevice", element.get("name"))
        what = functions.kind(functions.Function(busid, element.line, code, vendor, model))
        inside = [child for child in element.children if child.get("type") == "OSDev"]
        if what == "gpu":
            # NVML counts in PCI order, as nvidia-smi does; CUDA may count otherwise.
            numbers = [re.fullmatch(r"nvml([0-9]{1,4})", each.get("name")) for each in inside]
            index = next((int(number.group(1)) for number in numbers if number), None)
            self.gpus.append(GpuSeen(self._at(element), index, busid, numa, model, path))
        fabrics = [each for each in inside if self._is_fabric(each)]
        if not fabrics and what != "hca":
            return
        link_layer = functions.link_layer(code) if what == "hca" else ""
        nets = [each.get("name") for each in inside if self._is_network(each)]
        for each in fabrics or [element]:
            told = info(each)
            self.hcas.append(
                HcaSeen(
                    self._at(each),
                    name=each.get("name") if fabrics else "",
                    pci=busid,
                    numa=numa,
                    port=1 if "Port1State" in told else None,
                    link_layer=link_layer,
                    state=_STATES.get(told.get("Port1State", ""), ""),
                    netdev=nets[0] if len(nets) == 1 else "",
                    model=model,
                    path=path,
                )
            )

    def _at(self, element: Element) -> Origin:
        return Origin(self.origin.file, self.origin.format, element.line)

    def _is_fabric(self, element: Element) -> bool:
        return bool(_number(element) & 32) if self.bits else _number(element) == 3

    def _is_network(self, element: Element) -> bool:
        """Bit 16 in version 3, which OpenFabrics devices have too, and 2 before."""
        return _number(element) & 48 == 16 if self.bits else _number(element) == 2


def _number(element: Element) -> int:
    text = element.get("osdev_type")
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 0


def _single(nodeset: str) -> int | None:
    """The one node of a set: there the devices below are. A larger set only says which machine."""
    try:
        nodes = bitset.numbers(nodeset)
    except ValueError:
        return None
    return nodes[0] if len(nodes) == 1 else None


def info(element: Element) -> dict[str, str]:
    """The `info` children of an object."""
    return {each.get("name"): each.get("value") for each in element.children if each.tag == "info"}
