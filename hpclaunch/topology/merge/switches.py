"""Which PCI switch each GPU and HCA hangs on: from the bridges above it where captures show them, else from
nvidia-smi's words for how far two devices are apart."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from hpclaunch.topology.merge.findings import Claim, Findings
from hpclaunch.topology.merge.gpus import Gpu
from hpclaunch.topology.merge.hcas import Hca
from hpclaunch.topology.readers import nccl
from hpclaunch.topology.seen import GpuSeen, HcaSeen, Level, Origin, Seen

Path = tuple[str, ...]
Pair = frozenset[str]
NEAR: tuple[Level, ...] = ("PIX", "PXB")


class Relations(Struct, frozen=True):
    """How devices, by key, are related: the bridges above each from the root port down, where they are known
    (`roots` has those whose path begins at the root port), the level of pairs, and who told them."""

    paths: dict[str, Path]
    roots: frozenset[str]
    levels: dict[Pair, tuple[Level, Origin]]

    def level(self, a: str, b: str) -> Level | None:
        """How far two devices are apart, as far as it is known."""
        said = self.levels.get(frozenset((a, b)))
        if said is not None:
            return said[0]
        mine, other = self.paths.get(a), self.paths.get(b)
        if not mine or not other:
            return None
        if mine[0] == other[0]:
            return "PXB"
        # Root ports on one bus are below one host bridge.
        one_bridge = a in self.roots and b in self.roots and _bus(mine[0]) == _bus(other[0])
        return "PHB" if one_bridge else None


def _bus(address: str) -> str:
    return address.rpartition(":")[0]


def relations(
    captures: Sequence[Seen], gpus: Sequence[Gpu], hcas: Sequence[Hca], findings: Findings
) -> Relations:
    """What the captures tell of how the devices hang together, checked against one another."""
    devices: list[Gpu | Hca] = [*gpus, *hcas]
    keys = {device.pci: device.key for device in devices if device.pci}
    keys |= {gpu.key: gpu.key for gpu in gpus} | {hca.name: hca.key for hca in hcas if hca.name}
    claims: dict[str, list[Claim[Path]]] = {}
    upstream: dict[str, list[Claim[Path]]] = {}
    for seen in captures:
        shown: list[GpuSeen | HcaSeen] = [*seen.gpus, *seen.hcas]
        told = {each.pci: (each.path, each.origin) for each in shown if each.pci}
        told = {address: (path, seen.origin) for address, path in seen.paths.items()} | told
        if any(path for path, _ in told.values()):  # else the form has no bridges at all
            side = upstream if seen.origin.format == nccl.FORMAT else claims
            for address, claim in told.items():
                if address in keys:
                    side.setdefault(keys[address], []).append(claim)
    paths = {key: _path(key, said, findings) for key, said in claims.items()}
    for key, said in upstream.items():
        if key not in claims:
            paths[key] = _path(key, said, findings)
        else:
            for path, origin in said:
                if not _within(path, paths[key]):
                    findings.agree(
                        f"PCI switches above {key}",
                        [claims[key][0], (path, origin)],
                        lambda path: " > ".join(path),
                    )
    found = Relations(paths, frozenset(claims), _levels(captures, keys, findings))
    _check(found, findings)
    origins = [origin for side in (claims, upstream) for said in side.values() for _, origin in said]
    findings.source("gpus, hcas (switches)", origins or [origin for _, origin in found.levels.values()])
    return found


def _path(key: str, claims: Sequence[Claim[Path]], findings: Findings) -> Path:
    """The longest path; each other one may leave out bridges (hwloc does), but not have other ones."""
    path, origin = max(claims, key=lambda claim: len(claim[0]))
    for other, where in claims:
        if not _within(other, path):
            findings.agree(
                f"PCI bridges above {key}",
                [(path, origin), (other, where)],
                lambda path: " > ".join(path) or "none",
            )
    return path


def _within(part: Path, whole: Path) -> bool:
    rest = iter(whole)
    return all(bridge in rest for bridge in part)


def _levels(
    captures: Sequence[Seen], keys: Mapping[str, str], findings: Findings
) -> dict[Pair, tuple[Level, Origin]]:
    claims: dict[Pair, list[Claim[Level]]] = {}
    for seen in captures:
        for each in seen.levels:
            pair = frozenset((keys.get(each.a, ""), keys.get(each.b, "")))
            if len(pair) == 2 and "" not in pair and each.level != "X":
                claims.setdefault(pair, []).append((each.level, each.origin))
    for pair, said in claims.items():
        findings.agree(f"distance of {' and '.join(sorted(pair))}", said)
    return {pair: said[0] for pair, said in claims.items()}


def _check(found: Relations, findings: Findings) -> None:
    """nvidia-smi's words and the bridges that other captures show must be of one machine."""
    for pair, (level, origin) in found.levels.items():
        a, b = sorted(pair)
        if a not in found.roots or b not in found.roots or not (found.paths[a] or found.paths[b]):
            continue
        shared = bool(found.paths[a] and found.paths[b] and found.paths[a][0] == found.paths[b][0])
        if shared != (level in NEAR):
            how = "share the root port " + found.paths[a][0] if shared else "have different root ports"
            findings.contradictions.append(
                f"distance of {a} and {b}: {level} in {origin}, but by their bridges they {how}"
            )


def switches(found: Relations, gpus: Sequence[Gpu], hcas: Sequence[Hca]) -> dict[str, str]:
    """Device's key -> its switch, from the CPU outwards: "pex0" holds what shares a root port, "pex0/1" what
    shares an inner switch too. Only switches with a GPU and another card have a name."""
    devices: list[Gpu | Hca] = [*gpus, *hcas]
    order = [device.key for device in devices]
    slots = {device.key: device.pci.rpartition(".")[0] or device.key for device in devices}
    graphics = {gpu.key for gpu in gpus}

    def matters(group: Sequence[str]) -> bool:
        return len({slots[key] for key in group}) > 1

    if any(found.paths.values()):
        trees = _by(lambda key: found.paths.get(key, ())[:1], order)
        outer = [group for start, group in trees.items() if start]
        inner = {key: found.paths.get(key, ()) for key in order}
    else:
        outer = _joined(order, found, NEAR)
        tight = {key: str(i) for i, group in enumerate(_joined(order, found, ("PIX",))) for key in group}
        inner = {key: ("", tight[key]) for key in order}
    named = [group for group in outer if matters(group) and graphics & set(group)]
    named.sort(key=lambda group: order.index(group[0]))
    result: dict[str, str] = {}
    for number, group in enumerate(named):
        _name(group, f"pex{number}", inner, 1, matters, result)
    return result


def _name(
    group: list[str],
    name: str,
    paths: Mapping[str, Path],
    depth: int,
    matters: Callable[[Sequence[str]], bool],
    result: dict[str, str],
) -> None:
    """Gives the group its name, and each part of it that branches off further out a longer one."""
    result.update(dict.fromkeys(group, name))
    branches = _by(lambda key: paths[key][: depth + 1] if len(paths[key]) > depth else (), group)
    parts = [part for start, part in branches.items() if start and matters(part)]
    if len(parts) == 1 and len(parts[0]) == len(group):
        _name(group, name, paths, depth + 1, matters, result)
        return
    for number, part in enumerate(parts):
        _name(part, f"{name}/{number}", paths, depth + 1, matters, result)


def _by(key: Callable[[str], Path], items: Iterable[str]) -> dict[Path, list[str]]:
    groups: dict[Path, list[str]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _joined(order: Sequence[str], found: Relations, levels: Sequence[Level]) -> list[list[str]]:
    """The devices in groups such that two at one of these levels are in one group."""
    group = {key: {key} for key in order}
    for pair, (level, _) in found.levels.items():
        a, b = sorted(pair)
        if level in levels and group[a] is not group[b]:
            group[a] |= group[b]
            for key in group[b]:
                group[key] = group[a]
    seen: list[list[str]] = []
    for key in order:
        members = [other for other in order if other in group[key]]
        if members[0] == key:
            seen.append(members)
    return seen
