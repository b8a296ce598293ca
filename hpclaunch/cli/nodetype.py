"""A node type as text for a terminal."""

from collections.abc import Iterable, Iterator, Sequence

from hpclaunch.report.table import aligned
from hpclaunch.spec.nodetype import HcaSpec, NodeType


def describe(node_type: NodeType) -> str:
    """The whole node type: NUMA nodes, GPUs, HCAs under each variant, and where the facts come from."""
    lines = [f"{node_type.name}: {node_type.description}"]
    if node_type.memory_gib is not None:
        lines.append(f"memory: {node_type.memory_gib} GiB")
    lines += ["", *_numa(node_type), *_gpus(node_type), *_hcas(node_type), *_sources(node_type)]
    return "\n".join(lines).rstrip() + "\n"


def _numa(node_type: NodeType) -> Iterator[str]:
    rows = (
        (
            str(node.node),
            str(node.socket),
            ",".join(node.threads) or "none",
            " ".join(map(str, node_type.distances[index])) if node_type.distances else "not known",
        )
        for index, node in enumerate(node_type.numa)
    )
    yield from _table(("NUMA node", "socket", "CPUs", "distances"), rows)


def _gpus(node_type: NodeType) -> Iterator[str]:
    rows = (
        (str(index), gpu.pci, str(gpu.numa), gpu.switch or "-") for index, gpu in enumerate(node_type.gpus)
    )
    yield from _table(("GPU", "PCI address", "NUMA node", "switch"), rows)


def _hcas(node_type: NodeType) -> Iterator[str]:
    rows = (
        (
            hca.pci,
            str(hca.numa),
            hca.switch or "-",
            hca.use,
            _link(hca),
            *(variant.names.get(hca.pci, "-") for variant in node_type.variants.values()),
        )
        for hca in node_type.hcas
    )
    yield from _table(("HCA", "NUMA node", "switch", "use", "link", *node_type.variants), rows)
    if node_type.hcas:
        for name, variant in node_type.variants.items():
            yield f"{name}{' (default)' if variant.default else ''}: {variant.when}"
        yield ""


def _link(hca: HcaSpec) -> str:
    return f"{hca.link_layer} {hca.rate_gbps} Gb/s" if hca.rate_gbps is not None else hca.link_layer


def _sources(node_type: NodeType) -> Iterator[str]:
    if node_type.sources:
        yield "Sources"
    for source in node_type.sources:
        yield f"- {source.of} [confidence: {source.confidence}]"
        yield f"  {source.source}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table and an empty line after; nothing at all without rows."""
    found = tuple(rows)
    if found:
        yield aligned(header, found)
        yield ""
