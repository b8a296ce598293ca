"""What Slurm computed for each rank is what the plan says: CPU masks, memory and the container's options."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import published
import pytest
import yaml
from command import hpclaunch
from launching import launch
from realslurm import Slurm

from hpclaunch.sandbox.recorded import affinity, bound, pyxis
from hpclaunch.values.cpulist import format_list

COUNTS = (1, 2, 3, 4, 8, 16, 33)


def steps(slurm: Slurm, job_id: int) -> dict[int, tuple[str, str, str]]:
    """rank -> node, CPUs and NUMA nodes, as the daemons asked the kernel for them."""
    found = affinity(slurm.folder, job_id)
    return {
        task.rank: (task.node, format_list(got.cpus or ()), format_list(got.mems))
        for task, got in found.items()
        if task.step == "0"
    }


def planned(slurm: Slurm, job: dict[str, Any], tmp_path: Path) -> dict[int, tuple[str, str, str]]:
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump({"name": "j", "command": ["x"], **job}))
    shown = hpclaunch("explain", path, "--site", slurm.site, "--json", env=slurm.env)
    ranks = json.loads(shown.stdout)["ranks"]
    return {rank["rank"]: (f"dgx{rank['node'] + 1}", rank["cpus"], rank["mems"]) for rank in ranks}


@pytest.mark.parametrize("ranks", COUNTS)
@pytest.mark.parametrize("cluster", ["slurm_a100", "slurm_h100"])
def test_masks_of_every_rank(
    cluster: str, ranks: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    slurm = request.getfixturevalue(cluster)
    job = {"nodes": 2, "ranks_per_node": ranks, "env": {"NUMBER": str(ranks)}}
    ran = launch(slurm, job, [])
    assert ran.status == 0, ran.errors
    assert len(ran.ranks) == 2 * ranks
    assert steps(slurm, ran.job_id) == planned(slurm, job, tmp_path)


def test_the_reference_on_dgx_a100(slurm_a100: Slurm) -> None:
    ran = launch(slurm_a100, {"nodes": 2, "ranks_per_node": 8, "mpi": "pmix"}, [])
    got = steps(slurm_a100, ran.job_id)
    assert got == {
        node * 8 + local: (f"dgx{node + 1}", published.A100_CPUS[local], str(published.A100_MEMS[local]))
        for node in (0, 1)
        for local in range(8)
    }
    devices = [rank.env["UCX_NET_DEVICES"].decode() for rank in ran.ranks[:8]]
    assert devices == [f"{name}:1" for name in published.A100_HCAS]


@pytest.mark.parametrize(
    "bind",
    [
        {"cpus": "spread", "smt": False},
        {"cpus": "local", "memory": "prefer"},
        {"cpus": "none", "memory": "none"},
        {"cpus": ["0-3", "64-67,192"], "memory": ["0", "4-5"], "hcas": ["mlx5_0", "mlx5_9"]},
    ],
    ids=["spread", "prefer", "none", "lists"],
)
def test_policies(slurm_a100: Slurm, bind: dict[str, Any], tmp_path: Path) -> None:
    job = {"ranks_per_node": 2, "bind": bind}
    ran = launch(slurm_a100, job, [])
    assert ran.status == 0, ran.errors
    got = steps(slurm_a100, ran.job_id)
    expected = planned(slurm_a100, job, tmp_path)
    if bind["cpus"] == "none":
        whole = "0-255"
        expected = {rank: (node, whole, mems) for rank, (node, _, mems) in expected.items()}
        got = {rank: (node, cpus or whole, mems) for rank, (node, cpus, mems) in got.items()}
    # Whichever node it was.
    assert {rank: entry[1:] for rank, entry in got.items()} == {
        rank: entry[1:] for rank, entry in expected.items()
    }


def test_half_of_a_node_is_bound_as_published(slurm_a100: Slurm) -> None:
    """The other half, with another job on the first: GPUs are counted from the first of the job's own."""
    hold = ("--nodelist=dgx1", "--gres=gpu:4", "--ntasks=4", "--cpus-per-task=32", "--mem=1G")
    words = ("sbatch", "--parsable", "--output=/dev/null", *hold, "--wrap", "sleep 60")
    first = slurm_a100.run(*words).stdout.strip()
    ran = launch(slurm_a100, {"gpus_per_node": 4, "sites": {"a100": {"nodelist": "dgx1"}}}, [])
    held = slurm_a100.run("scontrol", "show", "job", first).stdout
    slurm_a100.run("scancel", first)
    assert "JobState=RUNNING" in held
    assert (ran.status, ran.errors) == (0, "")
    assert ran.ranks[0].env["SLURM_STEP_GPUS"] == b"4,5,6,7"
    got = {
        task.rank: found for task, found in bound(slurm_a100.folder, ran.job_id).items() if task.step == "0"
    }
    assert [format_list(got[rank].cpus or ()) for rank in range(4)] == list(published.A100_CPUS[4:])
    assert [got[rank].mems for rank in range(4)] == [(numa,) for numa in published.A100_MEMS[4:]]
    devices = [rank.env["UCX_NET_DEVICES"].decode() for rank in ran.ranks]
    assert devices == [f"{name}:1" for name in published.A100_HCAS[4:]]


def test_nodes_of_two_types_have_ranks_as_each_alone_would(
    start_slurm: Callable[..., Slurm], tmp_path: Path
) -> None:
    kinds = ("--node-type", "dgx-a100@10-device:1", "--node-type", "dgx-h100:1")
    slurm = start_slurm(*kinds, "--name", "mixed")
    job = {"nodes": 2, "ranks_per_node": 9}
    ran = launch(slurm, job, [])
    assert (ran.status, ran.errors) == (0, "")
    got = {task.rank: found for task, found in bound(slurm.folder, ran.job_id).items() if task.step == "0"}
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump({"name": "j", "command": ["x"], **job}))
    shown = hpclaunch("explain", path, "--site", slurm.site, "--json", env=slurm.env)
    shapes = {shape["node_type"]: shape["ranks"] for shape in json.loads(shown.stdout)["shapes"]}
    assert set(shapes) == {"dgx-a100", "dgx-h100"}
    assert len({rank.node for rank in ran.ranks}) == 2
    by_node = {rank.node: len(rank.env["NCCL_IB_HCA"]) for rank in ran.ranks}
    assert len(set(by_node.values())) == 2  # mlx5_0 to mlx5_7, and up to mlx5_11
    for number, rank in enumerate(ran.ranks):
        long = by_node[rank.node] == max(by_node.values())
        expected = shapes["dgx-h100" if long else "dgx-a100"][number % 9]
        assert format_list(got[number].cpus or ()) == expected["cpus"]
        assert format_list(got[number].mems) == expected["mems"]
        devices = ",".join(f"{name}:1" for name in expected["hcas"])
        assert rank.env["UCX_NET_DEVICES"].decode() == devices


def test_container_options_reach_the_step_as_written(slurm_a100: Slurm) -> None:
    job = {
        "image": "nvcr.io/nvidia/mxnet:21.09-py3",
        "mounts": ["/data with blank:/data:ro", "/scratch:/scratch"],
        "workdir": "/work space",
        "env": {"NVIDIA_VISIBLE_DEVICES": "all"},
        "container": {"writable": False, "save": "/tmp/saved image.sqsh"},
        "ranks_per_node": 2,
    }
    ran = launch(slurm_a100, job, [])
    (options,) = [
        given for (step, node), given in pyxis(slurm_a100.folder, ran.job_id).items() if step == "0"
    ]
    assert not any(option.from_environment for option in options)
    assert {option.name.removeprefix("--"): option.value for option in options} == {
        "container-image": "nvcr.io#nvidia/mxnet:21.09-py3",
        "container-mounts": "/data with blank:/data:ro,/scratch:/scratch",
        "container-workdir": "/work space",
        "no-container-mount-home": None,
        "no-container-remap-root": None,
        "container-readonly": None,
        "no-container-entrypoint": None,
        "container-env": "NVIDIA_VISIBLE_DEVICES",
        "container-save": "/tmp/saved image.sqsh",
    }


def test_the_time_limit_is_the_jobs(slurm_a100: Slurm) -> None:
    """Also where the submitting shell says otherwise."""
    ran = launch(slurm_a100, {"ranks_per_node": 1, "time": "0-00:07"}, [], {"SBATCH_TIMELIMIT": "77"})
    shown = slurm_a100.run("scontrol", "show", "job", "-o", str(ran.job_id)).stdout
    assert "TimeLimit=00:07:00 " in shown
    assert " Requeue=0 " in shown
