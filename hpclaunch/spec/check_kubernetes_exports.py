"""What is wrong in the keys of a Kubernetes cluster that only the administrator's exports take."""

from functools import partial

from hpclaunch.spec import apiwords, check_text, findings
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.scalars import shown
from hpclaunch.values.errors import Problem

_SITE = ("kubernetes",)

_check = partial(findings.check, "site")
_problem = partial(findings.problem, "site")


def export_problems(kubernetes: KubernetesSite) -> list[Problem]:
    """Every problem of these keys alone."""
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
