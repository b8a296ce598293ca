"""A machine as its kernel shows it in /sys and /proc. Only reads files; `local` makes a node type of it.

The files are those of the kernel's Documentation/ABI: stable/sysfs-devices-node,
stable/sysfs-devices-system-cpu, testing/sysfs-bus-pci and stable/sysfs-class-infiniband.
"""

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from hpclaunch.values import cpulist, pci
from hpclaunch.values.errors import HpclaunchError

_NVIDIA = "0x10de"
# Classes of PCI that a data centre or a display GPU has: VGA controller and 3D controller.
_GPU_CLASSES = ("0x0300", "0x0302")

_RATE = re.compile(r"([0-9]{1,6})(?:\.[0-9]+)?\s")  # "200 Gb/sec (4X HDR)"


class Cpu(Struct, frozen=True):
    """An online CPU: its package (socket) and all CPUs of its core, itself among them."""

    number: int
    package: int
    siblings: tuple[int, ...]


class Memory(Struct, frozen=True):
    """A NUMA node. `cpus` are its online CPUs, none where it has memory alone; `distances` are in the
    order of the machine's nodes, or empty; `kib` is its memory, None where it is not said."""

    node: int
    cpus: tuple[int, ...]
    distances: tuple[int, ...]
    kib: int | None


class Device(Struct, frozen=True):
    """A PCI device. `numa` is -1 where the firmware does not say. `path` are the bridges above it, from the
    root port down, none for a device on the root complex itself."""

    pci: str
    numa: int
    path: tuple[str, ...]


class Port(Struct, frozen=True):
    """A port of an HCA. `state` is the kernel's word (ACTIVE, DOWN), "" where it is not said; `rate_gbps` is
    None where it is not said, and where the port is down: then the kernel says the slowest that there is."""

    number: int
    state: str
    link_layer: str
    rate_gbps: int | None


class InfinibandDevice(Struct, frozen=True):
    """An entry of /sys/class/infiniband, with one port or more, rising in number."""

    name: str
    device: Device
    ports: tuple[Port, ...]


class Machine(Struct, frozen=True):
    """What the kernel shows. CPUs and NUMA nodes rise in number, devices in PCI address. Every CPU is in
    exactly one of the NUMA nodes. `caches` are the CPUs behind each L3, none where there is no L3."""

    cpus: tuple[Cpu, ...]
    memories: tuple[Memory, ...]
    gpus: tuple[Device, ...]
    hcas: tuple[InfinibandDevice, ...]
    kib: int | None
    caches: tuple[tuple[int, ...], ...] = ()


def read_machine(root: str = "/") -> Machine:
    """The machine whose /sys and /proc are under `root`. A machine without NUMA gets one node, 0.

    Raises HpclaunchError where /sys does not say which CPUs are online (it is not mounted, or not Linux).
    """
    cpus = _cpus(os.path.join(root, "sys/devices/system/cpu"))
    kib = _mem_total(os.path.join(root, "proc/meminfo"))
    memories = _memories(os.path.join(root, "sys/devices/system/node"), cpus)
    return Machine(
        cpus=cpus,
        memories=memories or (Memory(0, tuple(cpu.number for cpu in cpus), (), kib),),
        gpus=_gpus(root),
        hcas=_hcas(os.path.join(root, "sys/class/infiniband")),
        kib=kib,
        caches=_caches(os.path.join(root, "sys/devices/system/cpu"), cpus),
    )


def _cpus(folder: str) -> tuple[Cpu, ...]:
    online = text_of(os.path.join(folder, "online"))
    if not online:
        raise HpclaunchError(f"cannot read this machine: {folder}/online is missing or empty")
    found = []
    for number in cpulist.parse(online):
        topology = os.path.join(folder, f"cpu{number}", "topology")
        siblings = cpulist.parse(text_of(os.path.join(topology, "thread_siblings_list"))) or (number,)
        # -1 stands for "not known" on some virtual machines.
        package = max(_number(os.path.join(topology, "physical_package_id"), 0), 0)
        found.append(Cpu(number, package, tuple(sorted(siblings))))
    return tuple(found)


def _caches(folder: str, cpus: tuple[Cpu, ...]) -> tuple[tuple[int, ...], ...]:
    """The CPUs behind each L3. Only the first CPU of a cache is asked, since a machine has hundreds; one
    whose first CPU has no L3 has none."""
    found: list[tuple[int, ...]] = []
    behind: set[int] = set()
    for cpu in cpus:
        if cpu.number in behind:
            continue
        cache = os.path.join(folder, f"cpu{cpu.number}", "cache")
        index = next((entry for entry in _by_likelihood(cache) if _is_l3(os.path.join(cache, entry))), "")
        shared = cpulist.parse(text_of(os.path.join(cache, index, "shared_cpu_list"))) if index else ()
        if shared:
            found.append(tuple(sorted(shared)))
            behind.update(shared)
        elif not found:
            return ()
    return tuple(found)


def _by_likelihood(cache: str) -> Iterator[str]:
    yield "index3"
    yield from (entry for entry in entries(cache) if entry.startswith("index"))


def _is_l3(index: str) -> bool:
    return text_of(os.path.join(index, "level")) == "3"


def _memories(folder: str, cpus: tuple[Cpu, ...]) -> tuple[Memory, ...]:
    numbers = sorted(int(entry[4:]) for entry in entries(folder) if re.fullmatch(r"node\d+", entry))
    paths = [os.path.join(folder, f"node{number}") for number in numbers]
    listed = [frozenset(cpulist.parse(text_of(os.path.join(path, "cpulist")))) for path in paths]
    homes: list[list[int]] = [[] for _ in numbers]
    for cpu in cpus if numbers else ():
        homes[_home(cpu, cpus, listed)].append(cpu.number)
    return tuple(
        Memory(
            node=number,
            cpus=tuple(home),
            distances=tuple(int(word) for word in text_of(os.path.join(path, "distance")).split()),
            kib=_mem_total(os.path.join(path, "meminfo")),
        )
        for number, path, home in zip(numbers, paths, homes, strict=True)
    )


def _home(cpu: Cpu, cpus: tuple[Cpu, ...], listed: list[frozenset[int]]) -> int:
    """The index of the one NUMA node of a CPU. Broken firmware lists a CPU in several nodes, and a node
    that is offline leaves its CPUs in none: those count with a neighbour of their package."""
    for index, numbers in enumerate(listed):
        if cpu.number in numbers:
            return index
    package = {other.number for other in cpus if other.package == cpu.package}
    return next((index for index, numbers in enumerate(listed) if numbers & package), 0)


def _gpus(root: str) -> tuple[Device, ...]:
    folder = os.path.join(root, "sys/bus/pci/devices")
    found = []
    for address in entries(folder):
        path = os.path.join(folder, address)
        # The class is the cheapest question that leaves out almost every device.
        if not text_of(os.path.join(path, "class")).startswith(_GPU_CLASSES):
            continue
        if text_of(os.path.join(path, "vendor")) != _NVIDIA:
            continue
        # A GPU given to a virtual machine has the driver vfio-pci and cannot be used here.
        driver = os.path.basename(os.path.realpath(os.path.join(path, "driver")))
        if driver == "nvidia" or os.path.isdir(os.path.join(root, "proc/driver/nvidia/gpus", address)):
            found.append(_device(path))
    return tuple(sorted(found, key=lambda device: pci.order(device.pci)))


def _hcas(folder: str) -> tuple[InfinibandDevice, ...]:
    found = []
    for name in entries(folder):
        path = os.path.join(folder, name)
        device = _device(os.path.join(path, "device"))
        ports = sorted(int(port) for port in entries(os.path.join(path, "ports")) if port.isdecimal())
        # Software devices (rxe, siw) are on no PCI device, and one without a port carries nothing.
        if not pci.is_address(device.pci) or not ports:
            continue
        found.append(InfinibandDevice(name, device, tuple(_port(path, number) for number in ports)))
    return tuple(sorted(found, key=lambda hca: (pci.order(hca.device.pci), hca.name)))


def _port(hca: str, number: int) -> Port:
    folder = os.path.join(hca, "ports", str(number))
    state = text_of(os.path.join(folder, "state")).partition(":")[2].strip()  # "4: ACTIVE"
    rate = _RATE.match(text_of(os.path.join(folder, "rate"))) if state in ("", "ACTIVE") else None
    return Port(
        number=number,
        state=state,
        link_layer=text_of(os.path.join(folder, "link_layer")),
        rate_gbps=int(rate.group(1)) if rate else None,
    )


def _device(path: str) -> Device:
    """The device behind a link of sysfs: its real path names every bridge above it."""
    real = os.path.realpath(path)
    above = [part for part in real.split("/")[:-1] if pci.is_address(part)]
    numa = _number(os.path.join(real, "numa_node"), -1)
    return Device(os.path.basename(real), numa, tuple(above))


def entries(folder: str) -> list[str]:
    """The names in a folder, none where it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def text_of(file: str) -> str:
    """What a file of /sys or /proc says, "" where it cannot be read."""
    try:
        with open(file, encoding="ascii", errors="replace") as stream:
            return stream.read().strip(" \n\0")
    except OSError:
        return ""


def _number(file: str, otherwise: int) -> int:
    text = text_of(file)
    return int(text) if re.fullmatch(r"-?\d+", text) else otherwise


def _mem_total(file: str) -> int | None:
    match = re.search(r"MemTotal:\s+(\d+) kB", text_of(file))
    return int(match.group(1)) if match else None
