"""A made-up node for the rank wrapper: the files of /sys, /proc and /dev that it reads, as kernels and
drivers write them, and stand-ins for taskset and numactl, which cannot bind what this machine lacks."""

import os
import stat
from pathlib import Path

# Field names and spacing as in /proc/self/status and the NVIDIA driver's `information`.
STATUS = "Name:\tsh\nUmask:\t0022\nState:\tR (running)\nPid:\t77\nCpus_allowed:\tff,ffffffff\n"
INFORMATION = (
    "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 411\nBus Location: \t {pci}\nDevice Minor: \t {minor}\n"
)


class Node:
    """A node under `root`. Each method adds one thing."""

    def __init__(self, root: Path):
        self.root = root
        self.tools = root / "stand-ins"
        self.write("proc/sys/kernel/hostname", "dgx004")
        self.stand_in("taskset", 'printf %s "$2" >"${0%/*}/cores"')
        self.stand_in("numactl", 'printf %s "$1" >"${0%/*}/policy"; shift 2; exec "$@"')

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
        return file

    def stand_in(self, tool: str, script: str) -> None:
        file = self.write(f"stand-ins/{tool}", f"#!/bin/sh\n{script}")
        file.chmod(0o755)

    def allowed(self, cpus: str) -> None:
        """The CPUs that the kernel lets the rank use."""
        self.write("proc/self/status", f"{STATUS}Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-7")

    def cpus(self, online: str, nodes: dict[int, str], siblings: dict[int, str]) -> None:
        self.write("sys/devices/system/cpu/online", online)
        for number, cpulist in nodes.items():
            self.write(f"sys/devices/system/node/node{number}/cpulist", cpulist)
        for cpu, text in siblings.items():
            self.write(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", text)

    def gpu(self, pci: str, minor: int, *, numa: int = 0, opens: bool = True) -> None:
        self.write(f"proc/driver/nvidia/gpus/{pci}/information", INFORMATION.format(pci=pci, minor=minor))
        self.write(f"sys/bus/pci/devices/{pci}/numa_node", str(numa))
        self.device(f"dev/nvidia{minor}", opens)

    def hca(
        self,
        name: str,
        pci: str,
        uverbs: int | None,
        *,
        numa: int = 0,
        state: str = "4: ACTIVE",
        link: str = "InfiniBand",
        ports: tuple[int, ...] = (1,),
        opens: bool = True,
    ) -> None:
        """`uverbs` None: the kernel's module for verbs is not loaded."""
        function = f"sys/devices/pci0000:00/0000:00:01.0/{pci}"
        self.write(f"{function}/numa_node", str(numa))
        for port in ports:
            self.write(f"{function}/infiniband/{name}/ports/{port}/state", state)
            self.write(f"{function}/infiniband/{name}/ports/{port}/link_layer", link)
        (self.root / function / "infiniband" / name / "device").symlink_to(f"../../../{pci}")
        entry = self.root / "sys/class/infiniband" / name
        entry.parent.mkdir(parents=True, exist_ok=True)
        entry.symlink_to(self.root / function / "infiniband" / name)
        address = self.root / "sys/bus/pci/devices" / pci
        address.parent.mkdir(parents=True, exist_ok=True)
        address.symlink_to(self.root / function)
        if uverbs is not None:
            self.write(f"{function}/infiniband_verbs/uverbs{uverbs}/ibdev", name)
            self.device(f"dev/infiniband/uverbs{uverbs}", opens)

    def device(self, path: str, opens: bool) -> None:
        """Root opens every file, whatever its mode; a socket opens for nobody, as a device that a cgroup
        refuses."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if opens:
            file.touch()
        else:
            os.mknod(file, stat.S_IFSOCK | 0o600)

    def cores(self) -> str | None:
        """What the stand-in for taskset was asked for, and forgets it."""
        return self._take("cores")

    def policy(self) -> str | None:
        """What the stand-in for numactl was asked for, and forgets it."""
        return self._take("policy")

    def _take(self, name: str) -> str | None:
        file = self.tools / name
        if not file.exists():
            return None
        text = file.read_text()
        file.unlink()
        return text
