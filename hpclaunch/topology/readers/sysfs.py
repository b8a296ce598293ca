"""The live machine, or a tree with copies of its /sys and /proc: what `machine` reads, and beside it what
only discovery needs: the interface of each port of an HCA, and the models of the devices.

The files are those of the kernel's Documentation/ABI (testing/sysfs-class-net) and of the NVIDIA driver's
README (proc/driver/nvidia/gpus/*/information).
"""

import os
import re

from hpclaunch.topology.machine import InfinibandDevice, Machine, entries, read_machine, text_of
from hpclaunch.topology.seen import CpuSeen, GpuSeen, HcaSeen, NumaSeen, Origin, Seen
from hpclaunch.values.errors import HpclaunchError, InputError

FORMAT = "sysfs"
_MODEL = re.compile(r"^Model:\s+(\S.*?)\s*$", re.MULTILINE)


def read_live(root: str = "/") -> Seen:
    """The machine whose /sys and /proc are under `root`.

    Raises InputError where /sys does not say which CPUs are on-line, or says what no kernel does.
    """
    try:
        machine = read_machine(root)
    except (HpclaunchError, ValueError, OverflowError) as error:
        raise InputError(f"{os.path.join(root, 'sys')}: {str(error)[:200]}") from None
    return Seen(
        origin=Origin(root, FORMAT),
        cpus=_cpus(machine, root),
        numa=_nodes(machine, root),
        gpus=_gpus(machine, root),
        hcas=tuple(port for hca in machine.hcas for port in _ports(hca, root)),
        cpu_count=len(machine.cpus),
        kib=machine.kib,
        paths={
            device.pci: device.path
            for device in (*machine.gpus, *(hca.device for hca in machine.hcas))
            if device.path
        },
    )


def _at(root: str, path: str) -> Origin:
    return Origin(os.path.join(root, path), FORMAT)


def _cpus(machine: Machine, root: str) -> tuple[CpuSeen, ...]:
    home = {cpu: memory.node for memory in machine.memories for cpu in memory.cpus}
    caches = {cpu: number for number, cache in enumerate(machine.caches) for cpu in cache}
    return tuple(
        CpuSeen(
            cpu.number,
            _at(root, f"sys/devices/system/cpu/cpu{cpu.number}"),
            socket=cpu.package,
            siblings=cpu.siblings,
            numa=home.get(cpu.number),
            l3=caches.get(cpu.number),
        )
        for cpu in machine.cpus
    )


def _nodes(machine: Machine, root: str) -> tuple[NumaSeen, ...]:
    numbers = [memory.node for memory in machine.memories]
    return tuple(
        NumaSeen(
            memory.node,
            _at(root, f"sys/devices/system/node/node{memory.node}"),
            memory.cpus,
            memory.kib,
            dict(zip(numbers, memory.distances, strict=True))
            if len(memory.distances) == len(numbers)
            else {},
        )
        for memory in machine.memories
    )


def _gpus(machine: Machine, root: str) -> tuple[GpuSeen, ...]:
    found = []
    for index, gpu in enumerate(machine.gpus):
        said = text_of(os.path.join(root, "proc/driver/nvidia/gpus", gpu.pci, "information"))
        model = _MODEL.search(said)
        found.append(
            GpuSeen(
                _at(root, f"sys/bus/pci/devices/{gpu.pci}"),
                index,
                gpu.pci,
                gpu.numa if gpu.numa >= 0 else None,
                model.group(1) if model else "",
                gpu.path,
            )
        )
    return tuple(found)


def _ports(hca: InfinibandDevice, root: str) -> list[HcaSeen]:
    path = f"sys/class/infiniband/{hca.name}"
    folder = os.path.join(root, path)
    return [
        HcaSeen(
            _at(root, path),
            name=hca.name,
            pci=hca.device.pci,
            numa=hca.device.numa if hca.device.numa >= 0 else None,
            port=port.number,
            link_layer=port.link_layer,
            rate_gbps=port.rate_gbps,
            state=port.state,
            netdev=_interface(os.path.join(folder, "device/net"), port.number),
            model=text_of(os.path.join(folder, "hca_type")),
            path=hca.device.path,
        )
        for port in hca.ports
    ]


def _interface(folder: str, port: int) -> str:
    """The one network interface of the port; of a card with two ports in one function, that of this one."""
    found = entries(folder)
    if len(found) > 1:
        found = [name for name in found if text_of(os.path.join(folder, name, "dev_port")) == str(port - 1)]
    return found[0] if len(found) == 1 else ""
