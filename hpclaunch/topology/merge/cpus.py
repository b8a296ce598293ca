"""The CPUs of a machine from several captures: NUMA nodes, cores, sockets, last-level caches."""

from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from hpclaunch.topology.merge import numbering
from hpclaunch.topology.merge.findings import Claim, Findings
from hpclaunch.topology.readers import hwloc
from hpclaunch.topology.seen import CpuSeen, NumaSeen, Origin, Seen
from hpclaunch.values import cpulist

K = TypeVar("K")
Cpus = frozenset[int]
# A summary counts; who lists every CPU knows each one's neighbours.
ADD_CPUS = "add `lscpu -e` (or `lstopo out.xml`)"


class Nodes(Struct, frozen=True):
    """The NUMA nodes by number, with their CPUs; `cores` are all cores as rising CPUs, `socket` and `l3` by
    CPU, `l3` empty where it is not known; `distances` in the order of the nodes, or empty; `origin` is the
    first capture that tells of CPUs."""

    cpus: dict[int, Cpus]
    distances: tuple[tuple[int, ...], ...]
    cores: tuple[tuple[int, ...], ...]
    socket: dict[int, int]
    l3: dict[int, Cpus]
    origin: Origin

    def home(self, cpus: Cpus) -> int | None:
        """The one NUMA node that all these CPUs lie in; None for none, or several."""
        homes = [node for node, own in self.cpus.items() if cpus & own]
        return homes[0] if len(homes) == 1 and cpus <= self.cpus[homes[0]] else None


def is_partial(origin: Origin) -> bool:
    """hwloc leaves out what its cgroup forbids, and its files are sometimes cut on purpose."""
    return origin.format == hwloc.FORMAT


def nodes(captures: Sequence[Seen], findings: Findings) -> Nodes | None:
    """The CPUs that the captures show together, None where something is missing that a node type needs;
    `findings.missing` says what."""
    numa = _numa(captures, findings)
    if not numa:
        findings.missing.append(f"the CPUs of each NUMA node: no capture tells them; {ADD_CPUS}")
        return None
    everyone = frozenset(cpu for own in numa.values() for cpu in own)
    matrix = _distances(captures, sorted(numa), findings)
    told = [seen for seen in captures if seen.cpus]
    told_sockets, from_sockets = _sockets(told, everyone, findings)
    if told_sockets:
        findings.source("numa (sockets)", from_sockets)
    cores = _cores(captures, numa, everyone, findings)
    socket = told_sockets or numbering.sockets(captures, numa, matrix, findings)
    if cores is None or socket is None:
        return None
    l3, from_l3 = _partition("L3 cache", [(_l3(seen), _first(seen)) for seen in told], everyone, findings)
    if l3:
        findings.source("numa (L3 caches)", from_l3)
    elif everyone:
        findings.unknown.append("which cores share an L3 cache: no capture tells it; `lscpu -e` does")
    gap = max(everyone, default=-1) + 1 - len(everyone)
    if gap:
        findings.warnings.append(
            f"{gap} of the CPU numbers 0-{max(everyone)} are in no NUMA node: "
            "they are offline, or a capture was made where not all CPUs were allowed"
        )
    origin = next(seen.origin for seen in captures if seen.cpus or any(each.cpus for each in seen.numa))
    return Nodes(numa, matrix, cores, socket, l3, origin)


def _numa(captures: Sequence[Seen], findings: Findings) -> dict[int, Cpus]:
    """NUMA node -> its CPUs; nothing where the CPUs of a node are told nowhere."""
    claims: dict[int, list[Claim[Cpus]]] = {}
    known: dict[int, Origin] = {}
    for seen in captures:
        for node, cpus, origin in _lists(seen):
            known.setdefault(node, origin)
            if cpus is not None:
                claims.setdefault(node, []).append((cpus, origin))
    if not known:
        return _without_numa(captures, findings)
    found: dict[int, Cpus] = {}
    used: list[Origin] = []
    for node in sorted(known):
        whole = [claim for claim in claims.get(node, ()) if not is_partial(claim[1])]
        parts = [claim for claim in claims.get(node, ()) if is_partial(claim[1])]
        what = f"CPUs of NUMA node {node}"
        value = findings.agree(what, whole or parts, _shown)
        if value is None:
            findings.missing.append(
                f"the CPUs of NUMA node {node}, which {known[node]} has: no capture tells them; "
                "add `lscpu` or `numactl -H`"
            )
            continue
        found[node] = value
        used += [origin for cpus, origin in (*whole, *parts) if cpus == value]
        for cpus, origin in parts if whole else ():
            if not cpus <= value:
                findings.agree(what, [whole[0], (cpus, origin)], _shown)
            elif cpus < value:
                findings.warnings.append(
                    f"{origin} shows {len(cpus)} of the {len(value)} CPUs of NUMA node {node}: "
                    f"those of {whole[0][1]} are taken"
                )
    _each_once(found, claims, findings)
    findings.source("numa (CPU lists)", used)
    return {} if findings.missing else found


def _lists(seen: Seen) -> list[tuple[int, Cpus | None, Origin]]:
    """(node, CPUs, where) that one capture tells; of nodes alone where no list of its own says otherwise."""
    by_cpu: dict[int, list[CpuSeen]] = {}
    for cpu in seen.cpus:
        if cpu.numa is not None:
            by_cpu.setdefault(cpu.numa, []).append(cpu)
    listed = {each.node: each for each in seen.numa}
    found: list[tuple[int, Cpus | None, Origin]] = []
    for node in sorted({*listed, *by_cpu}):
        own = listed.get(node)
        if own is not None and own.cpus is not None:
            found.append((node, frozenset(own.cpus), own.origin))
        elif node in by_cpu:
            found.append((node, frozenset(cpu.number for cpu in by_cpu[node]), by_cpu[node][0].origin))
        else:
            found.append((node, None, own.origin if own else seen.origin))
    return found


def _without_numa(captures: Sequence[Seen], findings: Findings) -> dict[int, Cpus]:
    """A kernel without NUMA shows CPUs and no node; this tool then has one, 0."""
    seen = next((each for each in captures if each.cpus), None)
    if seen is None:
        return {}
    findings.assumed.append(f"{seen.origin} shows no NUMA nodes: taken as one node, 0")
    findings.source("numa (CPU lists)", [seen.origin])
    return {0: frozenset(cpu.number for cpu in seen.cpus)}


def _each_once(found: dict[int, Cpus], claims: dict[int, list[Claim[Cpus]]], findings: Findings) -> None:
    owners: dict[int, int] = {}
    told: set[tuple[int, int]] = set()
    for node, cpus in found.items():
        for cpu in sorted(cpus):
            other = owners.setdefault(cpu, node)
            if other != node and (other, node) not in told:
                told.add((other, node))
                findings.contradictions.append(
                    f"CPU {cpu}: in NUMA node {other} in {claims[other][0][1]}, "
                    f"but in NUMA node {node} in {claims[node][0][1]}"
                )


def _shown(cpus: Cpus) -> str:
    return cpulist.format_list(cpus) or "none"


def _first(seen: Seen) -> Origin:
    return seen.cpus[0].origin


def _groups(keys: dict[int, K]) -> dict[int, Cpus]:
    """CPU -> all CPUs with its key."""
    members: dict[K, set[int]] = {}
    for cpu, key in keys.items():
        members.setdefault(key, set()).add(cpu)
    return {cpu: frozenset(members[key]) for cpu, key in keys.items()}


def _l3(seen: Seen) -> dict[int, Cpus]:
    return _groups({cpu.number: cpu.l3 for cpu in seen.cpus if cpu.l3 is not None})


def _siblings(seen: Seen) -> dict[int, Cpus]:
    """CPU -> the CPUs of its core, where the capture tells it of each CPU."""
    named = {cpu.number: frozenset({cpu.number, *cpu.siblings}) for cpu in seen.cpus if cpu.siblings}
    if len(named) == len(seen.cpus):
        return named
    keys = {cpu.number: (cpu.socket, cpu.core) for cpu in seen.cpus if cpu.core is not None}
    return _groups(keys) if len(keys) == len(seen.cpus) else {}


def _partition(
    what: str, claims: Sequence[Claim[dict[int, Cpus]]], everyone: Cpus, findings: Findings
) -> tuple[dict[int, Cpus], list[Origin]]:
    """The groups that every CPU is in, by CPU, from the first capture that tells all, and who told it.
    Captures that show fewer CPUs are compared on those that they show."""
    whole = [(groups, origin) for groups, origin in claims if everyone <= set(groups)]
    if not whole:
        return {}, []
    groups, first = whole[0]
    agreed = {cpu: groups[cpu] & everyone for cpu in everyone}
    used = []
    for others, origin in claims:
        shown = frozenset(others) & everyone
        differs = next((cpu for cpu in sorted(shown) if others[cpu] & shown != agreed[cpu] & shown), None)
        if differs is not None:
            findings.contradictions.append(
                f"{what} of CPU {differs}: shared by CPUs {_shown(agreed[differs] & shown)} in {first}, "
                f"but {_shown(others[differs] & shown)} in {origin}"
            )
        elif shown:
            used.append(origin)
    return agreed, used


def _sockets(told: Sequence[Seen], everyone: Cpus, findings: Findings) -> tuple[dict[int, int], list[Origin]]:
    """CPU -> socket. Programs number sockets differently, so only the groups are compared; the numbers are
    the kernel's own where a capture has them."""
    numbers = [
        ({cpu.number: cpu.socket for cpu in seen.cpus if cpu.socket is not None}, _first(seen))
        for seen in sorted(told, key=lambda seen: not seen.origin.format.startswith("sysfs"))
    ]
    claims = [(_groups(each), origin) for each, origin in numbers]
    groups, used = _partition("socket", claims, everyone, findings)
    if not groups:
        return {}, []
    first = next(each for each, _ in numbers if everyone <= set(each))
    return {cpu: first[cpu] for cpu in everyone}, used


def _cores(
    captures: Sequence[Seen], numa: dict[int, Cpus], everyone: Cpus, findings: Findings
) -> tuple[tuple[int, ...], ...] | None:
    claims = [(_siblings(seen), _first(seen)) for seen in captures if seen.cpus]
    groups, used = _partition("core", claims, everyone, findings)
    width = findings.agree(
        "threads of a core", [(s.threads_per_core, s.origin) for s in captures if s.threads_per_core]
    )
    if groups:
        findings.source("numa (SMT siblings)", used)
        cores = tuple(sorted({tuple(sorted(group)) for group in groups.values()}))
        sizes = {len(core) for core in cores}
        if width and len(sizes) == 1 and sizes != {width}:
            summary = next(seen.origin for seen in captures if seen.threads_per_core)
            findings.contradictions.append(
                f"threads of a core: {sizes.pop()} in {used[0]}, but {width} in {summary}"
            )
        return cores
    if width == 1:
        findings.source("numa (one thread a core)", [s.origin for s in captures if s.threads_per_core])
        return tuple((cpu,) for cpu in sorted(everyone))
    return numbering.cores(captures, numa, width, findings)


def memories(captures: Sequence[Seen], findings: Findings) -> dict[int, int]:
    """NUMA node -> KiB of memory. Programs round differently: what is within a fiftieth, or a GiB, is one."""
    claims: dict[int, list[tuple[int, NumaSeen]]] = {}
    for seen in captures:
        for each in seen.numa:
            if each.kib:
                claims.setdefault(each.node, []).append((each.kib, each))
    found: dict[int, int] = {}
    for node, said in claims.items():
        first, by = said[0]
        found[node] = max(kib for kib, _ in said)
        for kib, each in said[1:]:
            if abs(kib - first) > max(first // 50, 1 << 20):
                findings.agree(f"memory of NUMA node {node}", [(first, by.origin), (kib, each.origin)], _gib)
    if found:
        findings.source("numa (memory)", [each.origin for said in claims.values() for _, each in said])
    return found


def _gib(kib: int) -> str:
    return f"{kib / (1 << 20):.0f} GiB"


def _distances(
    captures: Sequence[Seen], numbers: Sequence[int], findings: Findings
) -> tuple[tuple[int, ...], ...]:
    """The matrix in the order of `numbers`, () where a distance is told nowhere."""
    claims: dict[tuple[int, int], list[Claim[int]]] = {}
    for seen in captures:
        for each in seen.numa:
            for other, value in each.distances.items():
                claims.setdefault((each.node, other), []).append((value, each.origin))
    if not claims:
        if len(numbers) > 1:
            findings.unknown.append(
                "the distances between NUMA nodes: no capture tells them; `numactl -H` does"
            )
        return ()
    agreed = {
        pair: findings.agree(f"distance of NUMA nodes {pair[0]} and {pair[1]}", said)
        for pair, said in claims.items()
    }
    rows = [[agreed.get((a, b), 10 if a == b else None) for b in numbers] for a in numbers]
    if any(value is None or value < 1 for row in rows for value in row):
        findings.unknown.append("some distances between NUMA nodes: no capture tells all; `numactl -H` does")
        return ()
    findings.source("distances", [origin for said in claims.values() for _, origin in said])
    return tuple(tuple(value or 0 for value in row) for row in rows)
