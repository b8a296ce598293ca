"""Who may do what: the account that jobs run as, and the people and machines that submit them.

The two are apart: pods ask the API for nothing, and who submits gets no right of a pod's except through the
jobs made. (Whoever may make jobs in a namespace can let them run as any account of it.)
"""

from collections.abc import Mapping
from typing import Any

from hpclaunch.cluster.manifests import HEADER, Document, Manifest, manifest_text, metadata
from hpclaunch.cluster.podneeds import PodNeeds, kubernetes_of, pod_needs
from hpclaunch.cluster.scc import scc, scc_name
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site

RBAC = "rbac.authorization.k8s.io"
_DEFAULT = "default"  # the account that each namespace has
_SUBMIT, _SECRETS, _EXEC = "hpclaunch-submit", "hpclaunch-secrets", "hpclaunch-exec"

# Over a websocket it is a GET; from Kubernetes 1.35 on the right to create is asked for as well.
_ENTRY: Manifest = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]}


def rbac(site: Site, machines: Mapping[str, NodeType]) -> str:
    """The account of jobs with what lets its pods in (on OpenShift the SCC and its use, elsewhere the
    namespace's Pod Security labels), then the roles of those who submit."""
    kubernetes, needs = kubernetes_of(site), pod_needs(site)
    documents = [] if kubernetes.openshift else [_namespace(kubernetes, needs)]
    documents += _account(kubernetes)
    if kubernetes.openshift:
        documents += [scc(kubernetes, needs), *_use_of_scc(kubernetes)]
    documents += _submission(kubernetes, needs)
    return manifest_text(HEADER.format("Rights", site.name), documents)


def _namespace(kubernetes: KubernetesSite, needs: PodNeeds) -> Document:
    why = f" No stricter, since {needs.why}." if needs.why else ""
    comment = f"The Pod Security Standard that the namespace is held to.{why}"
    labels = [
        (f"pod-security.kubernetes.io/{mode}", needs.pod_security) for mode in ("enforce", "audit", "warn")
    ]
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(kubernetes.namespace, None, labels)}
    return comment, body


def _account(kubernetes: KubernetesSite) -> list[Document]:
    account = kubernetes.service_account
    if account in (None, _DEFAULT):
        return []
    body = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(str(account), kubernetes.namespace),
        "automountServiceAccountToken": False,
    }
    return [("What the pods of jobs run as. They ask nothing of the API, so they get no token for it.", body)]


def _use_of_scc(kubernetes: KubernetesSite) -> list[Document]:
    """The SCC is used by who has the verb `use` on it, in this namespace alone."""
    name = f"{scc_name(kubernetes)}-scc"
    rules = [
        {
            "apiGroups": ["security.openshift.io"],
            "resources": ["securitycontextconstraints"],
            "resourceNames": [scc_name(kubernetes)],
            "verbs": ["use"],
        }
    ]
    pods = {
        "kind": "ServiceAccount",
        "name": str(kubernetes.service_account),
        "namespace": kubernetes.namespace,
    }
    return [
        ("", _role(name, kubernetes, rules)),
        ("", _binding(name, kubernetes, [pods])),
    ]


def _submission(kubernetes: KubernetesSite, needs: PodNeeds) -> list[Document]:
    jobs = ["create", "get", "list", "watch", "delete"]
    seen = ["get", "list", "watch"]
    rules: list[Manifest] = []
    if needs.mpi:
        rules.append({"apiGroups": ["kubeflow.org"], "resources": ["mpijobs"], "verbs": jobs})
    rules += [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": jobs},
        {"apiGroups": [""], "resources": ["pods", "events"], "verbs": seen},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    ]
    secrets = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "get", "patch", "delete"]}]
    who = [_subject(text) for text in kubernetes.submitters]
    submit = "What those who submit need: to make jobs, and to see their pods, logs and events."
    reads = (
        "Only for those whose jobs have `secrets` or `inherit`, which a submission puts into a Secret for "
        "that job. Kubernetes cannot grant that for some Secrets alone: who has this role can read each one "
        "of the namespace. Leave it out where jobs take secrets that are there already (kubernetes.secrets)."
    )
    if not who:
        submit += (
            " The site names no submitters, so nobody has it yet: write kubernetes.submitters, or bind it "
            f"with `kubectl create rolebinding {_SUBMIT} --role {_SUBMIT} --group GROUP -n "
            f"{kubernetes.namespace}`."
        )
    found: list[Document] = [(submit, _role(_SUBMIT, kubernetes, rules))]
    found += [("", _binding(_SUBMIT, kubernetes, who))] if who else []
    found.append((reads, _role(_SECRETS, kubernetes, secrets)))
    found += [("", _binding(_SECRETS, kubernetes, who))] if who else []
    return [*found, (_entering(kubernetes), _role(_EXEC, kubernetes, [_ENTRY]))]


def _entering(kubernetes: KubernetesSite) -> str:
    return (
        "For `hpclaunch exec`. Nobody has it yet, since Kubernetes cannot grant it for one's own pods alone: "
        "who has this role can do in each pod of the namespace what its job can, and read its secrets. Where "
        f"all of them may: `kubectl create rolebinding {_EXEC} --role {_EXEC} --group GROUP -n "
        f"{kubernetes.namespace}`."
    )


def _role(name: str, kubernetes: KubernetesSite, rules: list[Manifest]) -> Manifest:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(name, kubernetes.namespace),
        "rules": rules,
    }


def _binding(name: str, kubernetes: KubernetesSite, subjects: list[dict[str, Any]]) -> Manifest:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(name, kubernetes.namespace),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": subjects,
    }


def _subject(text: str) -> dict[str, Any]:
    """Of user:NAME, group:NAME or serviceaccount:NAMESPACE:NAME, whose form the site's check has seen."""
    kind, _, name = text.partition(":")
    if kind == "serviceaccount":
        namespace, _, account = name.partition(":")
        return {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    return {"apiGroup": RBAC, "kind": kind.title(), "name": name}
