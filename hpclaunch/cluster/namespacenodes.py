"""Whether the nodes that a site describes are there, take its jobs, and have what a job asks for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hpclaunch.cluster.findings import Finding, unseen
from hpclaunch.cluster.podneeds import kubernetes_of
from hpclaunch.cluster.wholenode import whole_node
from hpclaunch.spec import hosts
from hpclaunch.spec.kubernetes import Toleration
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.values import quantity
from hpclaunch.values.clusterstate import Ask, Question

_HOSTNAME = "kubernetes.io/hostname"
_KEEPS_PODS_AWAY = ("NoSchedule", "NoExecute")
_CORDONED = "node.kubernetes.io/unschedulable"
# Of these a site may say another amount than the machine has.
_ALLOCATABLE = ("cpu", "memory")

Node = Mapping[str, Any]


def nodes(site: Site, machines: Mapping[str, NodeType], ask: Ask) -> Iterator[Finding]:
    """What is lacking of each group's nodes, and whether launchers have a place."""
    reply = ask(Question("nodes", namespaced=False))
    if not reply.there:
        yield unseen("node_types", "nodes")
        return
    known: Sequence[Node] = reply.body["items"]
    gpu = kubernetes_of(site).gpu_resource
    for place, group in enumerate(site.node_types):
        key, asked = f"node_types[{place}]", whole_node(site, machines, place)
        gpus = [resource for resource in asked if resource == gpu or "/mig-" in resource]
        found = [node for node in known if _belongs(node, group, gpus)]
        yield from _number(key, group, found)
        taking = [node for node in found if _takes_pods(node)]
        away = [node for node in found if not _takes_pods(node)]
        if away and taking:
            yield Finding(key, f"no pods go to {_names(away)} now: not ready, or cordoned", checked=False)
        elif away:
            yield Finding(key, f"no pods go to {_names(away)}, which are all: not ready, or cordoned")
        yield from _taints(key, group, taking)
        yield from _amounts(key, group, asked, taking)
    selector = kubernetes_of(site).launcher.selector
    if selector and not any(selector.items() <= _labels(node).items() for node in known):
        yield Finding("kubernetes.launcher.selector", f"no node has the labels {_words(selector)}")


def _belongs(node: Node, group: NodeGroup, gpus: Sequence[str]) -> bool:
    """Whether pods of the group can be sent there: by its labels, else by its name, else by its GPUs."""
    if group.selector:
        return group.selector.items() <= _labels(node).items()
    if group.hosts is not None:
        return _name(node) in hosts.expand(group.hosts)
    return any(_has(node, resource) not in ("", "0") for resource in gpus) or not gpus


def _number(key: str, group: NodeGroup, found: Sequence[Node]) -> Iterator[Finding]:
    if group.hosts is not None and not group.selector:
        there = {_name(node) for node in found}
        absent = [name for name in hosts.expand(group.hosts) if name not in there]
        if absent:
            yield Finding(f"{key}.hosts", f"no node has the name {hosts.fold(absent)} ({_HOSTNAME})")
        return
    wanted = hosts.count(group.hosts) if group.hosts is not None else group.count
    what = f"the labels {_words(group.selector)}" if group.selector else "GPUs to give"
    if not found:
        yield Finding(f"{key}.selector", f"no node has {what}")
    elif wanted is not None and len(found) != wanted:
        have = "1 node has" if len(found) == 1 else f"{len(found)} nodes have"
        yield Finding(key, f"{have} {what}, and the site says {wanted}")


def _taints(key: str, group: NodeGroup, found: Sequence[Node]) -> Iterator[Finding]:
    by_taint: dict[str, list[Node]] = {}
    for node in found:
        for taint in node["spec"].get("taints") or ():
            keeps_away = taint["effect"] in _KEEPS_PODS_AWAY and taint["key"] != _CORDONED
            if keeps_away and not any(_tolerates(each, taint) for each in group.tolerations):
                value = f"={taint['value']}" if taint.get("value") else ""
                by_taint.setdefault(f"{taint['key']}{value}:{taint['effect']}", []).append(node)
    for taint, tainted in by_taint.items():
        message = f"the taint {taint} of {_names(tainted)} keeps jobs away"
        name = taint.partition(":")[0].partition("=")[0]
        yield Finding(f"{key}.tolerations", f"{message}: add {{key: {name}}}")


def _tolerates(toleration: Toleration, taint: Mapping[str, str]) -> bool:
    return (
        toleration.key in (None, taint["key"])
        and toleration.effect in (None, taint["effect"])
        and (toleration.operator == "Exists" or toleration.value == taint.get("value", ""))
    )


def _amounts(
    key: str, group: NodeGroup, asked: Mapping[str, str], found: Sequence[Node]
) -> Iterator[Finding]:
    """What nodes have too little of for a job that takes all of one."""
    for resource, amount in asked.items():
        by_amount: dict[str, list[Node]] = {}
        for node in found:
            has = _has(node, resource) or "0"
            if quantity.nano(has) < quantity.nano(amount):
                by_amount.setdefault(has, []).append(node)
        for has, short in by_amount.items():
            message = f"{_names(short)}: {has} {resource} to give"
            message += f", and a job on a whole {group.type} asks for {amount}"
            if resource in _ALLOCATABLE:
                yield Finding(
                    f"{key}.allocatable", f"{message}: write {resource}: {_to_write(resource, has)}"
                )
            else:
                yield Finding(key, message)


def _to_write(resource: str, has: str) -> str:
    """What a node has, as the site file takes it: whole CPUs, and memory in whole MiB."""
    if resource == "cpu":
        return str(quantity.nano(has) // 10**9)
    return quantity.of_bytes(quantity.nano(has) // 10**9 >> 20 << 20)


def _takes_pods(node: Node) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not node["spec"].get("unschedulable")


def _has(node: Node, resource: str) -> str:
    """What pods can have of a resource there, "" where the node does not know it."""
    return str(((node.get("status") or {}).get("allocatable") or {}).get(resource, ""))


def _labels(node: Node) -> dict[str, str]:
    return node["metadata"].get("labels") or {}


def _name(node: Node) -> str:
    return _labels(node).get(_HOSTNAME, str(node["metadata"]["name"]))


def _names(found: Sequence[Node]) -> str:
    return hosts.fold([_name(node) for node in found])


def _words(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in labels.items())
