"""What a summary (`lscpu` without -e) leaves open, concluded from how kernels usually number: said to the
user each time, and refused where the usual does not fit."""

import re
from collections.abc import Sequence

from hpclaunch.topology.merge.findings import Findings
from hpclaunch.topology.seen import Seen
from hpclaunch.values import cpulist

Cpus = frozenset[int]
_ADD = "add `lscpu -e` (or `lstopo out.xml`)"


def cores(
    captures: Sequence[Seen], numa: dict[int, Cpus], width: int | None, findings: Findings
) -> tuple[tuple[int, ...], ...] | None:
    """The cores, where every NUMA node's CPUs are `width` runs of one length and all runs of a node are as
    far apart as all cores of the machine: so x86 kernels number (first thread of each core, then the second
    of each). None with a line in `missing` where the lists have another form."""
    if width is None:
        findings.missing.append(
            f"which CPUs share a core: no capture tells how many threads a core has; {_ADD}"
        )
        return None
    total = sum(map(len, numa.values()))
    stride = total // width
    found: list[tuple[int, ...]] = []
    for node, cpus in sorted(numa.items()):
        runs = _runs(cpus)
        regular = (
            total == stride * width
            and len({last - first for first, last in runs}) <= 1
            and len(runs) in (0, width)
            and all(first == runs[0][0] + index * stride for index, (first, _) in enumerate(runs))
        )
        if not regular:
            findings.missing.append(
                f"which CPUs share a core: {width} threads each are told, not which, and the CPUs of NUMA "
                f"node {node} ({cpulist.format_list(cpus)}) are not numbered as usual; {_ADD}"
            )
            return None
        if runs:
            first, last = runs[0]
            found += [tuple(cpu + index * stride for index in range(width)) for cpu in range(first, last + 1)]
    origins = [seen.origin for seen in captures if seen.threads_per_core]
    findings.source("numa (SMT siblings, by the usual numbering)", origins, "medium")
    findings.assumed.append(
        f"CPU n and CPU n+{stride} share a core: {origins[0]} tells {width} threads a core but not which, "
        "and all CPU lists have the usual form; `lscpu -e` would tell"
    )
    return tuple(sorted(found))


def _runs(cpus: Cpus) -> list[tuple[int, int]]:
    text = cpulist.format_list(cpus)
    return [(int(a), int(b or a)) for a, b in re.findall(r"(\d+)(?:-(\d+))?", text)]


def sockets(
    captures: Sequence[Seen], numa: dict[int, Cpus], matrix: tuple[tuple[int, ...], ...], findings: Findings
) -> dict[int, int] | None:
    """CPU -> socket from the number of sockets alone: certain for one, and for as many as there are NUMA
    nodes with CPUs; else nodes in a row make a socket, and the distances must not speak against it. None
    with a line in `missing` where that does not work out."""
    said = [(seen.sockets, seen.origin) for seen in captures if seen.sockets]
    count = findings.agree("sockets", said)
    with_cpus = [node for node in sorted(numa) if numa[node]]
    if count is None and len(with_cpus) == 1:
        findings.assumed.append("the machine has one NUMA node: taken as one socket")
        return dict.fromkeys(numa[with_cpus[0]], 0)
    if count is None or (len(with_cpus) > 1 and len(with_cpus) % count):
        findings.missing.append(f"the socket of each NUMA node: no capture tells it; {_ADD}")
        return None
    each = max(len(with_cpus) // count, 1)
    place = {node: index // each for index, node in enumerate(with_cpus)}
    origins = [origin for _, origin in said]
    if count == 1 or each == 1:
        findings.source("numa (sockets)", origins)
    else:
        near = _agrees(place, sorted(numa), matrix)
        if near is False:
            findings.missing.append(
                "the socket of each NUMA node: no capture tells it, and by the distances nodes in a row are "
                f"not on one socket; {_ADD}"
            )
            return None
        findings.source("numa (sockets, by the usual numbering)", origins, "medium" if near else "low")
        seen = " (the distances agree)" if near else ""
        findings.assumed.append(
            f"{each} NUMA nodes in a row make a socket{seen}: {origins[0]} tells {count} sockets but not "
            "their nodes; `lscpu -e` would tell"
        )
    return {cpu: place[node] for node in with_cpus for cpu in numa[node]}


def _agrees(place: dict[int, int], order: Sequence[int], matrix: tuple[tuple[int, ...], ...]) -> bool | None:
    """Whether every node of a node's own socket is nearer than all others; None without distances."""
    if not matrix:
        return None
    for a in place:
        row = matrix[order.index(a)]
        own = [row[order.index(b)] for b in place if b != a and place[b] == place[a]]
        far = [row[order.index(b)] for b in place if place[b] != place[a]]
        if max(own) >= min(far):
            return False
    return True
