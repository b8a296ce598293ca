"""NCCL's topology: what NCCL_TOPO_DUMP_FILE writes, and what NCCL_TOPO_FILE reads.

The form is that of src/graph/xml.cc and src/transport/net_ib.cc in NVIDIA/nccl. Three of its habits matter:
of the bridges it keeps only the upstream port of each switch; the functions of a network card are merged
under function 0, so that a second port's address is not told; and a dump has only the GPUs of its own job.
"""

import re

from hpclaunch.topology.readers import bitset, functions
from hpclaunch.topology.readers.xmltree import Element, NotXml, parse
from hpclaunch.topology.seen import GpuSeen, HcaSeen, NumaSeen, Origin, Seen
from hpclaunch.values import pci
from hpclaunch.values.errors import InputError

FORMAT = "NCCL topology"


def looks_like(text: str) -> bool:
    """Whether this is in the form of NCCL's topology files."""
    return re.search(r"<system\b[^>]*>\s*<cpu\s", text) is not None


def read(text: str, file: str) -> Seen:
    """What the dump tells. Raises InputError where the XML is broken or unsafe, or shows several machines."""
    try:
        return _Dump(parse(text, "system"), file).seen()
    except NotXml as error:
        raise InputError(f"{file}: cannot be read as {FORMAT}: {error}") from None


class _Dump:
    def __init__(self, root: Element, file: str):
        self.root = root
        self.file = file
        self.unread: list[str] = []
        self.numa: dict[int, NumaSeen] = {}
        self.gpus: list[GpuSeen] = []
        self.hcas: list[HcaSeen] = []
        hosts = {cpu.get("host_hash") for cpu in root.children if cpu.get("host_hash")}
        if len(hosts) > 1:
            raise NotXml(f"it shows {len(hosts)} machines; dump with ranks on one node")

    def seen(self) -> Seen:
        for cpu in self.root.children:
            if cpu.tag == "cpu":
                self._cpu(cpu)
        return Seen(
            origin=Origin(self.file, FORMAT),
            numa=tuple(self.numa[node] for node in sorted(self.numa)),
            gpus=tuple(sorted(self.gpus, key=lambda gpu: pci.order(gpu.pci))),
            hcas=tuple(sorted(self.hcas, key=lambda hca: (hca.pci == "", hca.pci, hca.name))),
            unread=tuple(self.unread),
        )

    def _at(self, element: Element) -> Origin:
        return Origin(self.file, FORMAT, element.line)

    def _cpu(self, element: Element) -> None:
        text = element.get("numaid")
        numa = int(text) if re.fullmatch(r"[0-9]{1,5}", text) else None  # "-1" where the kernel does not say
        if numa is not None:
            cpus = None
            try:
                cpus = bitset.numbers(element.get("affinity")) or None
            except ValueError:
                if element.get("affinity"):
                    self.unread.append(f"{self.file}:{element.line}: the affinity is not a CPU mask")
            if numa in self.numa and self.numa[numa].cpus != cpus:
                raise NotXml(f"line {element.line}: NUMA node {numa} stands twice, with other CPUs")
            self.numa[numa] = NumaSeen(numa, self._at(element), cpus)
        waiting: list[tuple[Element, tuple[str, ...]]] = [(child, ()) for child in element.children]
        while waiting:
            each, path = waiting.pop()
            if each.tag == "pci":
                waiting += [
                    (child, below) for below in [self._pci(each, path, numa)] for child in each.children
                ]
            elif each.tag == "nic":
                self._nets(each, functions.Function("", each.line), numa)

    def _pci(self, element: Element, path: tuple[str, ...], numa: int | None) -> tuple[str, ...]:
        """Notes the device; returns the path of what is below it."""
        busid = functions.address(element.get("busid"))
        if not busid:
            self.unread.append(
                f"{self.file}:{element.line}: {element.get('busid')[:40]!r} is not a PCI address"
            )
            return path
        code = element.get("class").removeprefix("0x")[:4].lower()
        vendor = element.get("vendor").removeprefix("0x").lower()
        function = functions.Function(busid, element.line, code, vendor, path=path)
        tags = [child.tag for child in element.children]
        # A file for NCCL_TOPO_FILE has classes alone; in a dump the children say what a device is.
        if "gpu" in tags or (code in ("0300", "0302") and vendor in ("", functions.NVIDIA)):
            self.gpus.append(GpuSeen(self._at(element), None, busid, numa, "", path))
        elif "nic" in tags:
            for nic in element.children:
                if nic.tag == "nic":
                    self._nets(nic, function, numa)
            element.children = []
        elif code in ("0207", "0200") and vendor in ("", functions.MELLANOX):
            self.hcas.append(self._hca(element, function, numa))
        elif code == "0604" or "pci" in tags:
            return (*path, busid)
        return path

    def _nets(self, nic: Element, function: functions.Function, numa: int | None) -> None:
        """The verbs devices of a card. `port` is the port's number plus how many functions of the card
        stood before it; without a port it is a socket interface."""
        for net in nic.children:
            port = net.get("port")
            if net.tag != "net" or re.fullmatch(r"[1-9][0-9]?", port) is None or not net.get("name"):
                continue
            first = port == "1" and function.pci != ""
            if not first:
                self.unread.append(
                    f"{self.file}:{net.line}: NCCL merges the functions of a card: "
                    f"the PCI address of {net.get('name')} is not told"
                )
            card = function if first else functions.Function("", net.line, function.code)
            self.hcas.append(self._hca(net, card, numa, net.get("name"), net.get("speed")))

    def _hca(
        self, element: Element, card: functions.Function, numa: int | None, name: str = "", speed: str = ""
    ) -> HcaSeen:
        mbps = int(speed) if re.fullmatch(r"[0-9]{1,9}", speed) else 0
        return HcaSeen(
            self._at(element),
            name=name,
            pci=card.pci,
            numa=numa,
            port=1 if name else None,
            link_layer=functions.link_layer(card.code) if card.pci else "",
            rate_gbps=mbps // 1000 or None,
            path=card.path,
        )
