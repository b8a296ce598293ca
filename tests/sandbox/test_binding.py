"""What Slurm computed for each rank is what the plan says: CPU masks, memory and the container's options."""

import json
from pathlib import Path
from typing import Any

import published
import pytest
import yaml
from command import hpclaunch
from launching import launch
from realslurm import Slurm

from hpclaunch.sandbox.recorded import affinity, pyxis
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


def test_a_part_of_a_node_runs_unbound_and_says_so(slurm_a100: Slurm) -> None:
    ran = launch(slurm_a100, {"gpus_per_node": 4, "ranks_per_node": 4, "mpi": "pmix"}, [])
    assert ran.status == 0, ran.errors
    assert "not bound" in ran.errors
    assert [rank.env["CUDA_VISIBLE_DEVICES"].decode().count(",") for rank in ran.ranks] == [3] * 4


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
