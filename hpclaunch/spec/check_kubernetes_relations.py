"""Where keys of a Kubernetes cluster, each of them right, contradict one another or the site's others."""

from functools import partial

from hpclaunch.spec import findings
from hpclaunch.spec.kubernetes import TRAINING_OPERATOR, KubernetesSite
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import Problem

_SITE = ("kubernetes",)

_LAST_PRIVILEGED_PORT = 1023

_problem = partial(findings.problem, "site")


def cluster_relations(site: Site) -> list[Problem]:
    """What contradicts itself in the cluster of the site and in its groups of nodes, whose keys are each
    right."""
    kubernetes = site.kubernetes
    if kubernetes is None:
        return []
    return [
        *_rights(kubernetes),
        *_operator(kubernetes),
        *_gang(kubernetes),
        *_groups(site),
        *_host_paths(site),
    ]


def _rights(kubernetes: KubernetesSite) -> list[Problem]:
    """The user of the containers, and what must be given to it."""
    found = []
    run_as, rootless = kubernetes.run_as, kubernetes.profile == "rootless"
    if rootless and run_as is None:
        message = "profile: rootless needs a user that the images know: run_as: {user: 1000, home: /home/mpi}"
        found.append(_problem((*_SITE, "run_as"), message))
    if rootless and run_as is not None and run_as.user == 0:
        found.append(_problem((*_SITE, "run_as", "user"), "0 is root, and the profile is rootless"))
    if not rootless and run_as is not None and run_as.user > 0:
        message = f"profile: root runs as 0: write profile: rootless for user {run_as.user}"
        found.append(_problem((*_SITE, "run_as", "user"), message))
    if rootless and kubernetes.sshd.port <= _LAST_PRIVILEGED_PORT:
        message = (
            f"{kubernetes.sshd.port}: without root sshd can have no port below {_LAST_PRIVILEGED_PORT + 1}"
        )
        found.append(_problem((*_SITE, "sshd", "port"), message))
    if kubernetes.openshift and kubernetes.service_account is None:
        message = (
            "openshift: true needs it: the rights that jobs start with are given to a service account "
            "(hpclaunch site export rbac)"
        )
        found.append(_problem((*_SITE, "service_account"), message))
    return found


def _operator(kubernetes: KubernetesSite) -> list[Problem]:
    found = []
    mpijob = kubernetes.mpijob
    if mpijob is not None and mpijob.operator == TRAINING_OPERATOR:
        if mpijob.api != "v1":
            message = f"the training-operator serves v1 alone, not {mpijob.api}: write api: v1"
            found.append(_problem((*_SITE, "mpijob"), message))
        if kubernetes.mpi_operator is not None:
            message = "is the version of the mpi-operator, and mpijob says that the training-operator serves"
            found.append(_problem((*_SITE, "mpi_operator"), message))
    return found


def _gang(kubernetes: KubernetesSite) -> list[Problem]:
    gang = kubernetes.gang
    if gang is None:
        return []
    found = []
    if gang.scheduler == "scheduler-plugins" and gang.queue is not None:
        found.append(_problem((*_SITE, "gang", "queue"), "scheduler-plugins has no queues: Volcano has"))
    if kubernetes.mpi_operator is None and kubernetes.mpijob is None:
        message = "gangs are made by an MPI operator, and the site names none (mpi_operator)"
        found.append(_problem((*_SITE, "gang"), message))
    return found


def _groups(site: Site) -> list[Problem]:
    """Pods are sent to nodes of a type by labels or names: with several types each needs one of them."""
    found = []
    seen: list[dict[str, str]] = []
    for index, group in enumerate(site.node_types):
        here = ("node_types", index)
        if len(site.node_types) > 1 and not group.selector and group.hosts is None:
            message = "of several node types each needs a selector: the labels that its nodes have"
            found.append(_problem(here, message))
        elif group.selector and group.selector in seen:
            message = "an earlier group has the same labels: a pod could go to nodes of either"
            found.append(_problem((*here, "selector"), message))
        seen.append(group.selector)
    return found


def _host_paths(site: Site) -> list[Problem]:
    """Under Slurm such a path is as good as another; a hostPath may not have it (ValidatePathNoBacksteps in
    k8s.io/kubernetes/pkg/apis/core/validation)."""
    return [
        _problem(
            ("volumes", name, "path"),
            f"{volume.path!r} has a '..', which Kubernetes refuses: write the path without it",
        )
        for name, volume in site.volumes.items()
        if volume.behind == "path" and ".." in (volume.path or "").split("/")
    ]
