"""Captures in XML of a machine that never was: hwloc's and NCCL's, as `captured` has those in text."""

from collections.abc import Iterable, Iterator

from captured_machine import Device, Tree, names, node_cpus, paths, present, tree_of

from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import model
from hpclaunch.values import cpulist


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
                for root, below in tree_of(machine).items()
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
