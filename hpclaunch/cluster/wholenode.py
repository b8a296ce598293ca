"""What the pod of a job asks for that takes a whole node."""

from collections.abc import Mapping

from hpclaunch.cluster.hcaresources import hca_resources
from hpclaunch.cluster.podneeds import kubernetes_of
from hpclaunch.spec.kubernetes import mig_resource
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.topology import allocatable
from hpclaunch.values import quantity


def whole_node(site: Site, machines: Mapping[str, NodeType], place: int) -> dict[str, str]:
    """Resource -> amount for a node of the group at this place of node_types. Raises InputError for HCAs in
    kubernetes.rdma that no node type has."""
    kubernetes, group = kubernetes_of(site), site.node_types[place]
    machine = machines[group.type]
    asked = {**_devices(group, machine, kubernetes.gpu_resource)}
    if kubernetes.rdma:
        for resource in hca_resources(site, kubernetes, machines):
            compute = [hca for hca in resource.hcas if hca.use == "compute"]
            if resource.place == place and compute:
                asked[f"{resource.domain}/{resource.name}"] = str(len(compute))
    asked["cpu"] = str(allocatable.cpus(group, machine))
    memory = allocatable.memory(group, machine)
    if memory is not None:
        asked["memory"] = quantity.of_bytes(allocatable.rounded(memory))
    for size, amount in kubernetes.hugepages.items():
        asked[f"hugepages-{size}"] = amount
    return asked


def _devices(group: NodeGroup, machine: NodeType, gpu_resource: str) -> dict[str, str]:
    if group.mig:
        return {mig_resource(gpu_resource, profile): str(slices) for profile, slices in group.mig.items()}
    return {gpu_resource: str(len(machine.gpus))} if machine.gpus else {}
