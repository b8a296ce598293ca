"""Quotas and limit ranges of a namespace that no job on a whole node fits into."""

from collections.abc import Iterator, Mapping
from typing import Any

from hpclaunch.cluster.findings import Finding, unseen
from hpclaunch.cluster.podneeds import kubernetes_of, pod_needs
from hpclaunch.cluster.wholenode import whole_node
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values import quantity
from hpclaunch.values.clusterstate import Ask, Question

_KEY = "kubernetes.namespace"
_COMPUTE = ("cpu", "memory")


def limits(site: Site, machines: Mapping[str, NodeType], ask: Ask) -> Iterator[Finding]:
    """What is in the way of the smallest job on a whole node."""
    smallest = [
        (group.type, whole_node(site, machines, place)) for place, group in enumerate(site.node_types)
    ]
    quotas = ask(Question("resourcequotas"))
    if not quotas.there:
        yield unseen(_KEY, "resource quotas")
    for quota in quotas.body.get("items") or ():
        yield from _quota(site, quota, smallest)
    ranges = ask(Question("limitranges"))
    if not ranges.there:
        yield unseen(_KEY, "limit ranges")
    for one in ranges.body.get("items") or ():
        yield from _range(site, one, smallest)


def _quota(
    site: Site, quota: Mapping[str, Any], smallest: list[tuple[str, dict[str, str]]]
) -> Iterator[Finding]:
    name, spec = quota["metadata"]["name"], quota["spec"]
    if spec.get("scopes") or spec.get("scopeSelector"):
        yield Finding(
            _KEY, f"the quota {name} counts some pods only: whether jobs' is not known", checked=False
        )
        return
    hard = spec.get("hard") or {}
    for kind, asked in smallest:
        for counted, amount in _counted(site, asked):
            if counted in hard and quantity.nano(str(hard[counted])) < quantity.nano(amount):
                message = f"the quota {name} allows {hard[counted]} {counted}"
                yield Finding(_KEY, f"{message}, and a job on a whole {kind} needs {amount}")


def _counted(site: Site, asked: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What a quota counts of a job of one node, under each of its names."""
    for resource, amount in asked.items():
        if resource in _COMPUTE:
            yield from ((resource, amount), (f"requests.{resource}", amount), (f"limits.{resource}", amount))
        else:
            yield f"requests.{resource}", amount
    mpi = pod_needs(site).mpi
    yield "pods", "2" if mpi else "1"
    yield ("count/mpijobs.kubeflow.org" if mpi else "count/jobs.batch"), "1"


def _range(
    site: Site, limit: Mapping[str, Any], smallest: list[tuple[str, dict[str, str]]]
) -> Iterator[Finding]:
    name, launcher = limit["metadata"]["name"], kubernetes_of(site).launcher
    for part in limit["spec"].get("limits") or ():
        what = str(part.get("type", "")).lower()
        if what not in ("pod", "container"):
            continue
        largest, least = part.get("max") or {}, part.get("min") or {}
        for kind, asked in smallest:
            for resource, amount in asked.items():
                if resource in largest and quantity.nano(str(largest[resource])) < quantity.nano(amount):
                    message = f"the limit range {name} lets a {what} have {largest[resource]} {resource}"
                    yield Finding(_KEY, f"{message}, and a job on a whole {kind} asks for {amount}")
        for resource, amount in (("cpu", str(launcher.cpu)), ("memory", launcher.memory)):
            if resource in least and quantity.nano(str(least[resource])) > quantity.nano(amount):
                message = f"the limit range {name} wants {least[resource]} {resource} of each {what}"
                yield Finding("kubernetes.launcher", f"{message}, and launchers ask for {amount}")
