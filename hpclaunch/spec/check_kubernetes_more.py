"""What is wrong in the keys of a Kubernetes cluster that few sites have: huge pages, secrets, labels and
annotations of their own, and what only the administrator's exports take."""

from functools import partial

from hpclaunch.spec import apiwords, check_text, findings, scalars
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.scalars import shown
from hpclaunch.values import quantity
from hpclaunch.values.errors import Path, Problem

_SITE = ("kubernetes",)

# Labels and annotations that others set: the key or its domain -> what to write instead.
_OWNED = {
    "hpclaunch": "hpclaunch sets it",
    "app.kubernetes.io/managed-by": "hpclaunch sets it",
    "training.kubeflow.org": "the MPI operator sets it",
    "kueue.x-k8s.io/queue-name": "write kubernetes.queue",
    "kueue.x-k8s.io/priority-class": "write kubernetes.priority_class",
    "k8s.v1.cni.cncf.io/networks": "write kubernetes.networks",
    "scheduling.volcano.sh/queue-name": "write kubernetes.gang.queue",
}

_check = partial(findings.check, "site")
_problem = partial(findings.problem, "site")


def more_problems(kubernetes: KubernetesSite) -> list[Problem]:
    """Every problem of these keys alone."""
    found: list[Problem] = []
    for size, amount in kubernetes.hugepages.items():
        _check(found, (*_SITE, "hugepages", size), partial(_pages, size), amount)
    for variable, secret_key in kubernetes.secrets.items():
        path = (*_SITE, "secrets", variable)
        _check(found, path, scalars.variable_name, variable)
        _check(found, (*path, "name"), apiwords.name, secret_key.name)
        _check(found, (*path, "key"), apiwords.secret_key, secret_key.key)
    found += _labels(kubernetes.labels, (*_SITE, "labels"))
    for key in kubernetes.annotations:
        _check(found, (*_SITE, "annotations", key), _free_key, key)
    return found + _for_exports(kubernetes)


def _for_exports(kubernetes: KubernetesSite) -> list[Problem]:
    """What only the administrator's exports take."""
    found: list[Problem] = []
    for resource, interfaces in kubernetes.rdma_interfaces.items():
        path = (*_SITE, "rdma_interfaces", resource)
        if resource not in kubernetes.rdma.values():
            known = ", ".join(kubernetes.rdma.values())
            message = f"kubernetes.rdma has no HCA with this resource; it has: {known}"
            found.append(_problem(path, message))
        for index, interface in enumerate(interfaces):
            _check(found, (*path, index), apiwords.interface, interface)
    _check(found, (*_SITE, "machine_pool"), apiwords.short_name, kubernetes.machine_pool)
    for index, submitter in enumerate(kubernetes.submitters):
        _check(found, (*_SITE, "submitters", index), _submitter, submitter)
    return found


def _labels(labels: dict[str, str], path: Path) -> list[Problem]:
    found: list[Problem] = []
    for key, value in labels.items():
        _check(found, (*path, key), _free_key, key)
        _check(found, (*path, key), apiwords.label_value, value)
    return found


def _free_key(key: str) -> None:
    """The key of a label or annotation that nobody else sets."""
    apiwords.label_key(key)
    owned = _OWNED.get(key) or _OWNED.get(key.partition("/")[0])
    if owned is not None and "/" in key:
        raise ValueError(f"{key} is not the site's to set: {owned}")


def _pages(size: str, amount: str) -> None:
    if size.startswith("hugepages-"):
        raise ValueError(f"write the size alone: {size.removeprefix('hugepages-')}")
    page = apiwords.page_size(size)
    total = apiwords.memory(amount)
    if total % page:
        right = quantity.of_bytes((total // page + 1) * page)
        raise ValueError(f"{shown(amount)} is no multiple of the page size {size}: {right} is the next")


def _submitter(text: str) -> None:
    kind, _, rest = text.partition(":")
    if kind in ("user", "group") and rest:
        check_text.line(rest)
        return
    namespace, _, account = rest.partition(":")
    if kind != "serviceaccount" or not account:
        raise ValueError(f"{shown(text)}: write user:NAME, group:NAME or serviceaccount:NAMESPACE:NAME")
    apiwords.label(namespace)
    apiwords.name(account)
