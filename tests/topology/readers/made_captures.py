"""Made-up machines, and what the tools would write of them, in the layouts that published captures have."""

import json
import textwrap
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from hpclaunch.values.cpulist import format_list

PCI_LEVELS = ("PIX", "PXB", "PHB", "NODE", "SYS")
LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""


@dataclass
class Topo:
    """What `nvidia-smi topo` knows: devices, levels between them, and each GPU's CPUs and NUMA node."""

    gpus: int
    nics: list[str]
    levels: list[list[str]]
    cpus: list[str]
    numa: list[str]
    memory: list[str]

    @property
    def devices(self) -> list[str]:
        return [f"GPU{index}" for index in range(self.gpus)] + self.nics

    def pairs(self) -> dict[tuple[str, str], str]:
        """The level of each pair that is a distance over PCI."""
        names = self.devices
        return {
            (names[a], names[b]): "SYS" if self.levels[a][b] == "SOC" else self.levels[a][b]
            for a in range(len(names))
            for b in range(a + 1, len(names))
            if not self.levels[a][b].startswith("NV")
        }


@dataclass
class Layout:
    """How it is written. `columns` of CPU Affinity, NUMA Affinity, GPU NUMA ID are there."""

    legend: bool = True
    columns: int = 3
    tabs: bool = True
    colour: bool = False
    prefix: str = ""
    fence: bool = False
    command: bool = True


def topo_text(topo: Topo, layout: Layout) -> str:
    labels = [f"NIC{index}" for index in range(len(topo.nics))] if layout.legend else topo.nics
    names = [f"GPU{index}" for index in range(topo.gpus)] + labels
    heads = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"][: layout.columns]
    header = "\t".join([*names, *heads])
    rows = ["\t" + (f"\x1b[4m{header}\x1b[0m" if layout.colour else header)]
    for row, name in enumerate(names):
        cells = [" X " if row == column else topo.levels[row][column] for column in range(len(names))]
        tail = [""] * (layout.columns + 1)
        if row < topo.gpus:
            tail = [topo.cpus[row], topo.numa[row], "", topo.memory[row]]
            tail = tail[: layout.columns] if layout.columns < 3 else tail
        rows.append("\t".join([name, *cells, *tail]))
    text = "\n".join(rows) + "\n" + LEGEND
    if layout.legend and topo.nics:
        legend = "".join(f"  {label}: {name}\n" for label, name in zip(labels, topo.nics, strict=True))
        text += f"\nNIC Legend:\n\n{legend}\n"
    if not layout.tabs:
        text = text.expandtabs(8)
    if layout.command:
        text = f"$ nvidia-smi topo -m\n{text}"
    if layout.fence:
        text = f"```bash\n{text}```\n"
    return "".join(f"{layout.prefix}{line}\n" for line in text.splitlines())


def hard_wrapped(text: str, width: int) -> str:
    """As a terminal breaks lines: anywhere."""
    lines = (line[at : at + width] for line in text.split("\n") for at in range(0, max(len(line), 1), width))
    return "\n".join(line.rstrip() for line in lines)


def soft_wrapped(text: str, width: int) -> str:
    """As a web page breaks lines: between words."""
    return "\n".join("\n".join(textwrap.wrap(line, width)) for line in text.split("\n"))


def symmetric(size: int, draw: Any, level: st.SearchStrategy[str]) -> list[list[str]]:
    levels = [["X"] * size for _ in range(size)]
    for row in range(size):
        for column in range(row):
            levels[row][column] = levels[column][row] = draw(level)
    return levels


@st.composite
def topos(draw: st.DrawFn, most_gpus: int = 18, most_nics: int = 12) -> Topo:
    gpus = draw(st.integers(1, most_gpus))
    numbers = draw(st.lists(st.integers(0, 60), unique=True, max_size=most_nics))
    form = draw(st.sampled_from(["mlx5_{}", "mlx5_bond_{}", "rocep{}s0f1", "mlx5_ib{}"]))
    nics = [form.format(number) for number in numbers]
    size = gpus + len(nics)
    levels = symmetric(size, draw, st.sampled_from(PCI_LEVELS))
    if draw(st.booleans()):
        link = st.sampled_from(["NV1", "NV2", "NV12", "NV18", "SOC"])
        for a, row in enumerate(symmetric(gpus, draw, link)):
            levels[a][:gpus] = row
    node = st.integers(0, 63)
    first = st.integers(0, 900)
    cpus, numa, memory = [], [], []
    for _ in range(gpus):
        low = draw(first)
        one, two = f"{low}-{low + 15}", f"{low + 100}-{low + 115}"
        cpus.append(draw(st.sampled_from([one, f"{one},{two}", "N/A"])))
        numa.append(draw(st.one_of(node.map(str), st.just("N/A"))))
        memory.append(draw(st.one_of(st.just("N/A"), node.map(str))))
    return Topo(gpus, nics, levels, cpus, numa, memory)


@dataclass
class Cpus:
    """The CPUs of a machine: for each NUMA node its socket and cores, the latter as sibling CPUs."""

    cores: dict[int, list[tuple[int, ...]]]
    sockets: dict[int, int]
    caches: dict[int, int] = field(default_factory=dict)
    mb: dict[int, int] = field(default_factory=dict)
    distances: dict[int, dict[int, int]] = field(default_factory=dict)

    def of(self, node: int) -> tuple[int, ...]:
        return tuple(sorted(cpu for core in self.cores[node] for cpu in core))

    @property
    def all(self) -> tuple[int, ...]:
        return tuple(sorted(cpu for node in self.cores for cpu in self.of(node)))

    def home(self) -> dict[int, int]:
        return {cpu: node for node in self.cores for cpu in self.of(node)}

    def rows(self) -> list[dict[str, int]]:
        """A row of lscpu -e for each CPU."""
        found = {}
        number = 0
        for node, cores in self.cores.items():
            for core in cores:
                for cpu in core:
                    found[cpu] = {
                        "cpu": cpu,
                        "node": node,
                        "socket": self.sockets[node],
                        "core": number,
                        "l3": self.caches[cpu],
                    }
                number += 1
        return [found[cpu] for cpu in sorted(found)]


@st.composite
def machines(draw: st.DrawFn) -> Cpus:
    """Sockets with NUMA nodes, some of memory alone, with any numbering of the CPUs."""
    per_socket = draw(st.integers(1, 4))
    nodes = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=2 * per_socket)))
    width = draw(st.sampled_from([1, 2, 4]))
    counts = [draw(st.integers(0, 4)) for _ in nodes]
    counts[0] += 1
    total = sum(counts) * width
    numbers = draw(st.one_of(st.just(list(range(total))), st.permutations(range(total))))
    at = iter(numbers)
    cores = {
        n: [tuple(next(at) for _ in range(width)) for _ in range(c)]
        for n, c in zip(nodes, counts, strict=True)
    }
    sockets = {node: index // per_socket for index, node in enumerate(nodes)}
    caches = {cpu: node for node in nodes for core in cores[node] for cpu in core}
    mb = {node: draw(st.integers(0, 2_000_000)) for node in nodes}
    far = st.integers(11, 255)
    distances = {a: {b: 10 if a == b else draw(far) for b in nodes} for a in nodes}
    return Cpus(cores, sockets, caches, mb, distances)


def lscpu_fields(machine: Cpus) -> list[tuple[str, str]]:
    width = max(len(core) for cores in machine.cores.values() for core in cores)
    online = format_list(machine.all)
    return [
        ("Architecture", "x86_64"),
        ("CPU op-mode(s)", "32-bit, 64-bit"),
        ("CPU(s)", str(len(machine.all))),
        ("On-line CPU(s) list", online),
        ("Vendor ID", "AuthenticAMD"),
        ("Model name", "AMD EPYC 7742 64-Core Processor"),
        ("Thread(s) per core", str(width)),
        ("Core(s) per socket", "64"),
        ("Socket(s)", str(len(set(machine.sockets.values())))),
        ("CPU MHz", "2250.000"),
        ("Flags", "fpu vme de pse tsc"),
        ("L3 cache", "16384K"),
        ("NUMA node(s)", str(len(machine.cores))),
        *((f"NUMA node{node} CPU(s)", format_list(machine.of(node))) for node in machine.cores),
    ]


def lscpu_text(machine: Cpus) -> str:
    return "".join(f"{name + ':':<25}{value}\n" for name, value in lscpu_fields(machine))


def lscpu_sections(machine: Cpus) -> str:
    """The text of util-linux 2.37 and later, with the weaknesses that name themselves anyhow."""
    lines = []
    for name, value in lscpu_fields(machine):
        if name == "NUMA node(s)":
            lines.append("NUMA:")
        inner = name not in ("Architecture", "CPU(s)", "Vendor ID")
        lines.append(f"{'  ' * inner}{name + ':':<40}{value}")
    return "\n".join(
        [*lines, "Vulnerabilities:", "  Itlb multihit:    Not affected", "  Mds: Not affected", ""]
    )


def lscpu_json(machine: Cpus, nested: bool) -> str:
    fields = [{"field": f"{name}:", "data": value or None} for name, value in lscpu_fields(machine)]
    if nested:
        fields = [*fields[:2], {"field": "CPU(s):", "data": fields[2]["data"], "children": fields[3:]}]
    return json.dumps({"lscpu": fields}, indent=3) + "\n"


def lscpu_table(machine: Cpus) -> str:
    rows = [
        f"{r['cpu']:3d} {r['node']:4d} {r['socket']:6d} {r['core']:4d} 0:0:0:{r['l3']} yes 3400.0 1500.0"
        for r in machine.rows()
    ]
    return "\n".join(["CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ MINMHZ", *rows, ""])


def lscpu_parsable(machine: Cpus) -> str:
    head = (
        "# The following is the parsable format, which can be fed to other\n"
        "# programs. Each different item in every column has an unique ID\n"
        "# starting usually from zero.\n"
        "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n"
    )
    return head + "".join(
        f"{r['cpu']},{r['core']},{r['socket']},{r['node']},,0,0,0,{r['l3']}\n" for r in machine.rows()
    )


def lscpu_table_json(machine: Cpus, words: bool) -> str:
    rows = [
        {
            "cpu": r["cpu"],
            "node": r["node"],
            "socket": r["socket"],
            "core": r["core"],
            "l1d:l1i:l2:l3": f"0:0:0:{r['l3']}",
            "online": True,
        }
        for r in machine.rows()
    ]
    if words:
        rows = [{key: "yes" if value is True else str(value) for key, value in row.items()} for row in rows]
    return json.dumps({"cpus": rows}, indent=3) + "\n"


def numactl_text(machine: Cpus) -> str:
    nodes = list(machine.cores)
    lines = [f"available: {len(nodes)} nodes ({format_list(nodes)})"]
    for node in nodes:
        lines.append(" ".join([f"node {node} cpus:", *map(str, machine.of(node))]))
        lines += [f"node {node} size: {machine.mb[node]} MB", f"node {node} free: 17 MB"]
    lines += ["node distances:", "node " + " ".join(f"{node:3d}" for node in nodes)]
    for node in nodes:
        lines.append(f"{node:3d}: " + " ".join(f"{machine.distances[node][other]:3d}" for other in nodes))
    return "\n".join(lines) + "\n"


@dataclass
class Port:
    name: str
    number: int
    pci: str
    active: bool
    link: str
    rate: int
    net: str


@st.composite
def ports(draw: st.DrawFn) -> list[Port]:
    numbers = draw(st.lists(st.integers(0, 40), unique=True, min_size=1, max_size=8))
    return [
        Port(
            name=f"mlx5_{number}",
            number=port,
            pci=f"0000:{number:02x}:00.0",
            active=draw(st.booleans()),
            link=draw(st.sampled_from(["InfiniBand", "Ethernet"])),
            rate=draw(st.sampled_from([25, 100, 200, 400])),
            net=f"ib{number}" if port == 1 else f"ib{number}x",
        )
        for number in numbers
        for port in range(1, draw(st.integers(1, 2)) + 1)
    ]


def _by_device(found: list[Port]) -> dict[str, list[Port]]:
    devices: dict[str, list[Port]] = {}
    for port in found:
        devices.setdefault(port.name, []).append(port)
    return devices


def ibstat_text(found: list[Port]) -> str:
    lines = []
    for name, own in _by_device(found).items():
        lines += [
            f"CA '{name}'",
            "\tCA type: MT4123",
            f"\tNumber of ports: {len(own)}",
            "\tHardware version: 0",
        ]
        for port in own:
            state = ("Active", "LinkUp", port.rate) if port.active else ("Down", "Disabled", 10)
            lines += [f"\tPort {port.number}:", f"\t\tState: {state[0]}", f"\t\tPhysical state: {state[1]}"]
            lines += [f"\t\tRate: {state[2]}", "\t\tBase lid: 19", f"\t\tLink layer: {port.link}"]
    return "\n".join(lines) + "\n"


def ibstatus_text(found: list[Port]) -> str:
    lines = []
    for port in found:
        lines += [f"Infiniband device '{port.name}' port {port.number} status:", "\tbase lid:\t 0x13"]
        lines += [f"\tstate:\t\t {'4: ACTIVE' if port.active else '1: DOWN'}"]
        lines += [f"\trate:\t\t {port.rate} Gb/sec (4X HDR)", f"\tlink_layer:\t {port.link}", ""]
    return "\n".join(lines)


def devinfo_text(found: list[Port]) -> str:
    lines = []
    for name, own in _by_device(found).items():
        lines += [f"hca_id:\t{name}", "\ttransport:\t\t\tInfiniBand (0)", "\tvendor_part_id:\t\t\t4123"]
        lines += [f"\tphys_port_cnt:\t\t\t{len(own)}"]
        for port in own:
            state = "PORT_ACTIVE (4)" if port.active else "PORT_DOWN (1)"
            lines += [f"\t\tport:\t{port.number}", f"\t\t\tstate:\t\t\t{state}", "\t\t\tmax_mtu:\t\t4096 (5)"]
            lines += [f"\t\t\tlink_layer:\t\t{port.link}"]
        lines.append("")
    return "\n".join(lines)


def ibdev2netdev_text(found: list[Port], verbose: bool) -> str:
    lines = []
    for port in found:
        up = "Up" if port.active else "Down"
        if verbose:
            card = f"{port.pci} {port.name} (MT4123 - MCX653105A-HDAT) ConnectX-6 VPI, HDR IB fw 20.28.1002"
            lines.append(
                f"{card} port {port.number} ({'ACTIVE' if port.active else 'DOWN  '}) ==> {port.net} ({up})"
            )
        else:
            lines.append(f"{port.name} port {port.number} ==> {port.net} ({up})")
    return "\n".join(lines) + "\n"
