"""What the versions of Kubernetes and of the MPI operator can do, and which of the kernel's capabilities
ranks in pods need beyond those of every container.

The tables are here: to read such small ones from YAML takes a start as long as all else that plans pods.
"""

from functools import cache

from hpclaunch.capability.tables import version

# What sshd as root needs to become a session: to change its user, and its root folder while a connection is
# not authenticated (OpenSSH's privilege separation). CRI-O, which is OpenShift's runtime too, leaves
# SYS_CHROOT out.
SSHD = ("SETGID", "SETUID", "SYS_CHROOT")
PINNING = "IPC_LOCK"  # verbs pin memory beyond the limit of a container

# The version of Kubernetes that brought a field of its API, from its release notes and the types in
# k8s.io/api. A client that validates what it sends refuses a field that the cluster does not know.
_FIELDS = {
    "ttlSecondsAfterFinished": "1.12",
    "enableServiceLinks": "1.13",
    "seccompProfile": "1.19",
    "fsGroupChangePolicy": "1.20",
}

# The versions of the MPI operator, from its sources (github.com/kubeflow/mpi-operator, the tags v0.2.0 to
# v0.8.0: pkg/apis, pkg/controller). v1 is also served by the Kubeflow training-operator, up to 1.9.

# API, newest first -> the versions of the operator that serve it, first and last ("": to this day).
_APIS = {
    "v2beta1": ("0.3.0", ""),
    "v1": ("0.2.3", "0.3.0"),
    "v1alpha2": ("0.2.0", "0.3.0"),
}

# Whose launchers reach workers by ssh. Those of the others do by kubectl exec.
_BY_SSH = frozenset({"v2beta1"})

# What the operator does not look at in an object of an API (the training-operator does, for v1).
_IGNORES = {
    "v1alpha2": ("ttlSecondsAfterFinished", "schedulingPolicy", "scheduling.volcano.sh/queue-name"),
    "v1": ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "schedulingPolicy"),
}

# The version that brought a field or a value of v2beta1.
_FEATURES = {
    "sshAuthMountPath": "0.3.0",
    "mpiImplementation Intel": "0.3.0",
    "schedulingPolicy": "0.4.0",
    "mpiImplementation MPICH": "0.5.0",
    "launcherCreationPolicy": "0.5.0",
    "managedBy": "0.6.0",
}


def field_since(field: str) -> str:
    """The version of Kubernetes that brought a field. KeyError: the table does not name it."""
    return _FIELDS[field]


def has_field(field: str, cluster_version: str | None) -> bool:
    """Whether this version knows that field; a cluster whose version nobody says is a new one."""
    return cluster_version is None or version(field_since(field)) <= version(cluster_version)


@cache
def apis(operator_version: str) -> tuple[str, ...]:
    """The APIs that this version of the operator serves, newest first."""
    known = version(operator_version)
    return tuple(
        name
        for name, (since, until) in _APIS.items()
        if version(since) <= known and (not until or known <= version(until))
    )


def api_of_jobs(said: str | None, operator_version: str | None) -> str | None:
    """The API that a site's jobs use: what the site says, else the newest that its operator serves. None
    where there is neither."""
    if said is not None:
        return said
    served = apis(operator_version) if operator_version is not None else ()
    return served[0] if served else None


def by_ssh(api: str) -> bool:
    """Whether launchers of an API reach the workers by ssh; by kubectl exec otherwise."""
    return api in _BY_SSH


def span(api: str) -> str:
    """Which versions of the operator serve an API, in words: "0.2.0 to 0.3.0"."""
    since, until = _APIS[api]
    return f"{since} to {until}" if until else f"{since} and newer"


def heeds(api: str, field: str) -> bool:
    """Whether the operator does what this field of the API's run policy says."""
    return field not in _IGNORES.get(api, ())


def feature_since(feature: str) -> str:
    """The version of the operator that brought a field of v2beta1. KeyError: the table does not name it."""
    return _FEATURES[feature]


def has_feature(feature: str, operator_version: str) -> bool:
    """Whether this version of the operator knows that field of v2beta1."""
    return version(feature_since(feature)) <= version(operator_version)
