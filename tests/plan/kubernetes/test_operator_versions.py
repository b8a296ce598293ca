"""Which MPIJob a site serves, what that version lacks, and how jobs end under it."""

from typing import Any

import pytest
from pod_plans import planned, refused, target, warned

OPERATOR = ("site", ("kubernetes", "mpi_operator"))
MPIJOB = ("site", ("kubernetes", "mpijob"))
IMAGES_MPI = ("job", ("container", "mpi"))
TRAINING = {"mpi_operator": None, "mpijob": {"api": "v1", "operator": "training-operator"}}
VOLCANO = {"gang": {"scheduler": "volcano", "queue": "training"}}
WAITS = "WaitForWorkersReady"


def of(api: str, operator: str | None = None) -> dict[str, Any]:
    return {"mpi_operator": operator, "mpijob": {"api": api}}


@pytest.mark.parametrize(
    ("site", "api", "creation"),
    [
        ({"mpi_operator": "0.8.0"}, "v2beta1", WAITS),
        ({"mpi_operator": "0.5.0"}, "v2beta1", WAITS),
        ({"mpi_operator": "0.4.0"}, "v2beta1", ""),
        ({"mpi_operator": "0.3.0"}, "v2beta1", ""),
        ({"mpi_operator": "0.2.3"}, "v1", ""),  # the newest that it serves
        ({"mpi_operator": "0.2.2"}, "v1alpha2", ""),
        (of("v1alpha2", "0.2.3"), "v1alpha2", ""),
        (of("v1", "0.3.0"), "v1", ""),
        (TRAINING, "v1", ""),
        (of("v2beta1"), "v2beta1", WAITS),
    ],
)
def test_the_api_of_each_operator(site: dict[str, Any], api: str, creation: str) -> None:
    pods = target(planned({}, site))
    mpi = pods.mpi_job
    assert mpi is not None
    assert (mpi.api, mpi.launcher_creation_policy) == (api, creation)
    # Only v2beta1 starts ranks by ssh; its fields are unknown to the others.
    ssh = api == "v2beta1"
    assert (mpi.implementation, mpi.ssh_auth_mount_path) == (("OpenMPI", "/root/.ssh") if ssh else ("", ""))
    assert (pods.worker.ready_port is not None, bool(pods.serve)) == (ssh, ssh)
    launch = dict(option.text.split("=", 1) for option in pods.launch)
    assert ("ssh" in launch) == ssh
    # A launcher that is not made to wait must do so itself, but not for ever.
    assert ("wait" in launch) == (creation == "")


@pytest.mark.parametrize(
    ("job", "site", "where", "said"),
    [
        ({}, of("v2beta1", "0.2.3"), MPIJOB, ["0.2.3", "v2beta1", "0.3.0 and newer"]),
        ({}, of("v1", "0.4.0"), MPIJOB, ["0.4.0", "v1", "0.2.3 to 0.3.0"]),
        ({}, of("v1alpha2", "0.8.0"), MPIJOB, ["v1alpha2", "0.2.0 to 0.3.0"]),
        ({}, {"mpi_operator": "0.1.0"}, OPERATOR, ["0.1.0", "0.3.0 and newer"]),
        ({"container": {"mpi": "mpich"}}, {"mpi_operator": "0.4.0"}, IMAGES_MPI, ["MPICH", "0.5.0", "0.4.0"]),
        ({"container": {"mpi": "intel"}}, of("v1", "0.2.3"), IMAGES_MPI, ["Intel", "v2beta1"]),
        ({"container": {"mpi": "mpich"}}, TRAINING, IMAGES_MPI, ["MPICH", "v2beta1"]),
        ({}, {"mpi": "mpich", "mpi_operator": "0.4.0"}, ("site", ("kubernetes", "mpi")), ["MPICH", "0.5.0"]),
        ({}, {**VOLCANO, "mpi_operator": "0.3.0"}, ("site", ("kubernetes", "gang")), ["0.4.0", "0.3.0"]),
        ({}, {"mpi_operator": None}, ("job", ("nodes",)), ["one node"]),
    ],
)
def test_what_a_version_lacks_is_refused_by_name(
    job: dict[str, Any], site: dict[str, Any], where: tuple[str, Any], said: list[str]
) -> None:
    found = refused(job, site)
    assert list(found) == [where]
    assert not [word for word in said if word not in found[where]]


@pytest.mark.parametrize("site", [{"mpi_operator": None}, of("v2beta1", "0.2.3"), TRAINING])
@pytest.mark.parametrize("mpi", [None, "mpich"])
def test_one_pod_needs_no_operator(site: dict[str, Any], mpi: str | None) -> None:
    pods = target(planned({"nodes": 1, "container": {"mpi": mpi}}, site))
    assert (pods.mpi_job, pods.launcher, pods.serve) == (None, None, ())


@pytest.mark.parametrize("operator", ["0.3.0", "0.5.0", "0.8.0"])
def test_intel_mpi_is_as_old_as_v2beta1(operator: str) -> None:
    mpi = target(planned({"container": {"mpi": "intel"}}, {"mpi_operator": operator})).mpi_job
    assert mpi is not None
    assert mpi.implementation == "Intel"


def test_the_job_says_another_mpi_than_the_site() -> None:
    usual = target(planned({}, {"mpi": "mpich"})).mpi_job
    own = target(planned({"container": {"mpi": "openmpi"}}, {"mpi": "mpich"})).mpi_job
    assert usual is not None
    assert own is not None
    assert (usual.implementation, own.implementation) == ("MPICH", "OpenMPI")


def test_the_time_limit_and_what_it_counts() -> None:
    counted = planned({"time": 90})
    policy = target(counted).run_policy
    assert policy.active_deadline_s == 5400
    assert not [warning for warning in counted.warnings if "time limit" in warning]
    # With a launcher that starts at once, the queue is counted.
    for site in ({"mpi_operator": "0.4.0"}, of("v1alpha2", "0.2.3"), TRAINING):
        early = planned({"time": 90}, site)
        assert target(early).run_policy.active_deadline_s == 5400
        assert warned(early, "while workers wait for nodes")
        assert target(early).run_policy.deadline_why != policy.deadline_why
    for unlimited in ({}, {"time": 0}):
        plan = planned(unlimited, {"mpi_operator": "0.4.0"})
        assert target(plan).run_policy.active_deadline_s is None
        assert not [warning for warning in plan.warnings if "time limit" in warning]


def test_the_time_limit_of_one_pod_counts_from_its_start() -> None:
    plan = planned({"nodes": 1, "time": 90})
    assert target(plan).worker.active_deadline_s == 5400
    assert target(plan).run_policy.active_deadline_s is None
    assert target(planned({"nodes": 1, "time": 0})).worker.active_deadline_s is None
    assert target(planned({"time": 90})).worker.active_deadline_s is None


def test_a_job_never_runs_twice_and_frees_its_gpus() -> None:
    policy = target(planned()).run_policy
    assert policy.backoff_limit == 0
    assert policy.clean_pod_policy == "Running"  # None, the operator's default, would keep all workers
    assert policy.ttl_s == 86400
    own = target(planned({}, {"clean_pods": "All", "ttl": 60})).run_policy
    assert (own.clean_pod_policy, own.ttl_s) == ("All", 60)


@pytest.mark.parametrize(
    ("operator", "least"),
    [
        # The launcher comes after the workers: a gang with it would wait for what waits for the gang.
        ("0.8.0", 2),
        ("0.4.0", 3),
    ],
)
def test_a_gang_is_as_large_as_what_starts_together(operator: str, least: int) -> None:
    policy = target(planned({}, {**VOLCANO, "mpi_operator": operator})).run_policy
    assert (policy.min_available, policy.queue) == (least, "training")
    assert target(planned({}, {"mpi_operator": operator})).run_policy.min_available is None
    assert target(planned({"nodes": 1}, VOLCANO)).run_policy.min_available is None


def test_the_gangs_priority_is_the_jobs_before_the_sites() -> None:
    site = {**VOLCANO, "priority_class": "low"}
    assert target(planned({}, site)).run_policy.priority_class == "low"
    own = target(planned({"sites": {"s": {"priority_class": "high"}}}, site))
    assert own.run_policy.priority_class == "high"
    assert own.worker.priority_class == "high"


def test_the_queue_of_a_gang_stands_where_its_operator_reads_it() -> None:
    """Operators of v1 and v1alpha2 make the gang by themselves, and look at no schedulingPolicy."""
    old = {**VOLCANO, "mpi_operator": "0.3.0", "mpijob": {"api": "v1"}}
    pods = target(planned({}, old))
    assert (pods.run_policy.min_available, pods.run_policy.queue) == (None, "")
    assert dict(pods.annotations) == {"scheduling.volcano.sh/queue-name": "training"}
    assert target(planned({}, VOLCANO)).annotations == ()
    training = target(planned({}, {**VOLCANO, "mpijob": {"api": "v1", "operator": "training-operator"}}))
    assert (training.run_policy.queue, training.annotations) == ("training", ())


def test_an_operator_without_queues_refuses_one() -> None:
    oldest = {"mpi_operator": "0.3.0", "mpijob": {"api": "v1alpha2"}}
    assert set(refused({}, {**VOLCANO, **oldest})) == {("site", ("kubernetes", "gang", "queue"))}
    assert target(planned({}, {"gang": {"scheduler": "volcano"}, **oldest})).annotations == ()
