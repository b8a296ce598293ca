"""What a namespace lacks for the jobs of a Kubernetes site, in the order in which it is set up."""

from collections.abc import Callable, Iterator, Mapping

from hpclaunch.cluster.drift import Compared
from hpclaunch.cluster.findings import Finding, compared, lacking, unseen
from hpclaunch.cluster.namespacelimits import limits
from hpclaunch.cluster.namespacenodes import nodes
from hpclaunch.cluster.namespacerights import rights
from hpclaunch.cluster.namespacestorage import storage_of_jobs
from hpclaunch.cluster.podneeds import kubernetes_of, mpi_api
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.clusterstate import Ask, Question

# The plural names of the kinds that a version of a group has.
Kinds = Callable[[str, str], tuple[str, ...]]

_MPIJOBS = "kubeflow.org"
_API_VERSIONS = ("v2beta1", "v1", "v1alpha2", "v1alpha1")
_KUEUE = ("kueue.x-k8s.io", ("v1beta2", "v1beta1"))
_GANGS = {
    "volcano": ("scheduling.volcano.sh", "v1beta1", "Volcano"),
    "scheduler-plugins": ("scheduling.x-k8s.io", "v1alpha1", "scheduler-plugins' coscheduling"),
}
_PULL_SECRETS = ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg")


def compare_namespace(
    site: Site, machines: Mapping[str, NodeType], release: str, kinds: Kinds, ask: Ask
) -> Compared:
    """What is lacking, and what could not be seen. `release` is the server's, such as "v1.29.3"; `kinds` and
    `ask` ask the cluster."""
    kubernetes = kubernetes_of(site)
    namespace = ask(Question("namespaces", kubernetes.namespace, namespaced=False))
    if namespace.code == 404:
        return compared([Finding("kubernetes.namespace", f"there is no namespace {kubernetes.namespace}")])
    return compared(
        [
            *_release(kubernetes, release),
            *_operator(kubernetes, kinds),
            *_scheduling(kubernetes, kinds, ask),
            *_names(kubernetes, ask),
            *rights(site, namespace, ask),
            *storage_of_jobs(site, ask),
            *nodes(site, machines, ask),
            *limits(site, machines, ask),
        ]
    )


def _release(kubernetes: KubernetesSite, release: str) -> Iterator[Finding]:
    said = kubernetes.version
    if said is not None and release.removeprefix("v").split("+")[0].split(".")[
        : said.count(".") + 1
    ] != said.split("."):
        yield Finding("kubernetes.version", f"the site says {said}, and the cluster is {release}")


def _operator(kubernetes: KubernetesSite, kinds: Kinds) -> Iterator[Finding]:
    api = mpi_api(kubernetes)
    if api is None or "mpijobs" in kinds(_MPIJOBS, api):
        return
    key = "kubernetes.mpijob" if kubernetes.mpijob is not None else "kubernetes.mpi_operator"
    others = [each for each in _API_VERSIONS if each != api and "mpijobs" in kinds(_MPIJOBS, each)]
    if others:
        yield Finding(key, f"the cluster has no MPIJob in version {api}; it has {', '.join(others)}")
    else:
        yield Finding(
            key, f"the cluster has no MPIJob at all, and the site wants version {api}: install the operator"
        )


def _scheduling(kubernetes: KubernetesSite, kinds: Kinds, ask: Ask) -> Iterator[Finding]:
    if kubernetes.queue is not None:
        yield from _kueue(kubernetes.queue, kinds, ask)
    if kubernetes.gang is not None:
        group, version, product = _GANGS[kubernetes.gang.scheduler]
        if not kinds(group, version):
            yield Finding(
                "kubernetes.gang", f"the cluster has no {group}/{version}: {product} is not installed"
            )
        elif kubernetes.gang.queue is not None:
            name = kubernetes.gang.queue
            reply = ask(Question("queues", name, group, version, namespaced=False))
            yield from lacking("kubernetes.gang.queue", f"queue {name}", reply)
    if kubernetes.priority_class is not None:
        name = kubernetes.priority_class
        reply = ask(Question("priorityclasses", name, "scheduling.k8s.io", namespaced=False))
        yield from lacking("kubernetes.priority_class", f"priority class {name}", reply)


def _kueue(queue: str, kinds: Kinds, ask: Ask) -> Iterator[Finding]:
    key, (group, versions) = "kubernetes.queue", _KUEUE
    served = next((version for version in versions if "localqueues" in kinds(group, version)), None)
    if served is None:
        yield Finding(key, "the cluster has no LocalQueue: Kueue is not installed")
        return
    reply = ask(Question("localqueues", queue, group, served))
    yield from lacking(key, f"LocalQueue {queue}", reply)
    for condition in (reply.body.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Active" and condition.get("status") != "True":
            yield Finding(key, f"the LocalQueue {queue} is not active: {condition.get('message')}")


def _names(kubernetes: KubernetesSite, ask: Ask) -> Iterator[Finding]:
    """Objects of the namespace that pods name."""
    if kubernetes.service_account is not None:
        name = kubernetes.service_account
        reply = ask(Question("serviceaccounts", name))
        yield from lacking("kubernetes.service_account", f"service account {name}", reply)
    for index, name in enumerate(kubernetes.image_pull_secrets):
        key = f"kubernetes.image_pull_secrets[{index}]"
        reply = ask(Question("secrets", name))
        yield from lacking(key, f"Secret {name}", reply)
        kind = reply.body.get("type")
        if reply.there and kind not in _PULL_SECRETS:
            yield Finding(
                key, f"the Secret {name} is of type {kind}, and images are pulled with {_PULL_SECRETS[0]}"
            )
    for variable, secret in kubernetes.secrets.items():
        key = f"kubernetes.secrets.{variable}"
        reply = ask(Question("secrets", secret.name))
        yield from lacking(key, f"Secret {secret.name}", reply)
        known = reply.body.get("data") or {}
        if reply.there and secret.key not in known:
            has = ", ".join(known) or "no key"
            yield Finding(key, f"the Secret {secret.name} has no key {secret.key}; it has {has}")
    for index, network in enumerate(kubernetes.networks):
        yield from _network(
            f"kubernetes.networks[{index}]", network.partition("@")[0], kubernetes.namespace, ask
        )


def _network(key: str, network: str, namespace: str, ask: Ask) -> Iterator[Finding]:
    where, _, name = network.rpartition("/")
    if where not in ("", namespace):
        yield unseen(key, f"networks of the namespace {where}, as {network} is")
        return
    reply = ask(Question("network-attachment-definitions", name, "k8s.cni.cncf.io"))
    yield from lacking(key, f"NetworkAttachmentDefinition {name}", reply)
