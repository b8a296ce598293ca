"""Which GPUs the machine has: captures that know them by PCI address and captures that count them are joined.

nvidia-smi and NVML count GPUs in the order of their PCI addresses (nvidia-smi(1), "-i, --id"), so that
an index and an address belong together where both kinds of capture show as many.
"""

from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.topology.merge.cpus import Nodes, is_partial
from hpclaunch.topology.merge.findings import Claim, Findings
from hpclaunch.topology.readers import nccl, nvidia_smi
from hpclaunch.topology.seen import GpuSeen, Origin, Seen
from hpclaunch.values import pci
from hpclaunch.values.cpulist import format_list


class Gpu(Struct, frozen=True):
    """A GPU of the machine: its place in PCI order, its address ("" where no capture tells it), and what
    each capture says of it."""

    index: int
    pci: str
    seen: tuple[GpuSeen, ...]

    @property
    def key(self) -> str:
        """Its name in distances."""
        return f"GPU{self.index}"

    def __str__(self) -> str:
        return f"GPU {self.index} ({self.pci})" if self.pci else f"GPU {self.index}"


def gpus(captures: Sequence[Seen], findings: Findings) -> tuple[Gpu, ...]:
    """The GPUs in PCI order. Captures that show other GPUs, or another number, contradict one another; only
    a dump of NCCL may show fewer, since it has those of its job alone."""
    sets = [
        (tuple(sorted({gpu.pci for gpu in seen.gpus if gpu.pci}, key=pci.order)), seen)
        for seen in captures
        if any(gpu.pci for gpu in seen.gpus)
    ]
    counts: list[Claim[int]] = [
        (len({gpu.index for gpu in seen.gpus}), seen.gpus[0].origin)
        for seen in captures
        if seen.gpus and all(gpu.index is not None and not gpu.pci for gpu in seen.gpus)
    ]
    whole = [(found, seen.gpus[0].origin) for found, seen in sets if seen.origin.format != nccl.FORMAT]
    jobs = [(found, seen.gpus[0].origin) for found, seen in sets if seen.origin.format == nccl.FORMAT]
    addresses = findings.agree("PCI addresses of the GPUs", whole, ", ".join) or ()
    count = findings.agree("number of GPUs", counts)
    if addresses and count is not None and len(addresses) != count:
        findings.agree("number of GPUs", [(len(addresses), whole[0][1]), counts[0]])
    for found, origin in jobs:
        addresses = _of_job(found, origin, addresses, count, findings)
    if addresses:
        findings.source("gpus (PCI addresses)", [origin for _, origin in (*whole, *jobs)])
    elif count:
        findings.unknown.append(
            "the PCI addresses of the GPUs: no capture tells them; `lspci -D -nn` or hwloc XML does"
        )
    return _joined(captures, addresses, count or 0, findings)


def _of_job(
    found: tuple[str, ...],
    origin: Origin,
    addresses: tuple[str, ...],
    count: int | None,
    findings: Findings,
) -> tuple[str, ...]:
    """The addresses after a dump of NCCL was looked at, which may lack GPUs but not add any."""
    if addresses:
        if not set(found) <= set(addresses):
            extra = ", ".join(sorted(set(found) - set(addresses)))
            findings.contradictions.append(f"PCI addresses of the GPUs: {extra} in {origin} and in no other")
        return addresses
    if count is not None and len(found) != count:
        findings.warnings.append(
            f"{origin} shows {len(found)} of the {count} GPUs, those of its job: which ones is not told, "
            "so nothing of it is used for GPUs"
        )
        return ()
    if count is None:
        findings.warnings.append(
            f"{origin} shows the GPUs of its job; others of the machine would be missing"
        )
    return found


def _joined(
    captures: Sequence[Seen], addresses: tuple[str, ...], count: int, findings: Findings
) -> tuple[Gpu, ...]:
    found: list[list[GpuSeen]] = [[] for _ in addresses or range(count)]
    for seen in captures:
        for each in seen.gpus:
            if each.pci and each.pci in addresses:
                index = addresses.index(each.pci)
                if each.index is not None and each.index != index:
                    findings.warnings.append(
                        f"{each.origin} counts GPU {each.pci} as {each.index}; in PCI order it is {index}, "
                        "as CUDA counts with CUDA_DEVICE_ORDER=PCI_BUS_ID"
                    )
                found[index].append(each)
            elif not each.pci and each.index is not None and each.index < len(found):
                found[each.index].append(each)
    return tuple(
        Gpu(index, addresses[index] if addresses else "", tuple(said)) for index, said in enumerate(found)
    )


def _compare_affinity(gpu: Gpu, node: int, nodes: Nodes, findings: Findings) -> None:
    """The CPUs that the driver gives a GPU are the machine's, and some of them its NUMA node's. Where the
    CPUs come from a capture that may lack some, nothing can be said."""
    if is_partial(nodes.origin):
        return
    everyone = frozenset(cpu for own in nodes.cpus.values() for cpu in own)
    for each in gpu.seen:
        if each.cpus and not (nodes.cpus[node] & set(each.cpus) and everyone >= set(each.cpus)):
            findings.contradictions.append(
                f"CPUs near {gpu}: {format_list(each.cpus)} in {each.origin}, "
                f"but NUMA node {node} has {format_list(nodes.cpus[node])} in {nodes.origin}"
            )


def _compare_lists(gpu: Gpu, findings: Findings) -> None:
    """The driver shows the CPUs near a GPU that a process may use: of two captures one may show fewer, but
    two that have CPUs of their own each were made on two machines."""
    lists = sorted(((frozenset(each.cpus), each.origin) for each in gpu.seen if each.cpus), key=_size)
    for cpus, origin in lists[:-1]:
        if not cpus <= lists[-1][0]:
            findings.agree(f"CPUs near {gpu}", [(cpus, origin), lists[-1]], format_list)


def _size(said: Claim[frozenset[int]]) -> int:
    return len(said[0])


def numa(all_gpus: Sequence[Gpu], nodes: Nodes, findings: Findings) -> dict[str, int]:
    """GPU's key -> NUMA node: as a capture says it, else from the CPUs that the driver gives the GPU, else
    the only node. A GPU for which nothing tells is `missing`."""
    result: dict[str, int] = {}
    used: list[Origin] = []
    silent: list[Gpu] = []
    for gpu in all_gpus:
        _compare_lists(gpu, findings)
        claims: list[Claim[int]] = [(each.numa, each.origin) for each in gpu.seen if each.numa is not None]
        for each in gpu.seen:
            home = nodes.home(frozenset(each.cpus)) if each.cpus else None
            if each.numa is None and home is not None:
                claims.append((home, each.origin))
        node = findings.agree(f"NUMA node of {gpu}", claims)
        if node is None and len(nodes.cpus) == 1:
            node = next(iter(nodes.cpus))
        if node is None:
            silent.append(gpu)
        elif node not in nodes.cpus:
            findings.contradictions.append(
                f"NUMA node of {gpu}: {node} in {claims[0][1]}, but no capture has a NUMA node {node}"
            )
        else:
            result[gpu.key] = node
            used += [origin for _, origin in claims]
            if len({number for number, _ in claims}) < 2:
                _compare_affinity(gpu, node, nodes, findings)
    findings.source("gpus (NUMA nodes)", used)
    if silent:
        findings.missing.append(_not_told(silent))
    return result


def _not_told(silent: Sequence[Gpu]) -> str:
    """Which GPUs' NUMA nodes are open, why, and what would tell. In a container the matrix has no CPUs."""
    names = f"the NUMA node of {', '.join(map(str, silent))}"
    said = [each for gpu in silent for each in gpu.seen]
    add = "`lspci -D -vmm`, or `lstopo out.xml`"
    for each in said:
        if each.cpus:
            return (
                f"{names}: the CPUs near GPUs are not those of one NUMA node "
                f"({format_list(each.cpus)} in {each.origin}); add {add}"
            )
    if any(each.origin.format == nvidia_smi.FORMAT for each in said):
        return f"{names}: nvidia-smi saw no CPUs or NUMA node near them; add {add}"
    return f"{names}: no capture tells it; add `nvidia-smi topo -m`, {add}"
