"""What each HCA is for. No capture says it; what decides is the link layer and whether it shares a PCI switch
with a GPU, as compute HCAs do on machines built for GPUDirect."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from hpclaunch.topology.merge.findings import Claim, Findings, shortened
from hpclaunch.topology.merge.gpus import Gpu
from hpclaunch.topology.merge.hcas import Hca
from hpclaunch.topology.merge.switches import NEAR, Relations
from hpclaunch.topology.readers import nccl
from hpclaunch.values.errors import InputError

Use = Literal["compute", "storage", "management"]
LinkLayer = Literal["InfiniBand", "Ethernet"]


class Link(Struct, frozen=True):
    """The first port of an HCA. `layer` and `rate_gbps` are None where no capture tells them."""

    port: int
    layer: LinkLayer | None
    rate_gbps: int | None


class Decided(Struct, frozen=True):
    """The use of an HCA, why, and whether a person should look at it."""

    use: Use
    why: str
    sure: bool


def links(hcas: Sequence[Hca], findings: Findings) -> dict[str, Link]:
    """HCA's key -> its first port, as the captures tell it."""
    result = {}
    origins = []
    for hca in hcas:
        port = min((each.port for each in hca.seen if each.port), default=1)
        seen = [each for each in hca.seen if each.port in (None, port)]
        layers: list[Claim[str]] = [(each.link_layer, each.origin) for each in seen if each.link_layer]
        layer = findings.agree(f"link layer of {hca}", layers)
        rates = [(each.rate_gbps, each.origin) for each in seen if each.rate_gbps]
        rate = _rate(hca, rates, findings)
        states = [each for each in seen if each.state and "ACTIVE" not in each.state.upper()]
        down = [each for each in states if each.state.upper() not in ("UP", "LINKUP")]
        if down:
            findings.warnings.append(f"{hca} was not usable: its port is {down[0].state} in {down[0].origin}")
        known: LinkLayer | None = "Ethernet" if layer == "Ethernet" else "InfiniBand" if layer else None
        result[hca.key] = Link(port, known, rate)
        origins += [origin for _, origin in (*layers, *rates)]
    findings.source("hcas (link layer, rate)", origins)
    silent = [hca.key for hca in hcas if result[hca.key].layer is None]
    if silent:
        findings.unknown.append(
            f"the link layer of {shortened(silent, ', ')}: no capture tells it, and InfiniBand is written; "
            "`ibstat` tells"
        )
    return result


def _rate(hca: Hca, rates: Sequence[Claim[int]], findings: Findings) -> int | None:
    """NCCL computes the rate, and older ones not for newer links: what other tools say goes before it."""
    told = [claim for claim in rates if claim[1].format != nccl.FORMAT]
    rate = findings.agree(f"rate of {hca} in Gb/s", told or rates)
    for value, origin in rates:
        if told and origin.format == nccl.FORMAT and value != rate:
            findings.warnings.append(
                f"rate of {hca} in Gb/s: {value} in {origin}; {rate} in {told[0][1]} is taken"
            )
    return rate


def uses(
    hcas: Sequence[Hca],
    gpus: Sequence[Gpu],
    link: Mapping[str, Link],
    found: Relations,
    said: Mapping[str, Use],
    findings: Findings,
) -> dict[str, Decided]:
    """HCA's key -> its use. `said` is what the user says, by name or PCI address. Raises InputError for a
    name there that no HCA has."""
    unknown = set(said) - {hca.name for hca in hcas} - {hca.pci for hca in hcas}
    if unknown:
        names = ", ".join(hca.key for hca in hcas) or "none"
        raise InputError(f"no HCA is named {', '.join(sorted(unknown))}; the captures show: {names}")
    near = {hca.key: _beside(hca, gpus, found) for hca in hcas}
    placed = {hca.key for hca in hcas if hca.key in found.paths or _told(hca, gpus, found)}
    result = {hca.key: _decide(hca, hcas, gpus, link, near, hca.key in placed) for hca in hcas}
    for hca in hcas:
        use = said.get(hca.name) or said.get(hca.pci)
        if use:
            result[hca.key] = Decided(use, "you said so", True)
    if hcas:
        findings.source(
            "hcas (use: by link layer and by the GPUs on their switch)",
            [origin for hca in hcas for origin in (each.origin for each in hca.seen)],
            "medium" if all(each.sure for each in result.values()) else "low",
        )
    return result


def _beside(hca: Hca, gpus: Sequence[Gpu], found: Relations) -> tuple[str, ...]:
    return tuple(gpu.key for gpu in gpus if found.level(hca.key, gpu.key) in NEAR)


def _told(hca: Hca, gpus: Sequence[Gpu], found: Relations) -> bool:
    return any(found.level(hca.key, gpu.key) for gpu in gpus)


def _decide(
    hca: Hca,
    hcas: Sequence[Hca],
    gpus: Sequence[Gpu],
    link: Mapping[str, Link],
    near: Mapping[str, Collection[str]],
    placed: bool,
) -> Decided:
    ethernet = [each.key for each in hcas if link[each.key].layer == "Ethernet"]
    infiniband = [each.key for each in hcas if each.key not in ethernet]
    rivals = infiniband if hca.key in infiniband else ethernet
    layer = link[hca.key].layer or "link layer not known"
    if _is_virtual(hca) and not all(map(_is_virtual, hcas)):
        return Decided("management", "a virtual function of a card whose own function is there too", True)
    if hca.key in ethernet and infiniband:
        # The second port of a card for storage is for storage too; it takes no part in a job either way.
        card = hca.pci.rpartition(".")[0]
        beside = [other for other in hcas if other.key in infiniband and other.pci.rpartition(".")[0] == card]
        storage = any(not near[other.key] for other in beside) and any(near.values())
        use: Use = "storage" if storage else "management"
        return Decided(use, "Ethernet on a machine with InfiniBand", not near[hca.key])
    if near[hca.key]:
        return Decided("compute", f"{layer}, on a PCI switch with {', '.join(sorted(near[hca.key]))}", True)
    if not gpus:
        return Decided("compute", f"{layer}, on a machine without GPUs", True)
    if not placed:
        return Decided("compute", f"{layer}; how near it is to the GPUs is not told", False)
    if any(near[other] for other in rivals):
        return Decided("storage", f"{layer}, but on no PCI switch with a GPU, as others are", False)
    rates = {link[other].rate_gbps or 0 for other in rivals}
    if (link[hca.key].rate_gbps or 0) < max(rates):
        return Decided("storage", f"{layer}, slower than others", False)
    return Decided("compute", f"{layer}, and no HCA is on a PCI switch with a GPU", len(rivals) == 1)


def _is_virtual(hca: Hca) -> bool:
    return any("virtual function" in each.model.lower() for each in hca.seen)
