"""Spectrum Scale's verbsPorts: the InfiniBand ports of the file system's traffic on each kind of node.

Form: `mmchconfig verbsPorts="DEVICE/PORT ..." -N NODES`, IBM Storage Scale, mmchconfig command.
"""

from collections.abc import Mapping

from hpclaunch.cluster.groups import hosts_of
from hpclaunch.cluster.slurmconf import HEADER
from hpclaunch.spec import hosts
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.topology import model
from hpclaunch.values.errors import InputError, Problem


def verbs_ports(site: Site, machines: Mapping[str, NodeType]) -> str:
    """A mmchconfig line for each group of nodes with InfiniBand.

    The storage HCAs are used where they are InfiniBand, else those for compute, as on a DGX-1. Raises
    InputError for a group without `hosts`, and where no group has InfiniBand.
    """
    lines = [HEADER.format("Spectrum Scale's configuration", site.name)]
    lines.append("# It takes effect on a node when GPFS is restarted there.")
    found = False
    for group, names in zip(site.node_types, hosts_of(site), strict=True):
        machine = machines[group.type]
        ports, why = _ports(machine, group.variant)
        lines += ["", f"# {names}: {machine.name}, {why}"]
        if ports:
            found = True
            nodes = ",".join(hosts.expand(names))
            lines.append(f'mmchconfig verbsRdma=enable,verbsPorts="{" ".join(ports)}" -N {nodes}')
    if not found:
        message = f"no node type of site {site.name} has an InfiniBand HCA: there are no verbs ports"
        raise InputError([Problem(message, "site", ("node_types",))])
    return "".join(f"{line}\n" for line in lines)


def _ports(machine: NodeType, variant: str | None) -> tuple[list[str], str]:
    """(DEVICE/PORT of each HCA, why these)."""
    names = model.device_names(machine, variant)
    hcas = [
        hca for hca in model.hcas(machine, variant) if hca.pci in names and hca.link_layer == "InfiniBand"
    ]
    for use, why in (
        ("storage", "its storage HCAs"),
        ("compute", "no storage HCA is InfiniBand: its compute HCAs, shared with the jobs' traffic"),
    ):
        ports = [f"{names[hca.pci]}/{hca.port}" for hca in hcas if hca.use == use]
        if ports:
            return ports, why
    return [], "which has no InfiniBand HCA"
