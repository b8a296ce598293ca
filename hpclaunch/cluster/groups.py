"""The groups of nodes of a site, with their hosts and as Slurm counts them."""

from collections.abc import Mapping

from msgspec import Struct

from hpclaunch.cluster.slurmnode import SlurmNode, slurm_node
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.values.errors import InputError, Problem


class Nodes(Struct, frozen=True):
    """A group of the site, its hosts as a list ("dgx[001-140]"), its node type, and that as Slurm's."""

    group: NodeGroup
    hosts: str
    machine: NodeType
    slurm: SlurmNode


def nodes_of(site: Site, machines: Mapping[str, NodeType]) -> tuple[Nodes, ...]:
    """All groups. Raises InputError for one that has a count in place of names, and for a machine that has no
    form in slurm.conf."""
    hosts = hosts_of(site)
    return tuple(
        Nodes(group, names, machines[group.type], slurm_node(machines[group.type], group.mig))
        for group, names in zip(site.node_types, hosts, strict=True)
    )


def hosts_of(site: Site) -> tuple[str, ...]:
    """The hosts of each group. Raises InputError for one that has a count in place of names."""
    problems = [
        Problem(
            f'the {group.type} nodes have no names: write hosts ("dgx[001-140]"), and not a count',
            "site",
            ("node_types", index),
        )
        for index, group in enumerate(site.node_types)
        if group.hosts is None
    ]
    if problems:
        raise InputError(problems)
    return tuple(group.hosts or "" for group in site.node_types)
