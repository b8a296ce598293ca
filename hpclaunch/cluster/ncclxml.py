"""A node type in the form of NCCL_TOPO_FILE, for machines whose /sys hides the PCI tree, as virtual machines'
does.

Form: src/graph/xml.cc and topo.cc of NVIDIA/nccl, v2.8 to v2.30. NCCL looks GPUs and adapters up by PCI
address and fills in what a file leaves out, on the node itself: the CPU's model (ncclTopoGetXmlFromCpu), the
links of devices, the names of adapters (ncclTopoFillGpu, ncclTopoFillNet). So names that shift from node
to node are not in the file. Of switches, which have made-up addresses here, it must be told the link.
"""

import re
from collections.abc import Iterable
from itertools import count
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType
from hpclaunch.topology import model
from hpclaunch.values import pci
from hpclaunch.values.cpulist import parse
from hpclaunch.values.errors import InputError, Problem

GPU, BRIDGE = "0x030200", "0x060400"
ADAPTER = {"InfiniBand": "0x020700", "Ethernet": "0x020000"}
# The PCI link of 16 lanes that carries this rate (Gb/s), in the oldest words of NCCL's kvDictPciGen: it was
# later that it learned what /sys says, "16.0 GT/s PCIe".
LINKS = ((100, "8 GT/s"), (200, "16 GT/s"), (400, "32 GT/s"), (800, "64.0 GT/s PCIe"))


def nccl_xml(machine: NodeType, variant: str | None) -> str:
    """The file. It has every GPU and adapter of the variant, below its NUMA node and switches.

    A switch with devices of several NUMA nodes is in it once below each. Raises InputError where the PCI
    addresses are not known, and for a variant that the type does not have.
    """
    if any(not gpu.pci for gpu in machine.gpus):
        message = f"{machine.name}: no source tells its PCI addresses, and NCCL finds devices by them"
        raise InputError([Problem(message, "node type", ("gpus",))])
    system = Element("system", version="1")
    width = max(cpu for node in machine.numa for text in node.threads for cpu in parse(text)) // 32 + 1
    cpus = {
        node.node: SubElement(system, "cpu", numaid=str(node.node), affinity=_mask(node.threads, width))
        for node in machine.numa
    }
    switches: dict[tuple[int, str], Element] = {}
    numbers = count(1)
    found: list[GpuSpec | HcaSpec] = [*machine.gpus, *model.hcas(machine, variant)]
    devices = sorted(found, key=lambda device: pci.order(device.pci))
    for device in devices:
        parent = cpus[device.numa]
        path = device.switch.split("/") if device.switch else []
        for depth in range(1, len(path) + 1):
            key = (device.numa, "/".join(path[:depth]))
            if key not in switches:
                below = [each for each in devices if f"{each.switch}/".startswith(f"{key[1]}/")]
                # Address ffff:ff:NN.0: on no machine, and so looked up in vain.
                busid = f"ffff:ff:{next(numbers):02x}.0"
                switches[key] = SubElement(parent, "pci", {"busid": busid, "class": BRIDGE, **_link(below)})
            parent = switches[key]
        kind = GPU if isinstance(device, GpuSpec) else ADAPTER[device.link_layer]
        SubElement(parent, "pci", {"busid": device.pci, "class": kind})
    indent(system)
    text = tostring(system, "unicode").replace(" />", "/>")  # NCCL reads the blank as one more attribute
    name = re.sub("-(?=-)", "- ", machine.name)  # two in a row would end a comment of XML
    return f"<!-- {name}: made by hpclaunch from its node type -->\n{text}\n"


def _mask(threads: Iterable[str], width: int) -> str:
    """CPUs as a mask of `width` words of 32 bits, the highest first: 00000000,0000ffff."""
    cpus = {cpu for text in threads for cpu in parse(text)}
    words = (sum(1 << (cpu % 32) for cpu in cpus if cpu // 32 == word) for word in range(width))
    return ",".join(f"{word:08x}" for word in reversed(tuple(words)))


def _link(below: Iterable[GpuSpec | HcaSpec]) -> dict[str, str]:
    """A switch is as fast as the fastest adapter behind it needs; without a known rate it is PCI 3.0, which
    is what NCCL assumes of a link that it knows nothing of."""
    rate = max((device.rate_gbps or 0 for device in below if isinstance(device, HcaSpec)), default=0)
    speed = next((speed for most, speed in LINKS if rate <= most), LINKS[-1][1])
    return {"link_speed": speed, "link_width": "16"}
