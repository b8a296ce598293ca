"""The NUMA node of each HCA: told, or following from a GPU beside it."""

from collections.abc import Mapping, Sequence

from hpclaunch.topology.merge.cpus import Nodes
from hpclaunch.topology.merge.findings import Claim, Findings, shortened
from hpclaunch.topology.merge.gpus import Gpu
from hpclaunch.topology.merge.hcas import Hca
from hpclaunch.topology.merge.switches import Relations
from hpclaunch.topology.seen import Level, Origin

_ONE_NODE: tuple[Level, ...] = ("PIX", "PXB", "PHB", "NODE")


def numa(
    hcas: Sequence[Hca],
    gpus: Sequence[Gpu],
    gpu_numa: Mapping[str, int],
    found: Relations,
    nodes: Nodes,
    findings: Findings,
) -> dict[str, int]:
    """HCA's key -> NUMA node. An HCA for which nothing tells is missing from it, and named in `unknown`."""
    result: dict[str, int] = {}
    told: list[Origin] = []
    beside: list[str] = []
    silent: list[str] = []
    for hca in hcas:
        claims: list[Claim[int]] = [(each.numa, each.origin) for each in hca.seen if each.numa is not None]
        node = findings.agree(f"NUMA node of {hca}", claims)
        near = _near(hca, gpus, gpu_numa, found)
        if node is None and near is not None:
            node = near
            beside.append(hca.key)
        if node is None and len(nodes.cpus) == 1:
            node = next(iter(nodes.cpus))
        if node is None:
            silent.append(str(hca))
        elif node not in nodes.cpus:
            source = claims[0][1] if claims else "a capture"
            findings.contradictions.append(
                f"NUMA node of {hca}: {node} in {source}, but no capture has a NUMA node {node}"
            )
        else:
            result[hca.key] = node
            told += [origin for _, origin in claims]
    findings.source("hcas (NUMA nodes)", told)
    if beside:
        findings.source(
            f"hcas (NUMA nodes of {shortened(beside, ', ')}: those of the GPUs beside them)",
            [origin for _, origin in found.levels.values()],
        )
    if silent:
        findings.unknown.append(
            f"the NUMA node of {shortened(silent, ', ')}: no capture tells it, so "
            f"{'it is' if len(silent) == 1 else 'they are'} left out; `lspci -D -vmm` or hwloc XML does"
        )
    return result


def _near(hca: Hca, gpus: Sequence[Gpu], gpu_numa: Mapping[str, int], found: Relations) -> int | None:
    """The NUMA node of the nearest GPUs that are not farther than NODE, where they agree. On virtual machines
    and some BIOS settings all devices are NODE to each other, and a shared switch tells more."""
    for level in _ONE_NODE:
        places = {
            gpu_numa[gpu.key]
            for gpu in gpus
            if gpu.key in gpu_numa and found.level(hca.key, gpu.key) == level
        }
        if places:
            return places.pop() if len(places) == 1 else None
    return None
