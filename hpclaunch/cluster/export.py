"""What can be derived from a site, by the name of its form."""

from collections.abc import Callable, Mapping

from hpclaunch.cluster.machineconfig import machine_config
from hpclaunch.cluster.ncclxml import nccl_xml
from hpclaunch.cluster.rbac import rbac
from hpclaunch.cluster.rdmaconfig import rdma_config
from hpclaunch.cluster.slurmconf import gres_conf, slurm_conf
from hpclaunch.cluster.storage import storage
from hpclaunch.cluster.topologyconf import topology_conf, topology_yaml
from hpclaunch.cluster.verbsports import verbs_ports
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.values.errors import InputError, Problem

# What is asked of a site's Slurm, of its Kubernetes, of any site, and of one machine of it.
OF_SLURM: Mapping[str, Callable[[Site, Mapping[str, NodeType]], str]] = {
    "slurm.conf": slurm_conf,
    "gres.conf": gres_conf,
    "topology.conf": lambda site, _: topology_conf(site),
    "topology.yaml": lambda site, _: topology_yaml(site),
}
OF_KUBERNETES: Mapping[str, Callable[[Site, Mapping[str, NodeType]], str]] = {
    "rbac": rbac,
    "storage": storage,
    "rdma-config": rdma_config,
    "machine-config": machine_config,
}
OF_SITE: Mapping[str, Callable[[Site, Mapping[str, NodeType]], str]] = {"verbsports": verbs_ports}
OF_MACHINE: Mapping[str, Callable[[NodeType, str | None], str]] = {"nccl": nccl_xml}
FORMATS = (*OF_SLURM, *OF_MACHINE, *OF_SITE, *OF_KUBERNETES)


def export(form: str, site: Site, machines: Mapping[str, NodeType], node_type: str | None) -> str:
    """The text in one of FORMATS; `machines` holds the node type of each name that the site uses.

    `node_type` says which of the site's node types a file of one machine is for, where the site has several.
    Raises InputError for what the site, or its scheduler, has not.
    """
    if form in OF_MACHINE:
        group = _one(site, node_type)
        return OF_MACHINE[form](machines[group.type], group.variant)
    if node_type is not None:
        raise InputError(f"{form} is for the whole site: --node-type is only for {', '.join(OF_MACHINE)}")
    if form in OF_SLURM and site.slurm is None:
        message = f"site {site.name} has no Slurm that {form} could be for"
        raise InputError([Problem(message, "site", ("scheduler",))])
    if form in OF_KUBERNETES and site.kubernetes is None:
        message = f"site {site.name} has no Kubernetes that {form} could be for"
        raise InputError([Problem(message, "site", ("scheduler",))])
    return {**OF_SLURM, **OF_SITE, **OF_KUBERNETES}[form](site, machines)


def _one(site: Site, node_type: str | None) -> NodeGroup:
    """The first group of the type that is asked for, or of the only one there is."""
    groups = [group for group in site.node_types if node_type in (None, group.type)]
    kinds = {(group.type, group.variant) for group in groups}
    if len(kinds) == 1:
        return groups[0]
    known = ", ".join(dict.fromkeys(group.type for group in site.node_types))
    if not groups:
        raise InputError(f"site {site.name} has no nodes of type {node_type}; it has: {known}")
    if node_type is not None:
        raise InputError(f"site {site.name} has {node_type} nodes in several variants: NCCL's file needs one")
    raise InputError(f"NCCL's file is for one machine: name its type with --node-type: {known}")
