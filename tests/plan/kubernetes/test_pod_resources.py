"""What a worker asks of its node."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pod_plans import A100, A100_HCAS, RDMA, limits, machine, planned, refused, target, warned, worker

from hpclaunch.topology import catalogue, model
from hpclaunch.values import quantity
from hpclaunch.values.pods import Pod

ALLOCATABLE = {**A100, "allocatable": {"cpu": 240, "memory": "960Gi"}}


def shm(pod: Pod) -> str:
    """The size of /dev/shm."""
    (name,) = [mount.name for mount in pod.mounts if mount.mount_path == "/dev/shm"]
    (volume,) = [volume for volume in pod.volumes if volume.name == name]
    fields = dict(volume.fields)
    assert (volume.kind, fields["medium"]) == ("emptyDir", "Memory")
    return str(fields.get("sizeLimit", ""))


def test_a_whole_node() -> None:
    pod = worker(node_types=[ALLOCATABLE])
    hcas = {f"rdma/shared_ib{name.removeprefix('mlx5_')}": "1" for name in A100_HCAS}
    assert limits(pod) == {"cpu": "240", "memory": "960Gi", "nvidia.com/gpu": "8", **hcas}
    assert shm(pod) == "480Gi"


@pytest.mark.parametrize(
    ("gpus", "cpu", "memory"), [(4, "120", "480Gi"), (1, "30", "120Gi"), (3, "90", "360Gi")]
)
def test_a_part_of_a_node_is_the_same_part_of_all(gpus: int, cpu: str, memory: str) -> None:
    pod = worker({"gpus_per_node": gpus}, node_types=[ALLOCATABLE])
    found = limits(pod)
    assert (found["cpu"], found["memory"], found["nvidia.com/gpu"]) == (cpu, memory, str(gpus))


@given(st.integers(1, 8), st.integers(1, 256), st.integers(1 << 30, 1 << 42))
@settings(max_examples=60, deadline=None)
def test_as_many_parts_as_a_node_has_fit_on_it(gpus: int, cpus: int, memory: int) -> None:
    group = {**A100, "allocatable": {"cpu": cpus, "memory": str(memory)}}
    found = limits(worker({"gpus_per_node": gpus}, node_types=[group]))
    parts = 8 // gpus
    if cpus >= 8:  # a pod has at least one
        assert int(found["cpu"]) * parts <= cpus
    assert quantity.whole(found["memory"]) * parts <= memory


def test_cpus_and_memory_are_the_pods_own() -> None:
    """Requests as high as limits, and whole CPUs: the kubelet gives such a pod cores of its own."""
    pod = worker({"gpus_per_node": 3}, {"hugepages": {"2Mi": "4Gi"}})
    requests = dict(pod.requests)
    assert set(requests) == {"cpu", "memory", "hugepages-2Mi"}
    assert {name: limits(pod)[name] for name in requests} == requests
    assert int(requests["cpu"]) >= 1
    assert requests["hugepages-2Mi"] == "4Gi"


@pytest.mark.parametrize("name", sorted(catalogue.names()))
def test_every_node_type_has_room_for_its_own_pod(name: str) -> None:
    """Where the site does not say what pods may have it is less than what the machine has."""
    kind = machine(name)
    group = {"type": name, "count": 2}
    hcas = model.named_hcas(kind, None) if kind.variants else ()
    rdma = {hca.pci: f"hca{number}" for number, hca in enumerate(hcas)}
    plan = planned({}, {"rdma": rdma}, node_types=[group])
    found = limits(target(plan).worker)
    assert found.pop("nvidia.com/gpu") == str(len(kind.gpus))
    assert 0.8 * model.cpu_count(kind) <= int(found.pop("cpu")) < model.cpu_count(kind)
    fitted = model.memory_gib(kind)
    if fitted is None:
        assert "memory" not in found
        assert shm(target(plan).worker) == ""
        assert warned(plan, "node_types.allocatable.memory")
    else:
        memory = quantity.whole(found.pop("memory"))
        assert 0.8 * fitted < memory / 2**30 < fitted
        assert 0 < quantity.whole(shm(target(plan).worker)) < memory
    assert found == {f"rdma/hca{number}": "1" for number in range(len(hcas))}


def test_a_job_without_gpus_takes_a_cpu_for_each_rank_and_as_much_memory() -> None:
    """As under Slurm: not a node that others could have."""
    found = limits(worker({"gpus_per_node": 0, "ranks_per_node": 6}, node_types=[ALLOCATABLE]))
    assert (found["cpu"], found["memory"]) == ("6", "24Gi")
    assert "nvidia.com/gpu" not in found
    many = limits(worker({"gpus_per_node": 0, "ranks_per_node": 300}, node_types=[ALLOCATABLE]))
    assert (many["cpu"], many["memory"]) == ("240", "960Gi")


def test_slices() -> None:
    cut = {**ALLOCATABLE, "mig": {"1g.5gb": 56}}
    job = {"gpu_type": "1g.5gb", "gpus_per_node": 1, "nodes": 4}
    found = limits(worker(job, node_types=[cut]))
    assert found == {"cpu": "4", "memory": "17Gi", "nvidia.com/mig-1g.5gb": "1"}
    assert warned(planned(job, node_types=[cut]), "not bound")
    named = limits(worker(job, {"gpu_resource": "gpus.example.com/a100"}, node_types=[cut]))
    assert named["gpus.example.com/mig-1g.5gb"] == "1"


def test_gpus_have_the_name_that_the_site_says() -> None:
    assert limits(worker({}, {"gpu_resource": "example.com/v100"}))["example.com/v100"] == "8"


def rdma(pod: Pod) -> dict[str, str]:
    return {name: number for name, number in limits(pod).items() if "ib" in name or "rdma" in name}


def test_hcas_by_name_and_by_address() -> None:
    addresses = {
        "0000:0c:00.0": "nvidia.com/resibp12s0",
        "0000:12:00.0": "mine",
        "mlx5_0": "never",
        "mlx5_2": "two",
    }
    plan = planned({}, {"rdma": addresses})
    assert rdma(target(plan).worker) == {"nvidia.com/resibp12s0": "1", "rdma/mine": "1", "rdma/two": "1"}
    assert warned(plan, "the pods do not get the HCAs mlx5_3, mlx5_6, mlx5_7, mlx5_8, mlx5_9")


def test_several_hcas_behind_one_resource_are_counted() -> None:
    plan = planned({}, {"rdma": dict.fromkeys(A100_HCAS, "hca")})
    assert rdma(target(plan).worker) == {"rdma/hca": "8"}
    assert not [warning for warning in plan.warnings if "HCAs" in warning]


def test_storage_hcas_are_no_jobs() -> None:
    """mlx5_4 and mlx5_5 of a DGX A100."""
    assert not {"rdma/shared_ib4", "rdma/shared_ib5"} & set(limits(worker()))


def test_a_job_that_wants_no_hca_gets_none_and_is_not_warned() -> None:
    plan = planned({"bind": {"hcas": "none"}}, {"rdma": {}})
    assert rdma(target(plan).worker) == {}
    assert not [warning for warning in plan.warnings if "HCA" in warning]


def test_a_job_that_insists_on_its_hcas_is_refused_where_pods_get_none() -> None:
    some = {name: RDMA[name] for name in A100_HCAS[1:]}
    found = refused({"bind": {"hcas": "strict"}}, {"rdma": some})
    assert "mlx5_0" in found["job", ("bind", "hcas")]
    assert rdma(worker({"bind": {"hcas": "strict"}})) != {}


@pytest.mark.parametrize(
    ("gpus", "site_says", "size", "said"),
    [
        (8, None, "480Gi", False),
        (1, None, "60Gi", False),
        (8, "64Gi", "64Gi", False),
        (1, "64Gi", "64Gi", False),
        (1, "120Gi", "120Gi", False),
        # It counts towards the pod's memory (120Gi): writing it full would end the job.
        (1, "121Gi", "60Gi", True),
    ],
)
def test_shared_memory_is_within_the_pods_memory(
    gpus: int, site_says: str | None, size: str, said: bool
) -> None:
    more: dict[str, Any] = {} if site_says is None else {"shm": site_says}
    plan = planned({"gpus_per_node": gpus}, more, node_types=[ALLOCATABLE])
    assert shm(target(plan).worker) == size
    assert any("kubernetes.shm" in warning for warning in plan.warnings) == said


def test_more_cpus_than_the_machine_has_are_refused() -> None:
    """Such pods fit on no node, and would wait for ever."""
    all_of_it = {"type": "dgx-a100", "count": 4, "allocatable": {"cpu": 256}}
    assert limits(worker(node_types=[all_of_it]))["cpu"] == "256"
    found = refused(node_types=[{**all_of_it, "allocatable": {"cpu": 257}}])
    assert set(found) == {("site", ("node_types", 0, "allocatable", "cpu"))}
