"""Which nodes the pods may go to, and how many of a job's nodes a site has room for."""

from typing import Any

import pytest
from pod_plans import A100, limits, planned, refused, target, warned, worker

V100 = {"type": "dgx-1v", "hosts": "old[1-6]"}


def hint(**more: Any) -> dict[str, Any]:
    return {"sites": {"s": more}}


def test_labels_of_the_nodes_before_their_names() -> None:
    labelled = {**A100, "selector": {"gpu": "a100", "zone": "b"}}
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    valued = {"key": "team", "operator": "Equal", "value": "adas"}
    nodes = worker(node_types=[{**labelled, "tolerations": [taint, valued]}]).nodes
    assert dict(nodes.selector) == {"gpu": "a100", "zone": "b"}
    assert (nodes.hosts, nodes.not_hosts) == ((), ())
    found = [(each.key, each.operator, each.value, each.effect) for each in nodes.tolerations]
    assert found == [("nvidia.com/gpu", "Exists", "", "NoSchedule"), ("team", "Equal", "adas", "")]


def test_names_where_there_are_no_labels() -> None:
    assert worker().nodes.hosts == ("dgx1", "dgx2", "dgx3", "dgx4")
    assert worker(node_types=[{"type": "dgx-a100", "count": 2}]).nodes.hosts == ()


def test_a_manifest_does_not_list_hundreds_of_names() -> None:
    many = {"type": "dgx-a100", "hosts": "dgx[001-140]"}
    plan = planned(node_types=[many])
    assert target(plan).worker.nodes.hosts == ()
    assert warned(plan, "node_types.selector")
    labelled = planned(node_types=[{**many, "selector": {"gpu": "a100"}}])
    assert not [warning for warning in labelled.warnings if "selector" in warning]


def test_the_jobs_own_choice_of_nodes() -> None:
    labelled = {**A100, "selector": {"gpu": "a100"}}
    nodes = worker(hint(nodelist="dgx[2-4]", exclude="dgx3"), node_types=[labelled]).nodes
    assert dict(nodes.selector) == {"gpu": "a100"}
    assert (nodes.hosts, nodes.not_hosts) == (("dgx2", "dgx3", "dgx4"), ("dgx3",))


@pytest.mark.parametrize(
    ("hints", "key"),
    [
        ({"nodelist": "dgx1"}, "nodelist"),
        ({"nodelist": "dgx[1-2]", "exclude": "dgx2"}, "nodelist"),
        ({"exclude": "dgx[2-4]"}, "exclude"),
        ({"nodelist": "dgx[1-"}, "nodelist"),
        ({"exclude": "@all"}, "exclude"),
    ],
)
def test_workers_that_would_wait_for_ever_are_refused(hints: dict[str, str], key: str) -> None:
    assert list(refused(hint(**hints))) == [("job", ("sites", "s", key))]


def test_one_pod_may_go_to_any_of_a_list() -> None:
    assert worker({"nodes": 1, **hint(nodelist="dgx[1-3]")}).nodes.hosts == ("dgx1", "dgx2", "dgx3")
    assert list(refused({"nodes": 1, **hint(nodelist="dgx1", exclude="dgx1")})) == [
        ("job", ("sites", "s", "nodelist"))
    ]


def test_nodes_of_another_type_than_the_plan_is_for() -> None:
    """The ranks would be bound by the tables of a machine that they are not on."""
    types = {"node_types": [A100, V100]}
    found = refused(hint(nodelist="old[1-2]"), **types)
    assert "node_type" in found["job", ("sites", "s", "nodelist")]
    right = planned(hint(nodelist="old[1-2]", node_type="dgx-1v"), **types)
    assert right.common.shape.node_type == "dgx-1v"
    assert target(right).worker.nodes.hosts == ("old1", "old2")
    assert "dgx9" in refused(hint(nodelist="dgx1,dgx9"))["job", ("sites", "s", "nodelist")]


def test_of_several_types_one_is_chosen_and_others_cannot_come() -> None:
    types = {"node_types": [{**A100, "selector": {"gpu": "a100"}}, {**V100, "selector": {"gpu": "v100"}}]}
    small = planned({"nodes": 4}, **types)
    assert dict(target(small).worker.nodes.selector) == {"gpu": "a100"}
    large = planned({"nodes": 5}, **types)
    assert dict(target(large).worker.nodes.selector) == {"gpu": "v100"}
    assert large.common.shape.node_type == "dgx-1v"
    assert limits(target(large).worker)["cpu"] == "72"  # 90 % of 80
    # The labels see to it, so that there is nothing for the user to see to.
    assert not [warning for plan in (small, large) for warning in plan.warnings if "node types" in warning]
    # Ten nodes there are, and no one set of labels finds seven of them.
    assert "has 6 in one of its node_types" in refused({"nodes": 7}, **types)["job", ("nodes",)]
    by_gpu = planned({"gpu_type": "v100"}, **types)
    assert dict(target(by_gpu).worker.nodes.selector) == {"gpu": "v100"}


def test_n_nodes_are_n_nodes() -> None:
    pod = worker()
    # Of workers of this job, and of no other pod.
    assert dict(pod.apart).items() <= dict(pod.labels).items()
    pods = target(planned())
    assert pods.launcher is not None
    assert not dict(pod.apart).items() <= dict(pods.launcher.labels).items()
    assert worker(hint(share_nodes=True)).apart == ()


TWO = {"node_types": [{"type": "dgx-1v", "hosts": "dgx[01-02]"}]}
SHARED = hint(share_nodes=True)


@pytest.mark.parametrize(
    ("job", "fits"),
    [
        ({"nodes": 16, "gpus_per_node": 1, **SHARED}, True),
        ({"nodes": 17, "gpus_per_node": 1, **SHARED}, False),
        ({"nodes": 4, "gpus_per_node": 3, **SHARED}, True),  # two on each, and two GPUs left
        ({"nodes": 5, "gpus_per_node": 3, **SHARED}, False),
        ({"nodes": 3, **SHARED}, False),  # all GPUs of a node each
        ({"nodes": 30, "gpus_per_node": 0, **SHARED}, True),
        ({"nodes": 16, "gpus_per_node": 1}, False),
        ({"nodes": 2, "gpus_per_node": 1}, True),
        ({"nodes": 8, "gpus_per_node": 1, **hint(share_nodes=True, nodelist="dgx01")}, True),
        ({"nodes": 9, "gpus_per_node": 1, **hint(share_nodes=True, nodelist="dgx01")}, False),
    ],
)
def test_several_workers_of_a_node(job: dict[str, Any], fits: bool) -> None:
    if fits:
        mpi_job = target(planned(job, **TWO)).mpi_job
        assert mpi_job is not None
        assert mpi_job.workers == job["nodes"]
    else:
        (where,) = refused(job, **TWO)
        assert where[1] in {("nodes",), ("sites", "s", "nodelist")}


def test_slices_of_a_node_are_as_many_places() -> None:
    cut = {"node_types": [{"type": "dgx-a100", "hosts": "dgx[1-2]", "mig": {"1g.5gb": 56}}]}
    job = {"gpu_type": "1g.5gb", "gpus_per_node": 1, **SHARED}
    assert target(planned({**job, "nodes": 112}, **cut)).worker.apart == ()
    assert "112" in refused({**job, "nodes": 113}, **cut)["job", ("nodes",)]


def test_a_hint_of_another_site_changes_nothing() -> None:
    other = {"sites": {"elsewhere": {"nodelist": "x1", "share_nodes": True, "namespace": "n"}}}
    assert planned(other) == planned()


def test_the_launcher_may_go_where_the_site_lets_it() -> None:
    """On a cluster whose nodes all have taints it would wait for ever."""
    taint = {"key": "only", "operator": "Equal", "value": "jobs", "effect": "NoSchedule"}
    pods = target(planned(kubernetes={"launcher": {"selector": {"role": "cpu"}, "tolerations": [taint]}}))
    assert pods.launcher is not None
    assert dict(pods.launcher.nodes.selector) == {"role": "cpu"}
    assert [(each.key, each.value, each.effect) for each in pods.launcher.nodes.tolerations] == [
        ("only", "jobs", "NoSchedule")
    ]
    assert pods.worker.nodes.tolerations == ()
