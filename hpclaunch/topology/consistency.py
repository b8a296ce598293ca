"""Whether a node type makes sense: what the form alone cannot say. A user's own file is checked like ours."""

from collections.abc import Iterator

from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType
from hpclaunch.topology import pci
from hpclaunch.values import cpulist
from hpclaunch.values.errors import Path, Problem


def problems(node_type: NodeType) -> tuple[Problem, ...]:
    """Everything about the node type that contradicts itself, each with the keys down to it."""
    found = (*_numa(node_type), *_devices(node_type), *_variants(node_type), *_distances(node_type))
    return tuple(Problem(message, "node type", path) for path, message in found)


_Found = Iterator[tuple[Path, str]]


def _numa(node_type: NodeType) -> _Found:
    if not node_type.numa:
        yield ("numa",), "a node type needs at least one NUMA node"
    seen: set[int] = set()
    cpus: dict[int, int] = {}
    for index, node in enumerate(node_type.numa):
        if node.node in seen:
            yield ("numa", index, "node"), f"NUMA node {node.node} stands here twice"
        seen.add(node.node)
        lengths = []
        for thread, text in enumerate(node.threads):
            path = ("numa", index, "threads", thread)
            try:
                numbers = cpulist.parse(text)
            except ValueError as error:
                yield path, str(error)
                continue
            lengths.append(len(numbers))
            if taken := sorted(cpus.keys() & numbers):
                where = cpus[taken[0]]
                yield path, f"CPU {cpulist.format_list(taken)} already belongs to NUMA node {where}"
            cpus.update(dict.fromkeys(numbers, node.node))
        if lengths != sorted(lengths, reverse=True):
            yield (
                ("numa", index, "threads"),
                "a later list is longer than the first: entry i of each list is one core, "
                "and cores with fewer threads come last",
            )


def _devices(node_type: NodeType) -> _Found:
    nodes = {node.node for node in node_type.numa}
    seen: set[str] = set()
    groups: dict[str, tuple[GpuSpec | HcaSpec, ...]] = {"gpus": node_type.gpus, "hcas": node_type.hcas}
    for key, devices in groups.items():
        for index, device in enumerate(devices):
            if not pci.is_address(device.pci):
                wanted = "a PCI address in full and in lower case, such as 0000:07:00.0"
                yield (key, index, "pci"), f"{device.pci!r} is not {wanted}"
            elif device.pci in seen:
                yield (key, index, "pci"), f"{device.pci} stands here twice"
            seen.add(device.pci)
            if device.numa not in nodes:
                known = cpulist.format_list(nodes)
                yield (key, index, "numa"), f"there is no NUMA node {device.numa}; there are {known}"
    # The index of a GPU is its place in this list, and CUDA_DEVICE_ORDER=PCI_BUS_ID counts by address.
    addresses = [gpu.pci for gpu in node_type.gpus if pci.is_address(gpu.pci)]
    if addresses != sorted(addresses, key=pci.order):
        yield ("gpus",), "the GPUs must stand in the order of their PCI addresses"


def _variants(node_type: NodeType) -> _Found:
    known = {hca.pci for hca in node_type.hcas}
    for name, variant in node_type.variants.items():
        for address in sorted(variant.names.keys() - known):
            yield ("variants", name, "names", address), f"there is no HCA at {address} under `hcas`"
        seen: set[str] = set()
        for address, device in variant.names.items():
            if device in seen:
                yield ("variants", name, "names", address), f"{device} stands twice in this variant"
            seen.add(device)
    defaults = [name for name, variant in node_type.variants.items() if variant.default]
    if len(defaults) > 1:
        yield ("variants", defaults[1], "default"), f"{defaults[0]} is the default already"
    if not defaults and len(node_type.variants) > 1:
        yield ("variants",), "one of the variants must have `default: true`"


def _distances(node_type: NodeType) -> _Found:
    size = len(node_type.numa)
    if node_type.distances and [len(row) for row in node_type.distances] != [size] * size:
        yield ("distances",), f"the matrix must have {size} rows of {size}, one for each NUMA node"
