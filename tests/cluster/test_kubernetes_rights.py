"""`site export rbac`: what it lets in is what the plan's pods need, and no more."""

from pathlib import Path
from typing import Any

import pytest
from admission import Rbac, pod_security_refusals, scc_refusals
from kubernetes_sites import ROOT, ROOTLESS, SHARED, exported, job_file, of_kind, pods, site_file

OPENSHIFT = ("openshift: true", "service_account: mpi", 'version: "1.27"')
OPERATOR = 'mpi_operator: "0.8.0"'
HOST_PATH = "path: /gpfs/data"

# The keys of a SecurityContextConstraints that its CRD requires, and all that it knows (openshift/api,
# security/v1/types.go).
REQUIRED = {
    "allowHostDirVolumePlugin", "allowHostIPC", "allowHostNetwork", "allowHostPID", "allowHostPorts",
    "allowPrivilegedContainer", "allowedCapabilities", "defaultAddCapabilities", "priority",
    "readOnlyRootFilesystem", "requiredDropCapabilities", "volumes",
}  # fmt: skip
KNOWN = REQUIRED | {
    "apiVersion", "kind", "metadata", "allowedFlexVolumes", "userNamespaceLevel",
    "defaultAllowPrivilegeEscalation", "allowPrivilegeEscalation", "seLinuxContext", "runAsUser",
    "supplementalGroups", "fsGroup", "users", "groups", "seccompProfiles", "allowedUnsafeSysctls",
    "forbiddenSysctls",
}  # fmt: skip


def constraints(site: str | Path) -> dict[str, Any]:
    """The one SCC that is exported for a site."""
    (scc,) = of_kind(exported("rbac", site), "SecurityContextConstraints")
    assert set(scc) >= REQUIRED
    assert set(scc) <= KNOWN
    return scc


PROFILES = {
    "root": (OPERATOR,),
    "root, RDMA": (OPERATOR, SHARED),
    "rootless": (OPERATOR, ROOTLESS),
    "rootless, RDMA": (OPERATOR, ROOTLESS, SHARED),
    "rootless without a group": (OPERATOR, "profile: rootless, run_as: {user: 1000, home: /h}"),
    "v1alpha2": ('mpi_operator: "0.2.3"', "mpijob: {api: v1alpha2}", SHARED),
    "no operator": (),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("volume", ["claim: data", HOST_PATH, "nfs: {server: nas, path: /data}"])
def test_the_scc_lets_the_plans_pods_in(tmp_path: Path, profile: str, volume: str) -> None:
    site = site_file(tmp_path, *OPENSHIFT, *PROFILES[profile], volume=volume)
    scc = constraints(site)
    for nodes in (1, 2) if profile != "no operator" else (1,):
        for pod in pods(job_file(tmp_path, nodes), site):
            assert scc_refusals(scc, pod) == []
            assert pod["serviceAccountName"] == "mpi"


def with_a_local_volume(site: Path) -> Path:
    """Where folders can be copied to."""
    site.write_text(site.read_text().replace("volumes: {", "volumes: {local: {empty_dir: {}}, "))
    return site


@pytest.mark.parametrize("profile", PROFILES)
def test_what_lets_workers_in_lets_the_copying_before_them_in(tmp_path: Path, profile: str) -> None:
    """An init container of the job's image, with no capability of its own."""
    site = with_a_local_volume(site_file(tmp_path, *OPENSHIFT, *PROFILES[profile]))
    scc = constraints(site)
    for nodes in (1, 2) if profile != "no operator" else (1,):
        found = pods(job_file(tmp_path, nodes, more="stage_in: ['data:local']"), site)
        assert [each["name"] for each in found[-1]["initContainers"]] == ["hpclaunch-stage-in"]
        assert [scc_refusals(scc, pod) for pod in found] == [[]] * len(found)


@pytest.mark.parametrize("capability", ["SETUID", "SETGID", "SYS_CHROOT", "IPC_LOCK"])
def test_each_capability_is_needed(tmp_path: Path, capability: str) -> None:
    site = site_file(tmp_path, *OPENSHIFT, OPERATOR, SHARED)
    scc = constraints(site)
    assert set(scc["allowedCapabilities"]) == {"SETUID", "SETGID", "SYS_CHROOT", "IPC_LOCK"}
    scc["allowedCapabilities"].remove(capability)
    refused = [reason for pod in pods(job_file(tmp_path), site) for reason in scc_refusals(scc, pod)]
    assert any(reason.endswith(f"capability {capability}") for reason in refused)


@pytest.mark.parametrize(
    ("keys", "capabilities"),
    [
        ((OPERATOR,), ["SETGID", "SETUID", "SYS_CHROOT"]),  # no HCAs
        ((SHARED,), ["IPC_LOCK"]),  # no operator, so no sshd
        (('mpi_operator: "0.2.3"', SHARED), ["IPC_LOCK"]),  # ranks by kubectl exec
        ((OPERATOR, SHARED, ROOTLESS), None),
    ],
)
def test_no_capability_that_the_site_has_no_use_for(
    tmp_path: Path, keys: tuple[str, ...], capabilities: list[str] | None
) -> None:
    assert constraints(site_file(tmp_path, *OPENSHIFT, *keys))["allowedCapabilities"] == capabilities


def test_host_paths_only_where_the_site_has_some(tmp_path: Path) -> None:
    job = job_file(tmp_path, nodes=1)
    with_paths = site_file(tmp_path, *OPENSHIFT, volume=HOST_PATH)
    (pod,) = pods(job, with_paths)
    assert scc_refusals(constraints(with_paths), pod) == []
    without = constraints(site_file(tmp_path, *OPENSHIFT, volume="claim: data, path: /gpfs/data"))
    assert scc_refusals(without, pod) == ["volume hostPath"]


def test_a_privileged_job_is_not_let_in(tmp_path: Path) -> None:
    site = site_file(tmp_path, *OPENSHIFT)
    (pod,) = pods(job_file(tmp_path, nodes=1, more="container: {privileged: true}"), site)
    assert any("privileged" in reason for reason in scc_refusals(constraints(site), pod))


def test_rootless_pods_have_the_one_user(tmp_path: Path) -> None:
    site = site_file(tmp_path, *OPENSHIFT, OPERATOR, ROOTLESS)
    scc = constraints(site)
    (_, pod) = pods(job_file(tmp_path), site)
    other = {**scc, "runAsUser": {"type": "MustRunAs", "uid": 1001}}
    assert any("user 1000" in reason for reason in scc_refusals(other, pod))
    assert scc["requiredDropCapabilities"] == ["ALL"]


JOBS = [
    ("tf2-a2d2-16x01x02-gpu", "openshift-dgx1-spectrumscale"),
    ("16gpu-tensorflow-benchmark-imagenet", "openshift-robotic-drive"),
    ("maskrcnn", "openshift-supermicro"),
]


@pytest.mark.parametrize(("job", "site"), JOBS)
def test_the_published_jobs_start_on_their_sites(job: str, site: str) -> None:
    scc = constraints(site)
    for pod in pods(ROOT / "examples" / f"{job}.yaml", site):
        assert scc_refusals(scc, pod) == []


LEVELS = [
    ("restricted", (OPERATOR, ROOTLESS, SHARED), "claim: data"),
    ("baseline", (OPERATOR,), "claim: data"),
    ("baseline", (OPERATOR, ROOTLESS), "nfs: {server: nas, path: /data}"),
    ("privileged", (OPERATOR, SHARED), "claim: data"),
    ("privileged", (OPERATOR, ROOTLESS), HOST_PATH),
]


@pytest.mark.parametrize(("level", "keys", "volume"), LEVELS)
def test_the_namespace_is_held_to_the_strictest_level_that_lets_the_pods_in(
    tmp_path: Path, level: str, keys: tuple[str, ...], volume: str
) -> None:
    site = site_file(tmp_path, *keys, volume=volume)
    (namespace,) = of_kind(exported("rbac", site), "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == level
    found = pods(job_file(tmp_path), site)
    assert [pod_security_refusals(level, pod) for pod in found] == [[]] * len(found)
    stricter = {"privileged": "baseline", "baseline": "restricted"}.get(level)
    if stricter is not None:
        assert any(pod_security_refusals(stricter, pod) for pod in found)
    copying = pods(job_file(tmp_path, more="stage_in: ['data:local']"), with_a_local_volume(site))
    assert [pod_security_refusals(level, pod) for pod in copying] == [[]] * len(found)


# What hpclaunch itself asks the API for.
REQUESTS = [
    ("create", "kubeflow.org", "mpijobs"),
    ("get", "kubeflow.org", "mpijobs"),
    ("list", "kubeflow.org", "mpijobs"),
    ("delete", "kubeflow.org", "mpijobs"),
    ("create", "batch", "jobs"),
    ("delete", "batch", "jobs"),
    ("list", "", "pods"),
    ("get", "", "pods/log"),
    ("list", "", "events"),
    ("create", "", "secrets"),
    ("get", "", "secrets"),
    ("patch", "", "secrets"),
    ("delete", "", "secrets"),
]


def test_submitters_and_pods_are_two_subjects(tmp_path: Path) -> None:
    people = "submitters: ['group:adas', 'user:alice@example.com', 'serviceaccount:ci:runner']"
    documents = exported("rbac", site_file(tmp_path, *OPENSHIFT, OPERATOR, people))
    rbac = Rbac(documents)
    pod, scc = ("ServiceAccount", "mpi"), "hpclaunch-adas-mpi"
    for who in (("Group", "adas"), ("User", "alice@example.com"), ("ServiceAccount", "runner")):
        assert [request for request in REQUESTS if not rbac.allows(who, *request)] == []
        assert not rbac.allows(who, "use", "security.openshift.io", "securitycontextconstraints", scc)
        assert not rbac.allows(who, "create", "", "pods/exec")
        assert not rbac.allows(who, "list", "", "secrets")
    assert rbac.allows(pod, "use", "security.openshift.io", "securitycontextconstraints", scc)
    assert not rbac.allows(pod, "use", "security.openshift.io", "securitycontextconstraints", "privileged")
    assert [request for request in REQUESTS if rbac.allows(pod, *request)] == []
    (account,) = of_kind(documents, "ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    runner = [
        subject
        for binding in of_kind(documents, "RoleBinding")
        for subject in binding["subjects"]
        if subject["name"] == "runner"
    ]
    assert {subject["namespace"] for subject in runner} == {"ci"}


def test_without_submitters_nobody_is_given_anything(tmp_path: Path) -> None:
    documents = exported("rbac", site_file(tmp_path, OPERATOR))
    assert of_kind(documents, "RoleBinding") == []
    assert len(of_kind(documents, "Role")) == 3


def test_who_is_given_its_role_may_enter_pods_and_no_more(tmp_path: Path) -> None:
    documents = list(exported("rbac", site_file(tmp_path, OPERATOR, "submitters: ['user:a']")))
    (binding,) = [each for each in of_kind(documents, "RoleBinding") if "submit" in each["metadata"]["name"]]
    (role,) = [each for each in of_kind(documents, "Role") if each["metadata"]["name"] == "hpclaunch-exec"]
    given = {
        "roleRef": {**binding["roleRef"], "name": "hpclaunch-exec"},
        "subjects": [{"kind": "User", "name": "b"}],
    }
    rbac = Rbac([*documents, {**binding, **given}])
    for verb in ("create", "get"):
        assert rbac.allows(("User", "b"), verb, "", "pods/exec")
        assert not rbac.allows(("User", "a"), verb, "", "pods/exec")
    assert [request for request in REQUESTS if rbac.allows(("User", "b"), *request)] == []
    assert len(role["rules"]) == 1


def test_a_site_without_an_operator_has_no_mpijobs(tmp_path: Path) -> None:
    people = "submitters: ['user:a']"
    rbac = Rbac(exported("rbac", site_file(tmp_path, people)))
    assert not rbac.allows(("User", "a"), "create", "kubeflow.org", "mpijobs")
    assert rbac.allows(("User", "a"), "create", "batch", "jobs")
