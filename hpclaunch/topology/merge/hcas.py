"""Which HCAs the machine has: names (`mlx5_0`) and PCI addresses are joined through the captures that know
both."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hpclaunch.topology.merge.findings import Claim, Findings, shortened
from hpclaunch.topology.readers import nccl
from hpclaunch.topology.seen import HcaSeen, Origin, Seen
from hpclaunch.values import pci

# systemd.net-naming-scheme(7): prefix, P<domain>, p<bus>s<slot>f<function>, all decimal; the function only
# where the card has several, and n<port> or np<port> after it.
_NETDEV = re.compile(r"(?:ib|en)(?:P([0-9]{1,5}))?p([0-9]{1,3})s([0-9]{1,2})(?:f([0-7]))?(?:n?p?[0-9]{1,3})?")


class Hca(Struct, frozen=True):
    """A function of an adapter: its address, its name ("" where no capture tells it), what captures say."""

    pci: str
    name: str
    seen: tuple[HcaSeen, ...]

    @property
    def key(self) -> str:
        """Its name in distances, and for the user."""
        return self.name or self.pci

    def __str__(self) -> str:
        return f"{self.name} ({self.pci})" if self.name else self.pci


def hcas(captures: Sequence[Seen], findings: Findings) -> tuple[Hca, ...]:
    """The HCAs whose PCI address is known, in its order. The names of the others go to `unknown`: a node
    type has no place for an HCA without an address."""
    everything = [each for seen in captures for each in seen.hcas]
    names = list(dict.fromkeys(each.name for each in everything if each.name))
    known = {each.pci: each for each in everything if each.pci}
    exact: dict[str, str] = {}
    used: list[Origin] = []
    for name in names:
        both = [each for each in everything if each.name == name and each.pci]
        claims = [(each.pci, each.origin) for each in both if each.origin.format != nccl.FORMAT]
        # NCCL writes function 0 for every function of a card.
        loose = [(each.pci, each.origin) for each in both if each.origin.format == nccl.FORMAT]
        address = findings.agree(f"PCI address of {name}", claims or loose)
        if address is None:
            address = _by_netdev(name, everything, known, findings)
        elif not claims and not _alone(address, known):
            address = None
        for said, origin in loose if claims else ():
            if said.rpartition(":")[0] != claims[0][0].rpartition(":")[0]:
                findings.agree(f"PCI address of {name}", [claims[0], (said, origin)])
        if address:
            exact[name] = address
            used += [origin for _, origin in (*claims, *loose)]
    _one_name_each(exact, everything, findings)
    findings.source("variants.captured (device names)", used)
    left = [name for name in names if name not in exact]
    if left:
        findings.unknown.append(
            f"the PCI address of {shortened(left, ', ')}: no capture tells it, so "
            f"{'it is' if len(left) == 1 else 'they are'} left out; `ibdev2netdev -v` or hwloc XML does"
        )
    by_address = {address: name for name, address in reversed(exact.items())}
    addresses = sorted({*known, *exact.values()}, key=pci.order)
    nameless = [address for address in addresses if address not in by_address]
    if nameless:
        findings.unknown.append(
            f"the device name of {shortened(nameless, ', ')}: no capture tells it; `ibdev2netdev -v` does"
        )
    findings.source("hcas (PCI addresses)", [each.origin for each in everything if each.pci])
    return tuple(
        Hca(
            address,
            by_address.get(address, ""),
            tuple(
                each
                for each in everything
                if (each.name and exact.get(each.name) == address) or (not each.name and each.pci == address)
            ),
        )
        for address in addresses
    )


def _alone(address: str, known: Mapping[str, HcaSeen]) -> bool:
    """Whether no other function of this card is known: then NCCL's function 0 is the function."""
    return all(other == address or other.rpartition(".")[0] != address.rpartition(".")[0] for other in known)


def _by_netdev(
    name: str, everything: Sequence[HcaSeen], known: Mapping[str, HcaSeen], findings: Findings
) -> str | None:
    """The address that systemd put in the interface's name, where some capture shows an adapter there."""
    for each in everything:
        match = _NETDEV.fullmatch(each.netdev) if each.name == name else None
        if match is None:
            continue
        domain, bus, slot, function = (int(part or 0) for part in match.groups())
        address = f"{domain:04x}:{bus:02x}:{slot:02x}.{function}"
        if bus < 256 and slot < 32 and address in known:
            findings.assumed.append(
                f"{name} is at {address}: {each.origin} names its interface {each.netdev}, which is made of "
                f"the address, and {known[address].origin} has an adapter there"
            )
            return address
    return None


def _one_name_each(exact: Mapping[str, str], everything: Sequence[HcaSeen], findings: Findings) -> None:
    owners: dict[str, str] = {}
    for name, address in exact.items():
        other = owners.setdefault(address, name)
        if other != name:
            origins = {each.name: each.origin for each in everything if each.name in (name, other)}
            claims: list[Claim[str]] = [(other, origins[other]), (name, origins[name])]
            findings.agree(f"name of the HCA at {address}", claims)
