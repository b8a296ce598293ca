"""What the versions of Kubernetes know (`data/kubernetes.yaml`), and which of the kernel's capabilities ranks
in pods need beyond those of every container."""

from functools import cache

import msgspec

from hpclaunch.capability.tables import read, version

# What sshd as root needs to become a session: to change its user, and its root folder while a connection is
# not authenticated (OpenSSH's privilege separation). CRI-O, which is OpenShift's runtime too, leaves
# SYS_CHROOT out.
SSHD = ("SETGID", "SETUID", "SYS_CHROOT")
PINNING = "IPC_LOCK"  # verbs pin memory beyond the limit of a container


@cache
def _fields() -> dict[str, str]:
    return msgspec.convert(read("kubernetes.yaml"), dict[str, str])


def field_since(field: str) -> str:
    """The version that brought a field. KeyError: the table does not name it."""
    return _fields()[field]


def has_field(field: str, cluster_version: str | None) -> bool:
    """Whether this version knows that field; a cluster whose version nobody says is a new one."""
    return cluster_version is None or version(field_since(field)) <= version(cluster_version)
