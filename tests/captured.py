"""Captures of a machine that never was: what the tools would print on a node type of the catalogue.

Each function writes one format, in the shape that the tool gives it, from the node type alone; so a test can
ask that discovery finds the same machine again. Bridges are made up so that devices of one switch share a
root port, and devices of one inner switch an inner upstream port.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType
from hpclaunch.topology import model
from hpclaunch.values import cpulist

Device = GpuSpec | HcaSpec
Path = tuple[str, ...]


def names(machine: NodeType, variant: str | None = None) -> dict[str, str]:
    """PCI address -> device name."""
    if not machine.variants:
        return {}
    default = next(
        (key for key, one in machine.variants.items() if one.default), next(iter(machine.variants))
    )
    return machine.variants[variant or default].names


def present(machine: NodeType) -> tuple[HcaSpec, ...]:
    return tuple(hca for hca in machine.hcas if hca.pci in names(machine))


def cores(machine: NodeType) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """(socket, NUMA node, CPUs) of each core."""
    for node in machine.numa:
        for core in model.cores(machine, node.node):
            yield node.socket, node.node, core


def node_cpus(machine: NodeType) -> dict[int, str]:
    return {
        node.node: cpulist.format_list(
            cpu for _, at, core in cores(machine) if at == node.node for cpu in core
        )
        for node in machine.numa
    }


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


def paths(machine: NodeType) -> dict[str, Path]:
    """PCI address -> the bridges above it, from the root port down."""
    devices: list[Device] = [*machine.gpus, *machine.hcas]
    taken = {device.pci[5:7] for device in devices}
    free = iter(bus for bus in (f"{number:02x}" for number in range(1, 256)) if bus not in taken)
    above: dict[str, Path] = {}  # a switch -> the bridges down to its upstream port
    behind: dict[str, str] = {}  # a switch -> the bus of its downstream ports
    found: dict[str, Path] = {}
    ports: dict[str, Iterator[int]] = {}

    def port(switch: str) -> str:
        return f"{behind[switch]}:{next(ports[switch]):02x}.0"

    for device in devices:
        domain, slot = device.pci.partition(":")[0], device.pci.rpartition(".")[0]
        twin = next((path for pci, path in found.items() if pci.rpartition(".")[0] == slot), None)
        if twin is not None or not device.switch:
            found[device.pci] = twin or (f"{domain}:{next(free)}:01.0",)
            continue
        outer = device.switch.partition("/")[0]
        for switch in dict.fromkeys((outer, device.switch)):
            if switch not in above:
                root = (*above[outer], port(outer)) if switch != outer else (f"{domain}:{next(free)}:01.0",)
                above[switch] = (*root, f"{domain}:{next(free)}:00.0")
                behind[switch] = f"{domain}:{next(free)}"
                ports[switch] = iter(range(1, 32))
        found[device.pci] = (*above[device.switch], port(device.switch))
    return found


Tree = dict[str, "Tree"]


def _tree(machine: NodeType) -> Tree:
    """The bridges and devices as nested maps, root ports first."""
    tree: Tree = {}
    for pci, path in paths(machine).items():
        at = tree
        for bridge in path:
            at = at.setdefault(bridge, {})
        at[pci] = {}
    return tree


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
    for address, below in _tree(machine).items():
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


def mask(cpus: str) -> str:
    """Words of 32 bits, the highest first."""
    value = sum(1 << cpu for cpu in cpulist.parse(cpus))
    words = []
    while value or not words:
        words.insert(0, f"{value & 0xFFFFFFFF:08x}")
        value >>= 32
    return ",".join(words)


def _pci_type(machine: NodeType, pci: str) -> str:
    if any(gpu.pci == pci for gpu in machine.gpus):
        return "0302 [10de:20b0] [10de:134f] a1"
    hca = next(hca for hca in machine.hcas if hca.pci == pci)
    return f"{'0207' if hca.link_layer == 'InfiniBand' else '0200'} [15b3:101b] [15b3:0006] 00"


def hwloc(machine: NodeType, version: str = "2.0") -> str:
    """`lstopo out.xml` of hwloc 2, or with version "3.0" of 3."""
    fabric = "48" if version == "3.0" else "3"
    nodes = [node.node for node in machine.numa]
    where = {device.pci: device.numa for device in (*machine.gpus, *machine.hcas)}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">']
    lines.append(f'<topology version="{version}">')
    everything = ",".join(node_cpus(machine).values())
    lines.append(
        f'<object type="Machine" os_index="0" cpuset="{_sets(everything)}" nodeset="{_sets_of(nodes)}">'
    )

    def io(tree: Tree) -> None:
        for address, below in sorted(tree.items()):
            if below:
                lines.append(f'<object type="Bridge" bridge_type="1-1" pci_busid="{address}">')
                io(below)
            else:
                kind = _pci_type(machine, address)
                lines.append(f'<object type="PCIDev" pci_busid="{address}" pci_type="{kind}">')
                if address in names(machine):
                    name = names(machine)[address]
                    lines.append(f'<object type="OSDev" name="{name}" osdev_type="{fabric}">')
                    lines.append('<info name="Port1State" value="4"/></object>')
            lines.append("</object>")

    sockets = sorted({node.socket for node in machine.numa})
    for socket in sockets:
        own = [node for node in machine.numa if node.socket == socket]
        cpus = ",".join(node_cpus(machine)[node.node] for node in own)
        lines.append(
            f'<object type="Package" os_index="{socket}" cpuset="{_sets(cpus)}" '
            f'nodeset="{_sets_of([node.node for node in own])}">'
        )
        lines.append('<info name="CPUModel" value="Some CPU @ 2.00GHz"/>')
        for node in own:
            both = f'cpuset="{_sets(node_cpus(machine)[node.node])}" nodeset="{_sets_of([node.node])}"'
            lines.append(f'<object type="Group" {both}>')
            lines.append(
                f'<object type="NUMANode" os_index="{node.node}" {both} local_memory="137438953472"/>'
            )
            for cache in node.l3 or (node_cpus(machine)[node.node],):
                behind = set(cpulist.parse(cache))
                if node.l3:
                    lines.append(f'<object type="L3Cache" cpuset="{_sets(cache)}">')
                for core in model.cores(machine, node.node):
                    if core[0] in behind:
                        lines.append(f'<object type="Core" cpuset="{_sets_of(core)}">')
                        lines += [
                            f'<object type="PU" os_index="{cpu}" cpuset="{_sets_of([cpu])}"/>' for cpu in core
                        ]
                        lines.append("</object>")
                if node.l3:
                    lines.append("</object>")
            here: Tree = {
                root: below
                for root, below in _tree(machine).items()
                if where[_first_leaf(below)] == node.node
            }
            lines.append('<object type="Bridge" bridge_type="0-1">')
            io(here)
            lines += ["</object>", "</object>"]
        lines.append("</object>")
    lines.append("</object>")
    lines.append(
        f'<distances2 type="NUMANode" nbobjs="{len(nodes)}" kind="5" name="NUMALatency" indexing="os">'
    )
    lines.append(f'<indexes length="1">{" ".join(map(str, nodes))} </indexes>')
    values = (model.distance(machine, a, b) for a in nodes for b in nodes)
    lines.append(f'<u64values length="1">{" ".join(map(str, values))} </u64values>')
    lines += ["</distances2>", "</topology>"]
    return "\n".join(lines) + "\n"


def _first_leaf(tree: Tree) -> str:
    address, below = next(iter(tree.items()))
    return _first_leaf(below) if below else address


def _sets(cpus: str) -> str:
    return ",".join("0x" + word for word in mask(cpus).split(","))


def _sets_of(numbers: Iterable[int]) -> str:
    return _sets(cpulist.format_list(numbers))


def nccl(machine: NodeType) -> str:
    """NCCL_TOPO_DUMP_FILE: upstream ports alone, the functions of a card together under function 0."""
    lines = ['<system version="1">']
    for node in machine.numa:
        lines.append(
            f'<cpu host_hash="0x1" numaid="{node.node}" affinity="{mask(node_cpus(machine)[node.node])}" '
            'arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">'
        )
        tree: Tree = {}
        devices: list[Device] = [*machine.gpus, *present(machine)]
        for device in devices:
            if device.numa == node.node:
                at = tree
                for bridge in paths(machine)[device.pci][1:-1:2]:
                    at = at.setdefault(bridge, {})
                at[device.pci.rpartition(".")[0] + ".0"] = {}
        lines += _nccl_pci(machine, tree)
        lines.append("</cpu>")
    return "\n".join([*lines, "</system>"]) + "\n"


def _nccl_pci(machine: NodeType, tree: Tree) -> Iterator[str]:
    gpus = [gpu.pci for gpu in machine.gpus]
    for address, below in sorted(tree.items()):
        if below:
            yield f'<pci busid="{address}" class="0x060400" vendor="0x1000" device="0xc010">'
            yield from _nccl_pci(machine, below)
        elif address in gpus:
            yield f'<pci busid="{address}" class="0x030200" vendor="0x10de" device="0x20b0">'
            yield f'<gpu dev="{gpus.index(address)}" sm="80" rank="{gpus.index(address)}" gdr="1"/>'
        else:
            card = [
                hca for hca in present(machine) if hca.pci.rpartition(".")[0] == address.rpartition(".")[0]
            ]
            code = "0x0207" if card[0].link_layer == "InfiniBand" else "0x0200"
            yield f'<pci busid="{address}" class="{code}00" vendor="0x15b3" device="0x101b"><nic>'
            for index, hca in enumerate(card):
                speed = (hca.rate_gbps or 100) * 1000
                yield f'<net name="{names(machine)[hca.pci]}" speed="{speed}" port="{index + 1}" guid="0x1"/>'
            yield "</nic>"
        yield "</pci>"


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
