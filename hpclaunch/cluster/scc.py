"""The SecurityContextConstraints with which a site's jobs start on OpenShift.

Form: security/v1/types.go of openshift/api. It is the built-in `restricted` with what the jobs need beside:
that one gives each namespace users of its own that no image knows, and no capability.
"""

from typing import Any

from hpclaunch.cluster.manifests import MANAGED, Document, Manifest
from hpclaunch.cluster.podneeds import PodNeeds
from hpclaunch.spec.kubernetes import KubernetesSite

# A container that asks for nothing fits several constraints, and the one of the highest priority counts. With
# a lower one than `restricted` it would run as a user that its image does not know.
PRIORITY = 10
_VOLUMES = ("configMap", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret")


def scc_name(kubernetes: KubernetesSite) -> str:
    """The name of the constraints, which are of the whole cluster."""
    return f"hpclaunch-{kubernetes.namespace}-{kubernetes.service_account}"


def scc(kubernetes: KubernetesSite, needs: PodNeeds) -> Document:
    """The constraints of the site's profile."""
    more = ["hostPath"] if needs.host_paths else []
    more += ["nfs"] if needs.nfs else []
    body: Manifest = {
        "apiVersion": "security.openshift.io/v1",
        "kind": "SecurityContextConstraints",
        "metadata": {"name": scc_name(kubernetes), "labels": MANAGED},
        "priority": PRIORITY,
        "allowPrivilegedContainer": False,
        "allowPrivilegeEscalation": False,
        "allowHostNetwork": False,
        "allowHostPorts": False,
        "allowHostPID": False,
        "allowHostIPC": False,
        "allowHostDirVolumePlugin": bool(needs.host_paths),
        "volumes": sorted([*_VOLUMES, *more]),
        "defaultAddCapabilities": None,
        "allowedCapabilities": list(needs.capabilities) or None,
        "requiredDropCapabilities": ["KILL", "MKNOD"] if needs.root else ["ALL"],
        "runAsUser": _user(kubernetes, needs),
        "seLinuxContext": {"type": "MustRunAs"},
        "fsGroup": _volumes_group(kubernetes, needs),
        "supplementalGroups": {"type": "RunAsAny"},
        "readOnlyRootFilesystem": False,
        "seccompProfiles": ["runtime/default"],
        "users": [],
        "groups": [],
    }
    return _comment(needs), body


def _user(kubernetes: KubernetesSite, needs: PodNeeds) -> dict[str, Any]:
    if needs.root:
        return {"type": "RunAsAny"}
    assert kubernetes.run_as is not None  # the site's check
    return {"type": "MustRunAs", "uid": kubernetes.run_as.user}


def _volumes_group(kubernetes: KubernetesSite, needs: PodNeeds) -> dict[str, Any]:
    """With a group the kubelet makes the operator's ssh key readable for it, and ssh as root refuses a key
    that others may read."""
    if needs.root:
        return {"type": "RunAsAny"}
    assert kubernetes.run_as is not None
    if kubernetes.run_as.group is None:
        return {"type": "MustRunAs"}
    group = kubernetes.run_as.group
    return {"type": "MustRunAs", "ranges": [{"min": group, "max": group}]}


def _comment(needs: PodNeeds) -> str:
    if not needs.root:
        parts = ["Jobs run as the one user that their images know, and without any capability."]
    elif needs.ssh:
        parts = ["Jobs run as root inside their containers: sshd needs SETUID, SETGID and SYS_CHROOT."]
    else:
        parts = ["Jobs run as the user that their image or the job names, which may be root."]
    if needs.rdma and needs.root:
        parts.append("RDMA needs IPC_LOCK, since it pins memory.")
    if needs.rdma and not needs.root:
        parts.append("RDMA pins memory, which the runtime's limits must allow: export machine-config.")
    if needs.host_paths:
        parts.append(
            f"Host paths are allowed for {', '.join(needs.host_paths)}; SELinux lets a container see only "
            "what is labelled container_file_t."
        )
    return " ".join(parts)
