"""hwloc's XML (`lstopo out.xml`), versions 1, 2 and 3.

The form is that of hwloc.dtd (1.x) and hwloc2.dtd (2.0 to 3.0) and of topology-xml.c in hwloc. Version 1 has
NUMA nodes above the cores and distances inside objects; 2 and 3 have NUMA nodes as memory children and
`distances2` after the objects. OS devices are numbers to version 2 (3 is OpenFabrics) and bits in 3 (32).
"""

import re
from collections import Counter
from collections.abc import Iterator

from hpclaunch.topology.readers import bitset
from hpclaunch.topology.readers.hwloc_devices import Devices
from hpclaunch.topology.readers.xmltree import Element, NotXml, parse
from hpclaunch.topology.seen import CpuSeen, NumaSeen, Origin, Seen
from hpclaunch.values.cpulist import HIGHEST
from hpclaunch.values.errors import InputError

FORMAT = "hwloc XML"
_PACKAGES = (1 << 31) - 1  # firmware numbers sockets as it likes: 131072 was seen on Itanium


def looks_like(text: str) -> bool:
    """Whether hwloc wrote this."""
    return re.search(r"<topology\b[^>]*>\s*<object\s", text) is not None


def read(text: str, file: str) -> Seen:
    """What the topology tells. Raises InputError where the XML is broken, unsafe, or not hwloc's."""
    try:
        return _Topology(parse(text, "topology"), file).seen()
    except NotXml as error:
        raise InputError(f"{file}: cannot be read as {FORMAT}: {error}") from None


class _Topology:
    """One reading: the tree, and what is worth telling the user."""

    def __init__(self, root: Element, file: str):
        self.root = root
        self.file = file
        self.major = root.get("version").partition(".")[0]
        if self.major not in ("", "1", "2", "3"):
            raise NotXml(f"line {root.line}: version {root.get('version')} is not known; 1 to 3 are")
        if sum(1 for _ in self._objects("Machine")) > 1:
            raise NotXml("it shows several machines; capture one node")
        self.unread: list[str] = []

    def seen(self) -> Seen:
        numa = self._numa()
        cpus = self._cpus(numa)
        devices = Devices(self.root, Origin(self.file, FORMAT), bits=self.major == "3")
        models = [info.get("value") for info in self.root.walk() if info.get("name") == "CPUModel"]
        return Seen(
            origin=Origin(self.file, FORMAT),
            cpus=cpus,
            numa=numa,
            gpus=tuple(devices.gpus),
            hcas=tuple(devices.hcas),
            model=models[0] if models else "",
            paths=devices.paths,
            unread=tuple(self.unread),
        )

    def _at(self, element: Element) -> Origin:
        return Origin(self.file, FORMAT, element.line)

    def _objects(self, *types: str) -> Iterator[Element]:
        return (each for each in self.root.walk() if each.tag == "object" and each.get("type") in types)

    def _set(self, element: Element, name: str) -> tuple[int, ...]:
        """A bit set of hwloc: "0x0000ff00,0x00000001"."""
        text = element.get(name)
        if not text or "f...f" in text:  # hwloc's form of an infinite set
            return ()
        try:
            return bitset.numbers(text)
        except ValueError:
            raise NotXml(f"line {element.line}: {name} {text[:40]!r} is not a bit set") from None

    def _number(self, element: Element, name: str, most: int = HIGHEST) -> int:
        text = element.get(name)
        if re.fullmatch(r"[0-9]{1,18}", text) is None or int(text) > most:
            raise NotXml(f"line {element.line}: {name} {text[:40]!r} is not a number up to {most}")
        return int(text)

    def _numa(self) -> tuple[NumaSeen, ...]:
        found = list(self._objects("NUMANode"))
        if not found:
            return self._one_node()
        numbers = [self._number(each, "os_index") for each in found]
        if len(set(numbers)) != len(numbers):
            raise NotXml(f"line {found[0].line}: two NUMA nodes have one number")
        shared = Counter(cpu for each in found for cpu in self._set(each, "cpuset"))
        present = {self._number(each, "os_index") for each in self._objects("PU")}
        distances = self._distances(found, numbers)
        nodes = []
        for number, each in zip(numbers, found, strict=True):
            cpus: tuple[int, ...] | None = tuple(c for c in self._set(each, "cpuset") if c in present)
            if any(shared[cpu] > 1 for cpu in cpus or ()):
                # Memory without CPUs of its own (HBM, CXL) has the CPUs beside it here.
                self.unread.append(
                    f"{self.file}:{each.line}: NUMA node {number} shares its CPUs with another; "
                    "which of them the kernel gives them is not told"
                )
                cpus = None
            nodes.append(NumaSeen(number, self._at(each), cpus, self._kib(each), distances.get(number, {})))
        return tuple(sorted(nodes, key=lambda node: node.node))

    def _kib(self, element: Element) -> int | None:
        if not element.get("local_memory"):
            return None
        return self._number(element, "local_memory", 1 << 56) // 1024 or None

    def _one_node(self) -> tuple[NumaSeen, ...]:
        """Version 1 has no NUMA node for a machine without NUMA; later ones always have one."""
        if self.root.get("version") or not self.root.children:
            return ()
        machine = self.root.children[0]
        cpus = tuple(sorted(self._number(each, "os_index") for each in self._objects("PU")))
        return (NumaSeen(0, self._at(machine), cpus, self._kib(machine)),) if cpus else ()

    def _distances(self, found: list[Element], numbers: list[int]) -> dict[int, dict[int, int]]:
        """Node -> node -> distance, as firmware says it. Made-up and measured matrices are left out."""
        for each in self.root.children:
            if each.tag != "distances2" or each.get("type") != "NUMANode" or each.get("indexing") != "os":
                continue
            # hwloc.h: bit 0 of kind says "from the OS", bit 2 "latency".
            kind = self._number(each, "kind")
            if each.get("name") not in ("", "NUMALatency") or kind & 5 != 5:
                continue
            order = self._numbers(each, "indexes")
            return self._matrix(each, order, self._numbers(each, "u64values"))
        for owner in self._objects("Machine", "System"):
            for each in owner.children:
                if each.tag == "distances" and self._level(owner, each) == found:
                    return self._matrix(each, numbers, self._latencies(each))
        return {}

    def _level(self, owner: Element, distances: Element) -> list[Element]:
        level = [owner]
        for _ in range(min(self._number(distances, "relative_depth"), 30)):
            level = [
                child
                for each in level
                for child in each.children
                if child.tag == "object" and child.get("type") not in ("Bridge", "PCIDev", "OSDev", "Misc")
            ]
        return level

    def _latencies(self, element: Element) -> list[int]:
        try:
            base = float(element.get("latency_base"))
            values = [float(each.get("value")) * base for each in element.children]
            return [round(value) for value in values]
        except (ValueError, OverflowError):
            raise NotXml(f"line {element.line}: a latency is not a number") from None

    def _numbers(self, element: Element, tag: str) -> list[int]:
        words = " ".join(child.text for child in element.children if child.tag == tag).split()
        if not all(re.fullmatch(r"[0-9]{1,18}", word) for word in words):
            raise NotXml(f"line {element.line}: {tag} holds something else than numbers")
        return [int(word) for word in words]

    def _matrix(self, element: Element, order: list[int], values: list[int]) -> dict[int, dict[int, int]]:
        size = len(order)
        if len(values) != size * size or min(values, default=1) < 1:
            self.unread.append(f"{self.file}:{element.line}: {len(values)} distances for {size} NUMA nodes")
            return {}
        rows = [values[row * size : (row + 1) * size] for row in range(size)]
        return {node: dict(zip(order, row, strict=True)) for node, row in zip(order, rows, strict=True)}

    def _cpus(self, numa: tuple[NumaSeen, ...]) -> tuple[CpuSeen, ...]:
        packages = self._owners(
            [(self._number(e, "os_index", _PACKAGES), e) for e in self._objects("Package", "Socket")]
        )
        caches = list(self._objects("L3Cache"))
        caches += [e for e in self._objects("Cache") if e.get("depth") == "3"]
        l3 = self._owners(list(enumerate(caches)))
        cores = {cpu: core for e in self._objects("Core") for core in (self._pus(e),) for cpu in core}
        nodes = {cpu: node.node for node in numa for cpu in node.cpus or ()}
        found: dict[int, CpuSeen] = {}
        for each in self._objects("PU"):
            number = self._number(each, "os_index")
            if number in found:
                raise NotXml(f"line {each.line}: PU {number} stands twice")
            found[number] = CpuSeen(
                number,
                self._at(each),
                socket=packages.get(number),
                siblings=cores.get(number, ()),
                numa=nodes.get(number),
                l3=l3.get(number),
            )
        return tuple(found[number] for number in sorted(found))

    def _pus(self, element: Element) -> tuple[int, ...]:
        below = (each for each in element.walk() if each.get("type") == "PU")
        return tuple(sorted(self._number(each, "os_index") for each in below))

    def _owners(self, objects: list[tuple[int, Element]]) -> dict[int, int]:
        return {cpu: number for number, each in objects for cpu in self._set(each, "cpuset")}
