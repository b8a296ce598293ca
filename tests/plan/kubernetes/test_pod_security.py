"""The rights of containers: no more than the site's profile needs, and no combination that does not start."""

from typing import Any

import pytest
from pod_plans import planned, refused, target, warned, worker

ROOTLESS = {"profile": "rootless", "run_as": {"user": 1000, "home": "/home/mpi", "group": 2000}}
OPENSHIFT = {"openshift": True, "service_account": "mpi"}
EXEC = {"mpi_operator": "0.2.3", "mpijob": {"api": "v1alpha2"}}
ONE = {"nodes": 1}
NONE: dict[str, Any] = {"rdma": {}}

# What a process may do to its node with any of these, or with `privileged`, goes beyond a container.
POWERFUL = {"SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN", "NET_RAW", "DAC_OVERRIDE", "SYS_MODULE"}


@pytest.mark.parametrize("openshift", [{}, OPENSHIFT])
@pytest.mark.parametrize("job", [{}, ONE])
@pytest.mark.parametrize("profile", [{}, ROOTLESS, EXEC])
def test_nobody_is_privileged_by_itself(
    openshift: dict[str, Any], job: dict[str, Any], profile: dict[str, Any]
) -> None:
    pods = target(planned(job, {**profile, **openshift}))
    for pod in (pods.worker, pods.launcher):
        if pod is not None:
            assert not pod.security.privileged
            assert not POWERFUL & set(pod.security.add)


@pytest.mark.parametrize(
    ("job", "site", "user", "add"),
    [
        # sshd changes its user and its root folder, which CRI-O lets nobody do by itself.
        ({}, OPENSHIFT, 0, {"SETGID", "SETUID", "SYS_CHROOT", "IPC_LOCK"}),
        ({}, {**OPENSHIFT, **NONE}, 0, {"SETGID", "SETUID", "SYS_CHROOT"}),
        ({}, {}, 0, {"SETGID", "SETUID", "SYS_CHROOT", "IPC_LOCK"}),
        ({}, NONE, 0, {"SETGID", "SETUID", "SYS_CHROOT"}),
        # kubectl exec and one pod need no sshd, so the image's own user is kept.
        ({}, {**EXEC, **OPENSHIFT}, None, {"IPC_LOCK"}),
        (ONE, OPENSHIFT, None, {"IPC_LOCK"}),
        (ONE, NONE, None, set()),
        ({**ONE, "container": {"remap_root": True}}, NONE, 0, set()),
        ({**ONE, "sites": {"s": {"user": 1000}}}, NONE, 1000, set()),
    ],
)
def test_the_root_profile(job: dict[str, Any], site: dict[str, Any], user: int | None, add: set[str]) -> None:
    rights = worker(job, site).security
    assert rights.run_as_user == user
    assert set(rights.add) == add
    assert not rights.run_as_non_root


def test_the_rootless_profile() -> None:
    pods = target(planned({}, ROOTLESS))
    for pod in (pods.worker, pods.launcher):
        assert pod is not None
        rights = pod.security
        assert (rights.run_as_user, rights.run_as_group, rights.fs_group) == (1000, 2000, 2000)
        assert (rights.add, rights.drop_all, rights.run_as_non_root) == ((), True, True)
        assert rights.allow_privilege_escalation is False
        assert rights.seccomp_profile == "RuntimeDefault"
    assert pods.mpi_job is not None
    assert pods.mpi_job.ssh_auth_mount_path == "/home/mpi/.ssh"


def test_memory_that_cannot_be_pinned_is_said() -> None:
    """A capability of a container is not effective for a process that is not root."""
    assert warned(planned({}, ROOTLESS), "memlock")
    assert warned(planned({**ONE, "sites": {"s": {"user": 1000}}}), "memlock")
    for plan in (planned({}, {**ROOTLESS, **NONE}), planned(), planned({**ONE, "sites": {"s": {"user": 0}}})):
        assert not [warning for warning in plan.warnings if "memlock" in warning]


def test_the_launcher_has_no_more_than_the_workers() -> None:
    for site in (OPENSHIFT, ROOTLESS, {}):
        pods = target(planned({}, site))
        assert pods.launcher is not None
        assert pods.launcher.security.add == ()
        assert pods.launcher.security.run_as_user == pods.worker.security.run_as_user
    pods = target(planned({"container": {"privileged": True}}))
    assert pods.launcher is not None
    assert not pods.launcher.security.privileged


def test_privileged_when_the_job_asks_and_never_unsaid() -> None:
    for site in ({}, ROOTLESS):
        plan = planned({"container": {"privileged": True}}, site)
        rights = target(plan).worker.security
        assert rights.privileged
        # The API refuses these beside it.
        assert (rights.drop_all, rights.allow_privilege_escalation) == (False, None)
        assert warned(plan, "all rights on its node")


def test_a_root_filesystem_that_is_read_only() -> None:
    assert worker({"container": {"writable": False}}).security.read_only_root
    assert not worker().security.read_only_root


USER = ("job", ("sites", "s", "user"))


@pytest.mark.parametrize(
    ("job", "site", "where"),
    [
        ({"container": {"remap_root": True}}, ROOTLESS, ("job", ("container", "remap_root"))),
        ({"sites": {"s": {"user": 5}}}, {}, USER),  # sshd says: no user exists for uid 5
        ({**ONE, "sites": {"s": {"user": 0}}}, ROOTLESS, USER),  # runAsNonRoot: the kubelet refuses
        ({**ONE, "container": {"remap_root": True}, "sites": {"s": {"user": 5}}}, {}, USER),
    ],
)
def test_users_that_cannot_be(job: dict[str, Any], site: dict[str, Any], where: tuple[str, Any]) -> None:
    assert list(refused(job, site)) == [where]


def test_another_user_where_no_sshd_must_know_it() -> None:
    assert worker({"sites": {"s": {"user": 5}}}, EXEC).security.run_as_user == 5
    assert worker({**ONE, "sites": {"s": {"user": 5}}}, ROOTLESS).security.run_as_user == 5
