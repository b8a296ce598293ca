"""A node type as text for a terminal."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from hpclaunch.cli.output import warn
from hpclaunch.report.table import aligned
from hpclaunch.spec.nodetype import HcaSpec, NodeType, NumaNode
from hpclaunch.topology import catalogue, model
from hpclaunch.values import cpulist
from hpclaunch.values.errors import InputError

_WIDTH = 110


def listing(names: Iterable[str]) -> str:
    """One line for each node type. One that cannot be read does not hide the others: its line has only
    its name, and standard error says why."""
    header = ("NAME", "GPUS", "HCAS", "CPUS", "NUMA NODES", "DESCRIPTION")
    return aligned(header, [(name, *_line(name)) for name in names])


def describe(node_type: NodeType) -> str:
    """The whole node type: NUMA nodes, caches, GPUs, HCAs under each variant, environment, and where the
    facts come from and how sure they are."""
    lines = [f"{node_type.name}: {node_type.description}"]
    if node_type.memory_gib is not None:
        lines.append(f"memory: {node_type.memory_gib} GiB")
    if node_type.gpus:
        lines.append(f"GPU in Slurm: gres/gpu{'' if node_type.gres == 'gpu' else ':' + node_type.gres}")
    lines += ["", *_numa(node_type), *_caches(node_type), *_gpus(node_type), *_hcas(node_type)]
    lines += [*_env(node_type), *_sources(node_type)]
    return "\n".join(lines).rstrip() + "\n"


def _line(name: str) -> tuple[str, str, str, str, str]:
    try:
        node_type = catalogue.load(name).value
    except InputError as error:
        warn(f"the node type {name} cannot be read: {error}")
        return ("-", "-", "-", "-", "-")
    compute = sum(hca.use == "compute" for hca in node_type.hcas)
    numbers = (len(node_type.gpus), compute, model.cpu_count(node_type), len(node_type.numa))
    gpus, hcas, cpus, numa = map(str, numbers)
    return (gpus, hcas, cpus, numa, node_type.description)


def _numa(node_type: NodeType) -> Iterator[str]:
    memory = any(node.memory_gib is not None for node in node_type.numa)
    header = ["NUMA node", "socket", "CPUs", *(["GiB"] if memory else []), "distances"]
    yield from _table(
        header,
        (
            (
                str(node.node),
                str(node.socket),
                ",".join(map(_cpus, node.threads)) or "none",
                *([str(node.memory_gib or "-")] if memory else []),
                " ".join(map(str, node_type.distances[index])) if node_type.distances else "not known",
            )
            for index, node in enumerate(node_type.numa)
        ),
    )
    cores = [core for node in node_type.numa for core in model.cores(node_type, node.node)]
    widest = max(cores, key=len, default=())
    if len(widest) > 1:
        yield f"SMT: {len(widest)} CPUs to a core, such as {cpulist.format_list(widest)}."
        yield ""


def _cpus(text: str) -> str:
    """A CPU list to be read: where Intel's firmware takes sockets by turns, "0,2,...,62" says it shorter."""
    numbers = cpulist.parse(text)
    steps = {after - before for before, after in pairwise(numbers)}
    if len(numbers) > 4 and len(steps) == 1 and steps != {1}:
        return f"{numbers[0]},{numbers[1]},...,{numbers[-1]}"
    return text.replace(" ", "")


def _caches(node_type: NodeType) -> Iterator[str]:
    def shared(node: NumaNode) -> str:
        return "  ".join(text.replace(" ", "") for text in node.l3)

    known = [(str(node.node), shared(node)) for node in node_type.numa if node.l3]
    yield from _table(("NUMA node", "CPUs that share an L3 cache"), known)


def _gpus(node_type: NodeType) -> Iterator[str]:
    rows = (
        (str(index), gpu.pci or "not known", str(gpu.numa), gpu.switch or "-")
        for index, gpu in enumerate(node_type.gpus)
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
            yield from _wrapped(f"{name}{' (default)' if variant.default else ''}: {variant.when}", "  ")
        yield ""


def _link(hca: HcaSpec) -> str:
    rate = f" {hca.rate_gbps} Gb/s" if hca.rate_gbps is not None else ""
    return f"{hca.link_layer}{rate}{f' port {hca.port}' if hca.port != 1 else ''}"


def _env(node_type: NodeType) -> Iterator[str]:
    yield from _table(("environment", "value"), node_type.env.items())


def _sources(node_type: NodeType) -> Iterator[str]:
    if node_type.sources:
        yield "Sources"
    for source in node_type.sources:
        yield from _wrapped(f"- {source.of} [confidence: {source.confidence}]", "  ")
        yield from _wrapped(f"  {source.source}", "  ")


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table and an empty line after; nothing at all without rows."""
    found = tuple(rows)
    if found:
        yield aligned(header, found)
        yield ""
