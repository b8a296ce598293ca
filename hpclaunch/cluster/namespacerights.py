"""What those who submit may do in a namespace, and whether the pods of jobs are let in."""

import json
from collections.abc import Iterator, Mapping

from hpclaunch.cluster.findings import Finding, unseen
from hpclaunch.cluster.podneeds import kubernetes_of, pod_needs
from hpclaunch.cluster.scc import scc_name
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.site import Site
from hpclaunch.values.clusterstate import Ask, Question, Reply

_AUTHORIZATION = "authorization.k8s.io"
_LEVELS = ("privileged", "baseline", "restricted")
_ENFORCE = "pod-security.kubernetes.io/enforce"

# What every submission and every status needs: (verb, group, resource, subresource).
_OWN = (
    ("create", "batch", "jobs", ""),
    ("list", "", "pods", ""),
    ("get", "", "pods", "log"),
    ("list", "", "events", ""),
)
_MPIJOBS = ("create", "kubeflow.org", "mpijobs", "")


def rights(site: Site, namespace: Reply, ask: Ask) -> Iterator[Finding]:
    """Which rights are lacking. `namespace` is the answer about the namespace itself."""
    kubernetes, needs = kubernetes_of(site), pod_needs(site)
    for verb, group, resource, part in (*((_MPIJOBS,) if needs.mpi else ()), *_OWN):
        attributes = {"verb": verb, "group": group, "resource": resource, "subresource": part}
        spec = {"resourceAttributes": {**attributes, "namespace": kubernetes.namespace}}
        whole = f"{resource}/{part}" if part else resource
        if _allowed(ask, "SelfSubjectAccessReview", spec, namespaced=False) is False:
            message = f"you may not {verb} {whole} in {kubernetes.namespace}"
            yield Finding("kubernetes.namespace", f"{message}: see `hpclaunch site export rbac`")
    if kubernetes.openshift:
        yield from _use_of_scc(kubernetes, ask)
    elif not namespace.there:
        yield unseen("kubernetes.namespace", "the namespace, and so not which pods it lets in")
    else:
        labels = namespace.body["metadata"].get("labels") or {}
        level = labels.get(_ENFORCE, _LEVELS[0])
        if level in _LEVELS and _LEVELS.index(level) > _LEVELS.index(needs.pod_security):
            message = f"the namespace is held to the Pod Security Standard {level}"
            why = f"jobs need {needs.pod_security}: {needs.why}"
            yield Finding("kubernetes.namespace", f"{message}, and {why}")


def _use_of_scc(kubernetes: KubernetesSite, ask: Ask) -> Iterator[Finding]:
    """Whether the account may use the exported constraints. Others that an administrator made by hand are not
    looked for: whether these let the pods in only a pod tells."""
    name, where, account = scc_name(kubernetes), kubernetes.namespace, kubernetes.service_account
    spec = {
        "user": f"system:serviceaccount:{where}:{account}",
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{where}", "system:authenticated"],
        "resourceAttributes": {
            "namespace": where,
            "verb": "use",
            "group": "security.openshift.io",
            "resource": "securitycontextconstraints",
            "name": name,
        },
    }
    allowed = _allowed(ask, "LocalSubjectAccessReview", spec, where)
    if allowed is None:
        yield unseen("kubernetes.service_account", f"whether {account} may use the SCC {name}")
    elif not allowed:
        message = (
            f"the account {account} may not use the SCC {name}, which `hpclaunch site export rbac` makes"
        )
        yield Finding("kubernetes.service_account", message)


def _allowed(
    ask: Ask, kind: str, spec: Mapping[str, object], namespace: str = "", namespaced: bool = True
) -> bool | None:
    """The cluster's opinion; None where one may not ask for it."""
    review = {
        "apiVersion": f"{_AUTHORIZATION}/v1",
        "kind": kind,
        "metadata": {"namespace": namespace} if namespace else {},
        "spec": spec,
    }
    plural = f"{kind.lower()}s"
    reply = ask(Question(plural, group=_AUTHORIZATION, namespaced=namespaced, review=json.dumps(review)))
    if not reply.there:
        return None
    return bool((reply.body.get("status") or {}).get("allowed"))
