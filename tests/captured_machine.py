"""The machine of a node type as captures of it show it: names, cores, and bridges that nobody has published.

Bridges are made up so that devices of one switch share a root port, and devices of one inner switch an inner
upstream port.
"""

from collections.abc import Iterator

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


def tree_of(machine: NodeType) -> Tree:
    """The bridges and devices as nested maps, root ports first."""
    tree: Tree = {}
    for pci, path in paths(machine).items():
        at = tree
        for bridge in path:
            at = at.setdefault(bridge, {})
        at[pci] = {}
    return tree
