"""What the API of an old cluster, or an old MPI operator, does not know or not look at."""

from typing import Any

import pytest
from pod_plans import planned, target

ROOTLESS = {"profile": "rootless", "run_as": {"user": 1000, "group": 1000, "home": "/home/mpi"}}
V1 = {"mpi_operator": "0.3.0", "mpijob": {"api": "v1"}}
V1ALPHA2 = {"mpi_operator": "0.2.3", "mpijob": {"api": "v1alpha2"}}
TRAINING: dict[str, Any] = {"mpi_operator": None, "mpijob": {"api": "v1", "operator": "training-operator"}}


@pytest.mark.parametrize(
    ("version", "links"), [("1.12", None), ("1.13", False), ("1.29.4", False), (None, False)]
)
def test_service_links_are_refused_where_that_can_be_said(version: str | None, links: bool | None) -> None:
    found = target(planned({}, {"version": version}))
    assert found.launcher is not None
    assert (found.launcher.service_links, found.worker.service_links) == (links, links)


@pytest.mark.parametrize(
    ("version", "change", "seccomp"),
    [
        ("1.18", "", ""),
        ("1.19", "", "RuntimeDefault"),
        ("1.20", "OnRootMismatch", "RuntimeDefault"),
        (None, "OnRootMismatch", "RuntimeDefault"),
    ],
)
def test_rights_are_named_by_fields_that_the_cluster_has(
    version: str | None, change: str, seccomp: str
) -> None:
    rights = target(planned({}, {**ROOTLESS, "version": version})).worker.security
    assert rights.fs_group == 1000
    assert (rights.fs_group_change_policy, rights.seccomp_profile) == (change, seccomp)


def test_a_pod_without_a_group_has_none_to_change_files_for() -> None:
    rights = target(planned({}, {**ROOTLESS, "run_as": {"user": 1000, "home": "/home/mpi"}})).worker.security
    assert (rights.fs_group, rights.fs_group_change_policy) == (None, "")


@pytest.mark.parametrize(
    ("nodes", "site", "ttl"),
    [
        (2, {}, 60),
        (2, {"mpi_operator": "0.3.0"}, 60),
        (2, {"version": "1.11"}, 60),  # the operator's own field
        (2, V1, None),
        (2, V1ALPHA2, None),
        (2, TRAINING, 60),
        (1, V1ALPHA2, 60),  # a Job, which the operator has nothing to do with
        (1, {"version": "1.12"}, 60),
        (1, {"version": "1.11"}, None),
    ],
)
def test_a_finished_job_goes_or_it_is_said_that_it_stays(
    nodes: int, site: dict[str, Any], ttl: int | None
) -> None:
    plan = planned({"nodes": nodes}, {**site, "ttl": 60})
    assert target(plan).run_policy.ttl_s == ttl
    said = [warning for warning in plan.warnings if "stays until it is deleted" in warning]
    assert len(said) == (ttl is None)


@pytest.mark.parametrize(
    ("site", "of_job", "of_pod"),
    [({}, 5400, None), (V1ALPHA2, 5400, None), (TRAINING, 5400, None), (V1, None, 5400)],
)
def test_the_time_limit_is_where_it_counts(
    site: dict[str, Any], of_job: int | None, of_pod: int | None
) -> None:
    """v1 of the MPI operator does not look at a run policy: there the launcher's pod has the limit."""
    found = target(planned({"time": 90}, site))
    assert found.launcher is not None
    assert (found.run_policy.active_deadline_s, found.launcher.active_deadline_s) == (of_job, of_pod)
    free = target(planned({"time": 0}, site))
    assert free.launcher is not None
    assert (free.run_policy.active_deadline_s, free.launcher.active_deadline_s) == (None, None)
