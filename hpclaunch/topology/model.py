"""What follows from a node type: cores, sockets, distances, and the HCAs by name."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile, zip_longest

from hpclaunch.spec.nodetype import HcaSpec, NodeType, NumaNode, Variant
from hpclaunch.values import cpulist, pci
from hpclaunch.values.errors import InputError
from hpclaunch.values.placement import Hca

# Linux's LOCAL_DISTANCE, and what firmware usually says for the rest (two EPYCs in NPS4). Only the order
# matters: it decides which NUMA node is nearer.
_SAME_NODE, _SAME_SOCKET, _OTHER_SOCKET = 10, 12, 32


def cores(node_type: NodeType, numa: int) -> tuple[tuple[int, ...], ...]:
    """The cores of a NUMA node in CPU order, each as its sibling CPUs: ((48, 176), (49, 177), ...).

    A NUMA node that is memory alone has none. Raises InputError for one that the type does not have.
    """
    return _cores(_numa(node_type, numa).threads)


def thread_lists(cores: Iterable[Sequence[int]]) -> tuple[str, ...]:
    """`threads` of a NUMA node with these cores, as `cores` reads them back: a CPU list for each hardware
    thread, such that entry i of each list belongs to one core.

    Cores with more threads come first: a core that lacks its second thread would otherwise shift all
    siblings after it.
    """
    ordered = sorted(cores, key=lambda core: (-len(core), core))
    width = len(ordered[0]) if ordered else 0
    return tuple(cpulist.format_in_order(core[i] for core in ordered if len(core) > i) for i in range(width))


def cpu_count(node_type: NodeType) -> int:
    """How many CPUs (hardware threads) the node type has."""
    return sum(len(core) for node in node_type.numa for core in _cores(node.threads))


def socket_of(node_type: NodeType, numa: int) -> int:
    """The socket of a NUMA node. Raises InputError for one that the type does not have."""
    return _numa(node_type, numa).socket


def distance(node_type: NodeType, numa_a: int, numa_b: int) -> int:
    """The NUMA distance as the kernel gives it, 10 for a node to itself. A type without a matrix has 10,
    12 within a socket, 32 across. Raises InputError for a NUMA node that the type does not have."""
    a, b = _numa(node_type, numa_a), _numa(node_type, numa_b)
    if node_type.distances:
        return node_type.distances[node_type.numa.index(a)][node_type.numa.index(b)]
    if a.node == b.node:
        return _SAME_NODE
    return _SAME_SOCKET if a.socket == b.socket else _OTHER_SOCKET


def caches(node_type: NodeType, numa: int) -> tuple[frozenset[int], ...]:
    """The CPUs behind each last-level cache of a NUMA node, () where the type does not tell them. Raises
    InputError for a NUMA node that the type does not have."""
    return tuple(frozenset(cpulist.parse(text)) for text in _numa(node_type, numa).l3)


def memory_gib(node_type: NodeType) -> int | None:
    """What is fitted in all, None where the type does not tell."""
    return node_type.memory_gib or sum(node.memory_gib or 0 for node in node_type.numa) or None


def switches_in_common(path_a: str, path_b: str) -> int:
    """How many PCI switches two devices hang on together, from the CPU outwards: "pex0/1" and "pex0/0" are
    both on one."""
    if not path_a or not path_b:
        return 0
    together = zip(path_a.split("/"), path_b.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda parts: parts[0] == parts[1], together))


def device_names(node_type: NodeType, variant: str | None) -> Mapping[str, str]:
    """PCI address -> device name of the HCAs that this variant has; none for a type without variants. None
    is the default variant. Raises InputError for a variant that the type does not have, with those that it
    has."""
    return variant_of(node_type, variant).names if node_type.variants or variant else {}


def hcas(node_type: NodeType, variant: str | None) -> tuple[HcaSpec, ...]:
    """The HCAs that this variant has, in PCI order; all of a type without variants. Raises InputError as
    `device_names` does."""
    names = device_names(node_type, variant)
    present = (hca for hca in node_type.hcas if hca.pci in names or not node_type.variants)
    return tuple(sorted(present, key=lambda hca: pci.order(hca.pci)))


def named_hcas(node_type: NodeType, variant: str | None) -> tuple[Hca, ...]:
    """The compute HCAs that this variant has, in PCI order, with their device names. Raises InputError as
    `device_names` does."""
    names = device_names(node_type, variant)
    return tuple(
        Hca(name=names[hca.pci], pci=hca.pci, numa=hca.numa, port=hca.port, link_layer=hca.link_layer)
        for hca in hcas(node_type, variant)
        if hca.use == "compute" and hca.pci in names
    )


def visible_devices(node_type: NodeType, variant: str | None) -> tuple[int, ...]:
    """The numbers of the compute HCAs among all Mellanox functions of this variant, storage ones too, as
    Enroot's hook 99-mellanox.sh counts them: as the shell sorts /sys/bus/pci/drivers/mlx?_core/*. Raises
    InputError as `device_names` does."""
    compute = {hca.pci for hca in named_hcas(node_type, variant)}
    addresses = sorted(device_names(node_type, variant))
    return tuple(number for number, address in enumerate(addresses) if address in compute)


def variant_of(node_type: NodeType, variant: str | None) -> Variant:
    """The variant of this name, None for the default one. Raises InputError where the type has none such."""
    variants = node_type.variants
    if variant is None:
        defaults = [each for each in variants.values() if each.default] or list(variants.values())
        if len(defaults) == 1:
            return defaults[0]
        raise InputError(f"name a variant of the node type {node_type.name}: {', '.join(variants)}")
    if variant not in variants:
        known = ", ".join(variants) or "none"
        raise InputError(f"the node type {node_type.name} has no variant {variant!r}; it has: {known}")
    return variants[variant]


def _numa(node_type: NodeType, numa: int) -> NumaNode:
    for node in node_type.numa:
        if node.node == numa:
            return node
    known = cpulist.format_list(node.node for node in node_type.numa)
    raise InputError(f"the node type {node_type.name} has no NUMA node {numa}; it has {known}")


@lru_cache(maxsize=256)
def _cores(threads: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Keyed by the lists, since a node type has dicts in it and so no hash."""
    columns = zip_longest(*map(cpulist.parse, threads))
    return tuple(sorted(tuple(cpu for cpu in column if cpu is not None) for column in columns))
