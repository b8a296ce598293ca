"""Builds the part of /sys and /proc that hpclaunch reads, in the shape that real kernels give it.

The shapes follow hwloc's collection of real trees (open-mpi/hwloc, tests/hwloc/linux): devices under
sys/devices with one folder for each bridge, and links to them from sys/bus and sys/class.
"""

from pathlib import Path


class SysfsTree:
    """A tree under `root`. Each method adds one thing, as the kernel would show it."""

    def __init__(self, root: Path, online: str):
        self.root = root
        self.write("sys/devices/system/cpu/online", online)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def link(self, path: str, target: Path) -> None:
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def core(self, siblings: str, package: int, *cpus: int) -> None:
        """The online CPUs of one core. An offline CPU has no `topology`, and no sibling names it."""
        for cpu in cpus:
            folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
            self.write(f"{folder}/thread_siblings_list", siblings)
            self.write(f"{folder}/physical_package_id", str(package))

    def cache(self, cpu: int, index: int, level: int, shared: str) -> None:
        """A cache of a CPU, and the CPUs that are behind it."""
        folder = f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
        self.write(f"{folder}/level", str(level))
        self.write(f"{folder}/shared_cpu_list", shared)

    def node(self, number: int, cpulist: str, distance: str, kib: int = 32 * 1024 * 1024) -> None:
        folder = f"sys/devices/system/node/node{number}"
        self.write(f"{folder}/cpulist", cpulist)
        self.write(f"{folder}/distance", distance)
        self.write(
            f"{folder}/meminfo", f"Node {number} MemTotal:       {kib} kB\nNode {number} MemFree: 1 kB"
        )

    def pci(self, *route: str, vendor: str, device_class: str, numa: int, driver: str = "") -> Path:
        """A PCI device. `route` are the bridges from the root complex down, and last its own address."""
        folder = self.root / "sys/devices" / f"pci{route[0][:7]}" / Path(*route)
        for name, text in (("vendor", vendor), ("class", device_class), ("numa_node", str(numa))):
            self.write(str(folder.relative_to(self.root) / name), text)
        self.link(f"sys/bus/pci/devices/{route[-1]}", folder)
        if driver:
            target = self.root / "sys/bus/pci/drivers" / driver
            target.mkdir(parents=True, exist_ok=True)
            (folder / "driver").symlink_to(target)
        return folder

    def gpu(self, *route: str, numa: int, driver: str = "nvidia", device_class: str = "0x030200") -> None:
        self.pci(*route, vendor="0x10de", device_class=device_class, numa=numa, driver=driver)

    def hca(
        self,
        name: str,
        *route: str,
        numa: int,
        link_layer: str = "InfiniBand",
        rate: str = "200 Gb/sec (4X HDR)",
        ports: tuple[int, ...] = (1,),
        state: str = "4: ACTIVE",
        net: str = "",
    ) -> None:
        folder = self.pci(*route, vendor="0x15b3", device_class="0x020700", numa=numa, driver="mlx5_core")
        own = folder / "infiniband" / name
        for port in ports:
            base = str(own.relative_to(self.root) / "ports" / str(port))
            self.write(f"{base}/link_layer", link_layer)
            self.write(f"{base}/rate", rate)
            self.write(f"{base}/state", state)
        if net:
            (folder / "net" / net).mkdir(parents=True)
        own.mkdir(parents=True, exist_ok=True)
        (own / "device").symlink_to(folder)
        self.link(f"sys/class/infiniband/{name}", own)
