"""What makes the resources that stand for HCAs: the configuration of the shared device plugin, or the
policies of the SR-IOV network operator.

Forms: README.md and pkg/types/types.go of Mellanox/k8s-rdma-shared-dev-plugin; SriovNetworkNodePolicy of
k8snetworkplumbingwg/sriov-network-operator (api/v1/sriovnetworknodepolicy_types.go, pkg/webhook/validate.go),
which NVIDIA's network operator and OpenShift's bring along.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from hpclaunch.cluster.hcaresources import HcaResource, hca_resources, interface
from hpclaunch.cluster.manifests import HEADER, Document, Manifest, manifest_text, metadata
from hpclaunch.cluster.podneeds import kubernetes_of
from hpclaunch.spec.kubernetes import SHARED, KubernetesSite
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError, Path, Problem

# Where the operator that makes resources of this domain looks for its policies.
_OPERATORS = {
    "openshift.io": "openshift-sriov-network-operator",
    "nvidia.com": "nvidia-network-operator",
}
_SHARES = 100  # pods on one node that may have the same HCA; a job's pods need one share each


def rdma_config(site: Site, machines: Mapping[str, NodeType]) -> str:
    """The ConfigMap and the policies for kubernetes.rdma.

    Raises InputError for resources of a domain that neither makes, for an HCA that no node has, and where the
    name of an interface, or a label of the nodes, is needed and not known.
    """
    kubernetes = kubernetes_of(site)
    resources = hca_resources(site, kubernetes, machines)
    shared = [resource for resource in resources if resource.domain == SHARED]
    documents = [_plugin(shared, kubernetes, machines)] if shared else []
    for resource in resources:
        if resource.domain != SHARED:
            documents.append(_policy(resource, resources, machines))
    return manifest_text(HEADER.format("RDMA resources", site.name), documents)


def _plugin(
    shared: Sequence[HcaResource], kubernetes: KubernetesSite, machines: Mapping[str, NodeType]
) -> Document:
    interfaces: dict[str, list[str]] = {}
    for resource in shared:
        names = interfaces.setdefault(resource.name, [])
        names += [name for name in _interfaces(resource, kubernetes, machines) if name not in names]
    config = [
        {"resourceName": name, "rdmaHcaMax": _SHARES, "selectors": {"ifNames": names}}
        for name, names in interfaces.items()
    ]
    derived = any(resource.written not in kubernetes.rdma_interfaces for resource in shared)
    comment = (
        "The configuration of NVIDIA's k8s-rdma-shared-dev-plugin. Put it where its daemon set looks, and "
        f"restart that. Up to {_SHARES} pods of a node may share an HCA."
    )
    if derived:
        comment += (
            " The interfaces are named as udev does it from the HCAs' PCI addresses. See `ip -br link` of a "
            "node: where they have other names, such as ib0, write them into kubernetes.rdma_interfaces."
        )
    body: Manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata("rdma-devices", "kube-system"),
        "data": {"config.json": _json(config)},
    }
    return comment, body


def _json(config: list[dict[str, Any]]) -> str:
    """The plugin's JSON, with a line for each resource."""
    lines = ",\n".join(f"    {json.dumps(entry)}" for entry in config)
    return f'{{\n  "periodicUpdateInterval": 300,\n  "configList": [\n{lines}\n  ]\n}}\n'


def _interfaces(
    resource: HcaResource, kubernetes: KubernetesSite, machines: Mapping[str, NodeType]
) -> Sequence[str]:
    """Those that the site names, else those that follow from the PCI addresses."""
    said = kubernetes.rdma_interfaces.get(resource.written)
    if said is not None:
        return said
    found = []
    for hca in resource.hcas:
        name = interface(hca, machines[resource.group.type])
        if name is None:
            _refuse(
                f"the plugin finds an HCA by its interface, and what {hca.pci} of a {resource.group.type} is "
                f"called cannot be known: name it, rdma_interfaces: {{{resource.written}: [...]}}",
                ("kubernetes", "rdma"),
            )
        found.append(name)
    return found


def _policy(
    resource: HcaResource, all_of_them: Sequence[HcaResource], machines: Mapping[str, NodeType]
) -> Document:
    namespace = _OPERATORS.get(resource.domain)
    if namespace is None:
        _refuse(
            f"the resource {resource.written} is made by whoever runs the device plugin of "
            f"{resource.domain}: this export knows {SHARED} (the shared plugin) and {', '.join(_OPERATORS)} "
            "(SR-IOV)",
            ("kubernetes", "rdma"),
        )
    if not resource.group.selector:
        _refuse(
            f"the policy of {resource.written} is for nodes with certain labels: write a selector",
            ("node_types", resource.place),
        )
    machine = machines[resource.group.type]
    links = {hca.link_layer for hca in resource.hcas}
    if len(links) > 1:
        _refuse(
            f"{resource.written} has InfiniBand and Ethernet HCAs: one policy is for one of them",
            ("kubernetes", "rdma"),
        )
    several = any(other.name == resource.name and other.place != resource.place for other in all_of_them)
    name = f"{resource.name}-{resource.group.type}" if several else resource.name
    functions = max(1, len(machine.gpus))
    spec: Manifest = {
        "resourceName": resource.name,
        "nodeSelector": dict(resource.group.selector),
        "nicSelector": {"vendor": "15b3", "rootDevices": [hca.pci for hca in resource.hcas]},
        "numVfs": functions,
        "deviceType": "netdevice",
        "isRdma": True,
        "linkType": "ib" if links == {"InfiniBand"} else "eth",
    }
    body: Manifest = {
        "apiVersion": "sriovnetwork.openshift.io/v1",
        "kind": "SriovNetworkNodePolicy",
        "metadata": metadata(name.lower().replace("_", "-"), namespace),
        "spec": spec,
    }
    comment = (
        f"{functions} virtual functions of each of these HCAs, as many as there are GPUs, so that each pod "
        "can have one. The operator sets them up node by node, and may restart a node for that. Their "
        "networks (kubernetes.networks) are made beside, with an address range that only you know."
    )
    return comment if resource is _first_policy(all_of_them) else "", body


def _first_policy(resources: Sequence[HcaResource]) -> HcaResource:
    return next(resource for resource in resources if resource.domain != SHARED)


def _refuse(message: str, path: Path) -> NoReturn:
    raise InputError([Problem(message, "site", path)])
