"""Groups of ranks on Kubernetes: which are one MPIJob, and what is said of the others."""

from typing import Any

import pytest
from pod_plans import planned, refused, target

GROUPS = {"train": {"nodes": 2, "env": {"LR": "1"}}, "act": {"nodes": 1, "command": ["./act"]}}
JOB: dict[str, Any] = {"nodes": 1, "ranks_per_node": 4}


def groups(**act: Any) -> dict[str, Any]:
    return {**JOB, "groups": {**GROUPS, "act": {**GROUPS["act"], **act}}}


def test_alike_groups_are_the_workers_of_one_mpijob() -> None:
    plan = planned(groups())
    job = target(plan).mpi_job
    assert job
    assert (job.workers, job.slots, plan.common.nodes) == (3, 4, 3)
    assert plan.common.groups
    assert [(each.name, each.nodes) for each in plan.common.groups.members] == [("train", 2), ("act", 1)]
    alone = planned({**JOB, "nodes": 3})
    assert target(plan).worker == target(alone).worker
    assert target(plan).starter == target(alone).starter


def test_a_long_name_makes_nobody_unlike() -> None:
    """How much of it fits depends on how many workers there are."""
    many = {"hosts": "dgx[001-140]", "type": "dgx-a100"}
    of_many = {"train": {"nodes": 120}, "act": {"nodes": 3}}
    plan = planned({**JOB, "name": "x" * 80, "groups": of_many}, node_types=[many])
    assert plan.common.nodes == 123


@pytest.mark.parametrize(
    ("act", "site"),
    [
        ({"ranks_per_node": 2}, {}),
        ({"gpus_per_node": 4}, {}),
        ({"sites": {"s": {"node_type": "dgx-h100"}}}, {}),
        ({"sites": {"s": {"exclude": "dgx4"}}}, {}),
    ],
)
def test_unlike_groups_are_refused(act: dict[str, Any], site: dict[str, Any]) -> None:
    types = [{"type": "dgx-a100", "hosts": "dgx[1-4]"}, {"type": "dgx-h100", "hosts": "h[1-4]"}]
    hints = {"s": {"node_type": "dgx-a100"}}
    found = refused({**groups(**act), "sites": hints}, {"rdma": {}}, node_types=types)
    assert list(found) == [("job", ("groups", "act"))]
    assert "the workers of an MPIJob are all alike, and act has other nodes than train" in str(found)


def test_separate_worlds_are_refused() -> None:
    found = refused({**groups(), "world": "separate"})
    assert list(found) == [("job", ("world",))]
    assert "one mpirun" in str(found)


def test_what_pods_read_is_one_for_all_groups() -> None:
    found = refused(groups(env={"OMPI_MCA_btl": "self", "NVIDIA_DRIVER_CAPABILITIES": "all"}))
    assert set(found) == {
        ("job", ("groups", "act", "env", name)) for name in ("OMPI_MCA_btl", "NVIDIA_DRIVER_CAPABILITIES")
    }


def test_too_many_nodes_are_those_of_all() -> None:
    found = refused(groups(nodes=3))
    assert found == {("job", ("groups",)): "5 nodes, and site s has 4"}
