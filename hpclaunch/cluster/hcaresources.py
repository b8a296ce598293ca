"""Which HCAs stand behind each resource of `kubernetes.rdma`, group by group of nodes."""

from collections.abc import Mapping
from typing import NoReturn

from msgspec import Struct

from hpclaunch.spec.kubernetes import KubernetesSite, rdma_resource
from hpclaunch.spec.nodetype import HcaSpec, NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.topology import model
from hpclaunch.values.errors import InputError, Problem


class HcaResource(Struct, frozen=True):
    """A resource on the nodes of one group: its domain and name, as the site wrote it, and its HCAs in the
    order of their PCI addresses."""

    written: str
    domain: str
    name: str
    group: NodeGroup
    place: int
    hcas: tuple[HcaSpec, ...]


def hca_resources(
    site: Site, kubernetes: KubernetesSite, machines: Mapping[str, NodeType]
) -> tuple[HcaResource, ...]:
    """All resources, in the order of the site. Raises InputError for an HCA that no node type has, for two
    keys that are the same HCA, and for a site without any."""
    if not kubernetes.rdma:
        raise InputError([Problem("kubernetes.rdma names no HCA's resource", "site", ("kubernetes", "rdma"))])
    found = []
    unknown = set(kubernetes.rdma)
    for place, group in enumerate(site.node_types):
        by_resource: dict[str, list[HcaSpec]] = {}
        seen: dict[str, str] = {}
        for key, written in kubernetes.rdma.items():
            hca = _hca(machines[group.type], group.variant, key)
            if hca is None:
                continue
            unknown.discard(key)
            if hca.pci in seen:
                _refuse(key, f"is the same HCA of a {group.type} as {seen[hca.pci]}")
            seen[hca.pci] = key
            by_resource.setdefault(written, []).append(hca)
        for written, hcas in by_resource.items():
            domain, _, name = rdma_resource(written).rpartition("/")
            ordered = tuple(sorted(hcas, key=lambda hca: hca.pci))
            found.append(HcaResource(written, domain, name, group, place, ordered))
    for key in kubernetes.rdma:
        if key in unknown:
            types = ", ".join(dict.fromkeys(group.type for group in site.node_types))
            _refuse(key, f"is no HCA of {types}: see `hpclaunch topo show`")
    return tuple(found)


def interface(hca: HcaSpec, machine: NodeType) -> str | None:
    """The name that udev gives to the IP interface of an InfiniBand HCA, from its PCI address: ibp12s0. None
    for Ethernet, whose names have a part that the adapter itself tells.

    Form: systemd.net-naming-scheme(7), ID_NET_NAME_PATH. Machines that keep the kernel's names have ib0, ib1
    instead, in an order that no address tells.
    """
    if hca.link_layer != "InfiniBand":
        return None
    domain, bus, rest = hca.pci.split(":")
    slot, function = rest.split(".")
    card = hca.pci.rpartition(".")[0]
    several = sum(1 for other in machine.hcas if other.pci.rpartition(".")[0] == card) > 1
    prefix = f"P{int(domain, 16)}" if int(domain, 16) else ""
    suffix = f"f{int(function)}" if several or int(function) else ""
    return f"ib{prefix}p{int(bus, 16)}s{int(slot, 16)}{suffix}"


def _hca(machine: NodeType, variant: str | None, key: str) -> HcaSpec | None:
    names: Mapping[str, str] = model.device_names(machine, variant)
    for hca in model.hcas(machine, variant):
        if key in (hca.pci, names.get(hca.pci)):
            return hca
    return None


def _refuse(key: str, message: str) -> NoReturn:
    raise InputError([Problem(f"{key} {message}", "site", ("kubernetes", "rdma", key))])
