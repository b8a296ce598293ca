"""Captures of a machine that never was: what the tools would print on a node type of the catalogue.

Each function writes one format, in the shape that the tool gives it, from the node type alone; so a test can
ask that discovery finds the same machine again. `captured_xml` has the formats in XML.
"""

from collections import defaultdict
from collections.abc import Callable

from captured_machine import Device, Tree, cores, names, node_cpus, present, tree_of
from captured_xml import hwloc, nccl

from hpclaunch.spec.nodetype import GpuSpec, NodeType
from hpclaunch.topology import model
from hpclaunch.values import cpulist


def lscpu(machine: NodeType) -> str:
    every = list(cores(machine))
    width = len(every[0][2])
    sockets = len({socket for socket, _, _ in every})
    total = sum(len(core) for _, _, core in every)
    rows = [
        ("Architecture", "x86_64"),
        ("CPU(s)", total),
        ("On-line CPU(s) list", f"0-{total - 1}"),
        ("Thread(s) per core", width),
        ("Core(s) per socket", len(every) // sockets),
        ("Socket(s)", sockets),
        ("NUMA node(s)", len(machine.numa)),
        ("Model name", "Some CPU @ 2.00GHz"),
        *((f"NUMA node{node} CPU(s)", cpus) for node, cpus in node_cpus(machine).items()),
    ]
    return "".join(f"{name + ':':<25}{value}\n" for name, value in rows)


def lscpu_e(machine: NodeType) -> str:
    caches = {
        cpu: number
        for number, group in enumerate(group for node in machine.numa for group in node.l3)
        for cpu in cpulist.parse(group)
    }
    rows = []
    for core_number, (socket, node, core) in enumerate(sorted(cores(machine), key=lambda one: one[2])):
        for cpu in core:
            levels = [core_number] * 3 + ([caches[cpu]] if caches else [])
            rows.append((cpu, node, socket, core_number, ":".join(map(str, levels)), "yes"))
    head = ("CPU", "NODE", "SOCKET", "CORE", "L1d:L1i:L2:L3" if caches else "L1d:L1i:L2", "ONLINE")
    return "".join(" ".join(f"{cell!s:>6}" for cell in row) + "\n" for row in (head, *sorted(rows)))


def numactl(machine: NodeType) -> str:
    numbers = [node.node for node in machine.numa]
    text = f"available: {len(numbers)} nodes ({cpulist.format_list(numbers)})\n"
    for node, cpus in node_cpus(machine).items():
        text += f"node {node} cpus: {' '.join(map(str, cpulist.parse(cpus)))}\nnode {node} size: 131072 MB\n"
        text += f"node {node} free: 100000 MB\n"
    text += "node distances:\nnode " + "".join(f"{node:4}" for node in numbers) + "\n"
    for node in numbers:
        row = "".join(f"{model.distance(machine, node, other):4}" for other in numbers)
        text += f"{node:4}:{row}\n"
    return text


def level(machine: NodeType, a: Device, b: Device) -> str:
    if a.switch and a.switch == b.switch and "/" in a.switch:
        return "PIX"
    if a.switch and a.switch.partition("/")[0] == b.switch.partition("/")[0]:
        return "PXB"
    if a.pci and a.pci.rpartition(".")[0] == b.pci.rpartition(".")[0]:
        return "PIX"
    return "NODE" if a.numa == b.numa else "SYS"


def topo_m(machine: NodeType, numa_columns: bool = True) -> str:
    nics = present(machine)
    labels = [f"GPU{i}" for i in range(len(machine.gpus))] + [f"NIC{i}" for i in range(len(nics))]
    devices: list[Device] = [*machine.gpus, *nics]
    head = ["", *labels, "CPU Affinity", *(["NUMA Affinity"] if numa_columns else [])]
    lines = ["\t".join(head)]
    for label, device in zip(labels, devices, strict=True):
        cells = []
        for other_label, other in zip(labels, devices, strict=True):
            both = label.startswith("GPU") and other_label.startswith("GPU")
            far = "NV12" if both else level(machine, device, other)
            cells.append(" X " if label == other_label else far)
        own = [node_cpus(machine)[device.numa], str(device.numa)] if label.startswith("GPU") else []
        lines.append("\t".join([label, *cells, *own[: 2 if numa_columns else 1]]))
    text = (
        "\n".join(lines)
        + "\n\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as ...\n"
    )
    if nics:
        text += "\nNIC Legend:\n\n"
        text += "".join(f"  NIC{i}: {names(machine)[hca.pci]}\n" for i, hca in enumerate(nics))
    return text


def ibdev2netdev(machine: NodeType) -> str:
    return "".join(
        f"{hca.pci} {names(machine)[hca.pci]} (MT4123 - MCX653105A-HDAT) ConnectX-6 VPI adapter card, HDR "
        f"fw 20.31.1014 port {hca.port} (ACTIVE) ==> ib{number} (Up)\n"
        for number, hca in enumerate(present(machine))
    )


def ibstat(machine: NodeType) -> str:
    text = ""
    for hca in present(machine):
        text += f"CA '{names(machine)[hca.pci]}'\n\tCA type: MT4123\n\tNumber of ports: 1\n"
        text += f"\tPort {hca.port}:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n"
        text += f"\t\tRate: {hca.rate_gbps or 100}\n\t\tLink layer: {hca.link_layer}\n"
    return text


def lspci_tv(machine: NodeType) -> str:
    titles = {gpu.pci: "NVIDIA Corporation GA100 [A100 SXM4 40GB]" for gpu in machine.gpus}
    titles |= {hca.pci: "Mellanox Technologies MT28908 Family [ConnectX-6]" for hca in machine.hcas}

    def block(tree: Tree) -> list[str]:
        lines = []
        for index, (address, below) in enumerate(sorted(tree.items())):
            last = index == len(tree) - 1
            lead, rest = ("\\-" if last else "+-", "  " if last else "| ")
            if index == 0:
                lead, rest = ("--" if last else "+-", rest)
            own = address.rpartition(":")[2]
            if below:
                prefix = f"{own}-[{min(below)[5:7]}]-"
                inside = block(below)
                lines.append(lead + prefix + "-" + inside[0])
                lines += [rest + " " * (len(prefix) + 1) + line for line in inside[1:]]
            else:
                lines.append(f"{lead}{own}  {titles[address]}")
        return lines

    buses: defaultdict[str, Tree] = defaultdict(dict)
    for address, below in tree_of(machine).items():
        buses[address[:7]][address] = below
    lines = []
    for index, (bus, below) in enumerate(sorted(buses.items(), reverse=True)):
        inside = block(below)
        last = index == len(buses) - 1
        lead = "-+-" if index == 0 else " \\-" if last else " +-"
        lines.append(f"{lead}[{bus}]-" + inside[0])
        lines += [("  " if last else " |") + " " * (len(bus) + 4) + line for line in inside[1:]]
    return "\n".join(lines) + "\n"


def lspci_vmm(machine: NodeType) -> str:
    text = ""
    devices: list[Device] = [*machine.gpus, *machine.hcas]
    for device in sorted(devices, key=lambda one: one.pci):
        if isinstance(device, GpuSpec):
            kind, vendor, name = "3D controller", "NVIDIA Corporation", "GA100 [A100 SXM4 40GB]"
        else:
            kind = "Infiniband controller" if device.link_layer == "InfiniBand" else "Ethernet controller"
            vendor, name = "Mellanox Technologies", "MT28908 Family [ConnectX-6]"
        text += f"Slot:\t{device.pci}\nClass:\t{kind}\nVendor:\t{vendor}\nDevice:\t{name}\n"
        text += f"Rev:\t00\nNUMANode:\t{device.numa}\n\n"
    return text


FORMATS: dict[str, Callable[[NodeType], str]] = {
    "lscpu": lscpu,
    "lscpu -e": lscpu_e,
    "numactl -H": numactl,
    "nvidia-smi topo -m": topo_m,
    "ibdev2netdev -v": ibdev2netdev,
    "ibstat": ibstat,
    "lspci -tv": lspci_tv,
    "lspci -D -vmm": lspci_vmm,
    "hwloc 2": hwloc,
    "hwloc 3": lambda machine: hwloc(machine, "3.0"),
    "nccl": nccl,
}
