"""What is wrong in the labels and annotations that a site gives to all objects of its Kubernetes cluster."""

from functools import partial

from hpclaunch.spec import apiwords, findings
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.values.errors import Problem

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


def label_problems(kubernetes: KubernetesSite) -> list[Problem]:
    """Every problem of these keys alone."""
    found: list[Problem] = []
    for key, value in kubernetes.labels.items():
        _check(found, (*_SITE, "labels", key), _free_key, key)
        _check(found, (*_SITE, "labels", key), apiwords.label_value, value)
    for key in kubernetes.annotations:
        _check(found, (*_SITE, "annotations", key), _free_key, key)
    return found


def _free_key(key: str) -> None:
    """The key of a label or annotation that nobody else sets."""
    apiwords.label_key(key)
    owned = _OWNED.get(key) or _OWNED.get(key.partition("/")[0])
    if owned is not None and "/" in key:
        raise ValueError(f"{key} is not the site's to set: {owned}")
