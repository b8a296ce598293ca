"""Small models of what a cluster asks of a pod: OpenShift's SCC, the Pod Security Standards, RBAC.

SCC: pkg/securitycontextconstraints of openshift/apiserver-library-go (sccmatching/provider.go and the
strategies). Pod Security: k8s.io/pod-security-admission/policy. RBAC: rules are added up.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Spec = Mapping[str, Any]

NAMESPACE_IDS = range(1_000_640_000, 1_000_650_000)  # of a project: openshift.io/sa.scc.uid-range
_SECCOMP = {"RuntimeDefault": "runtime/default", "Unconfined": "unconfined"}
_BASELINE_CAPABILITIES = {
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
    "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}  # fmt: skip
_RESTRICTED_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected",
    "secret",
}  # fmt: skip


def containers(pod: Spec) -> Iterator[tuple[Spec, dict[str, Any]]]:
    """Each container with its security context, where the pod's counts for what it leaves out."""
    for container in [*(pod.get("initContainers") or ()), *pod["containers"]]:
        yield container, {**(pod.get("securityContext") or {}), **(container.get("securityContext") or {})}


def volume_kinds(pod: Spec) -> list[str]:
    """The kind of each volume, as both standards name it."""
    return [next(key for key in volume if key != "name") for volume in pod.get("volumes") or ()]


def scc_refusals(scc: Spec, pod: Spec) -> list[str]:
    """Why the constraints do not let this pod in; [] where they do."""
    found: list[str] = []
    for key, allowed in (
        ("hostNetwork", "allowHostNetwork"),
        ("hostPID", "allowHostPID"),
        ("hostIPC", "allowHostIPC"),
    ):
        if pod.get(key) and not scc[allowed]:
            found.append(key)
    for kind in volume_kinds(pod):
        if kind not in scc["volumes"] or (kind == "hostPath" and not scc["allowHostDirVolumePlugin"]):
            found.append(f"volume {kind}")
    group = (pod.get("securityContext") or {}).get("fsGroup")
    if group is not None and not _in_ranges(scc["fsGroup"], group):
        found.append(f"fsGroup {group}")
    for container, context in containers(pod):
        found += [f"{container['name']}: {reason}" for reason in _scc_container(scc, container, context)]
    return found


def _scc_container(scc: Spec, container: Spec, context: Spec) -> Iterator[str]:
    if context.get("privileged") and not scc["allowPrivilegedContainer"]:
        yield "privileged"
    allowed = {*(scc["allowedCapabilities"] or ()), *(scc["defaultAddCapabilities"] or ())}
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability not in allowed:
            yield f"capability {capability}"
    user, strategy = context.get("runAsUser"), scc["runAsUser"]
    if user is None and strategy["type"] == "MustRunAs":
        user = strategy["uid"]  # admission sets it
    if strategy["type"] == "MustRunAs" and user != strategy["uid"]:
        yield f"user {user}"
    if context.get("runAsNonRoot") and user == 0:
        yield "root where runAsNonRoot is set"
    if context.get("allowPrivilegeEscalation") and not scc["allowPrivilegeEscalation"]:
        yield "privilege escalation"
    if scc["readOnlyRootFilesystem"] and context.get("readOnlyRootFilesystem") is False:
        yield "a root filesystem that can be written"
    seccomp = (context.get("seccompProfile") or {}).get("type")
    if seccomp is not None and _SECCOMP.get(seccomp, "localhost") not in (scc.get("seccompProfiles") or ()):
        yield f"seccomp {seccomp}"
    if any(port.get("hostPort") for port in container.get("ports") or ()) and not scc["allowHostPorts"]:
        yield "host port"


def _in_ranges(strategy: Spec, number: int) -> bool:
    if strategy["type"] == "RunAsAny":
        return True
    ranges = strategy.get("ranges")
    if ranges is None:
        return number in NAMESPACE_IDS
    return any(one["min"] <= number <= one["max"] for one in ranges)


def pod_security_refusals(level: str, pod: Spec) -> list[str]:
    """Why a namespace that is held to this level does not let the pod in."""
    if level == "privileged":
        return []
    found = [key for key in ("hostNetwork", "hostPID", "hostIPC") if pod.get(key)]
    found += [f"volume {kind}" for kind in volume_kinds(pod) if kind == "hostPath"]
    if level == "restricted":
        found += [f"volume {kind}" for kind in volume_kinds(pod) if kind not in _RESTRICTED_VOLUMES]
    for container, context in containers(pod):
        found += [f"{container['name']}: {reason}" for reason in _pod_security(level, container, context)]
    return found


def _pod_security(level: str, container: Spec, context: Spec) -> Iterator[str]:
    capabilities = context.get("capabilities") or {}
    add = set(capabilities.get("add") or ())
    seccomp = (context.get("seccompProfile") or {}).get("type")
    if context.get("privileged"):
        yield "privileged"
    if add - _BASELINE_CAPABILITIES:
        yield f"capabilities {sorted(add - _BASELINE_CAPABILITIES)}"
    if any(port.get("hostPort") for port in container.get("ports") or ()):
        yield "host port"
    if seccomp == "Unconfined":
        yield "seccomp"
    if level != "restricted":
        return
    if context.get("allowPrivilegeEscalation") is not False:
        yield "privilege escalation"
    if not context.get("runAsNonRoot") or context.get("runAsUser") == 0:
        yield "may be root"
    if seccomp not in ("RuntimeDefault", "Localhost"):
        yield "no seccomp profile"
    if "ALL" not in (capabilities.get("drop") or ()) or add - {"NET_BIND_SERVICE"}:
        yield "capabilities that are not dropped"


class Rbac:
    """The Roles and RoleBindings of a namespace."""

    def __init__(self, documents: Iterable[Spec]) -> None:
        found = list(documents)
        self.rules = {each["metadata"]["name"]: each["rules"] for each in found if each["kind"] == "Role"}
        self.bindings = [each for each in found if each["kind"] == "RoleBinding"]

    def allows(self, subject: tuple[str, str], verb: str, group: str, resource: str, name: str = "") -> bool:
        """Whether a subject (kind, name) may do this."""
        return any(
            verb in rule["verbs"]
            and group in rule["apiGroups"]
            and resource in rule["resources"]
            and name in rule.get("resourceNames", [name])
            for rule in self._rules_of(subject)
        )

    def _rules_of(self, subject: tuple[str, str]) -> Sequence[Spec]:
        return [
            rule
            for binding in self.bindings
            if subject in [(each["kind"], each["name"]) for each in binding["subjects"]]
            for rule in self.rules[binding["roleRef"]["name"]]
        ]
