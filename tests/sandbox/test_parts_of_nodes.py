"""Jobs side by side on parts of one node: each rank is beside its GPU, within what Slurm granted its job."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import hpclaunch
from realslurm import Slurm
from verifying import Verified, env_of, submit, verify

from hpclaunch.sandbox.machines import CORES
from hpclaunch.sandbox.recorded import Affinity, bound
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import catalogue, model
from hpclaunch.values.cpulist import parse


class Side:
    """A job that ran beside others: what Slurm granted it, and where each rank was bound, by itself."""

    def __init__(self, slurm: Slurm, job: str, granted: frozenset[int]):
        self.granted = granted
        self.seen: Verified = verify(slurm, job)
        tasks = bound(slurm.folder, int(job))
        self.ranks: dict[int, Affinity] = {task.rank: got for task, got in tasks.items() if task.step == "0"}

    def own_gpus(self, rank: int) -> list[str]:
        return re.findall(rf"hpclaunch-verify 1 rank={rank} .* own=(\S+)", self.seen.log)[0].split(",")


def granted_cpus(slurm: Slurm, job: str) -> frozenset[int]:
    """What the controller says: CPU_IDs count each core's threads in turn, in the order of slurmd's cores."""
    shown = slurm.run("scontrol", "--details", "show", "job", job).stdout
    (node, numbers), *_ = re.findall(r"Nodes=(\S+) CPU_IDs=(\S+)", shown)
    cores = [parse(line) for line in (slurm.folder / "machines" / node / CORES).read_text().splitlines()]
    threads = len(cores[0])
    return frozenset(cores[number // threads][number % threads] for number in parse(numbers))


def side_by_side(slurm: Slurm, node: str, tmp_path: Path, *jobs: dict[str, Any]) -> list[Side]:
    """Runs jobs on one node, all of them at one time."""
    started = [tmp_path / f"started-{number}" for number, _ in enumerate(jobs)]
    waiting = " ".join(f"while [ ! -e {file} ]; do sleep 0.05; done;" for file in started)
    ids = []
    for job, file in zip(jobs, started, strict=True):
        more = {"command": f"touch {file}; {waiting}", "sites": {slurm.name: {"nodelist": node}}}
        ids.append(submit(slurm, {**job, **more}, tmp_path))
    for job_id in ids:
        done = hpclaunch("wait", job_id, env=env_of(slurm))
        assert done.returncode == 0, done.stderr
    return [Side(slurm, job_id, granted_cpus(slurm, job_id)) for job_id in ids]


def check(sides: list[Side], node_type: NodeType) -> None:
    """Every rank has whole cores of its own, the nearest to its GPU that Slurm granted, and memory beside
    them; and verify says so of exactly those that are next to their GPU."""
    cores = {numa.node: model.cores(node_type, numa.node) for numa in node_type.numa}
    core_of = {cpu: core for each in cores.values() for core in each for cpu in core}
    numa_of = {cpu: node for node, each in cores.items() for core in each for cpu in core}
    gpu_numa = {gpu.pci: gpu.numa for gpu in node_type.gpus if gpu.pci}
    taken: set[int] = set()
    gpus: set[str] = set()
    for side in sides:
        far = set()
        for rank, got in side.ranks.items():
            own = side.own_gpus(rank)
            assert gpus.isdisjoint(own)
            gpus |= set(own)
            assert got.cpus
            cpus = set(got.cpus)
            assert cpus <= side.granted
            assert taken.isdisjoint(cpus)
            taken |= cpus
            assert all(set(core_of[cpu]) <= cpus for cpu in cpus)
            nodes = {numa_of[cpu] for cpu in cpus}
            assert (set(got.mems), got.policy) == (nodes, "bind")
            for numa in {gpu_numa[pci] for pci in own if gpu_numa}:
                nearest = min(model.distance(node_type, numa, numa_of[cpu]) for cpu in side.granted)
                assert {model.distance(node_type, numa, node) for node in nodes} == {nearest}
                far |= {rank} if numa not in nodes else set()
        assert {one["rank"] for one in side.seen.differences} == far
        assert {one["what"] for one in side.seen.differences} <= {"cores"}
        assert side.seen.status == bool(far)


@pytest.mark.parametrize("gpus", [(4, 4), (2, 2, 4), (1, 2, 1)], ids=lambda gpus: "+".join(map(str, gpus)))
def test_jobs_share_a_dgx_a100(slurm_a100: Slurm, gpus: tuple[int, ...], tmp_path: Path) -> None:
    sides = side_by_side(slurm_a100, "dgx1", tmp_path, *({"gpus_per_node": count} for count in gpus))
    assert [len(side.ranks) for side in sides] == list(gpus)
    check(sides, catalogue.load("dgx-a100").value)
    # Two jobs that have a socket each have the cores beside every GPU.
    assert gpus != (4, 4) or not any(side.seen.differences for side in sides)


def test_several_gpus_for_a_rank_and_several_ranks_for_a_gpu(slurm_a100: Slurm, tmp_path: Path) -> None:
    few, many = side_by_side(
        slurm_a100,
        "dgx1",
        tmp_path,
        {"gpus_per_node": 4, "ranks_per_node": 2},
        {"gpus_per_node": 2, "ranks_per_node": 4},
    )
    assert [few.own_gpus(rank) for rank in (0, 1)] == [
        ["0000:07:00.0", "0000:0f:00.0"],
        ["0000:47:00.0", "0000:4e:00.0"],
    ]
    assert many.own_gpus(0) == many.own_gpus(1) != many.own_gpus(2) == many.own_gpus(3)
    for side in (few, many):
        cores = [set(got.cpus or ()) for got in side.ranks.values()]
        assert sum(map(len, cores)) == len(set().union(*cores))
        assert set().union(*cores) <= side.granted
        assert {one["what"] for one in side.seen.differences} <= {"cores"}
    assert few.seen.status == 0


@pytest.mark.parametrize(("gpus", "ranks"), [(2, 3), (1, 9)], ids=["3-for-2", "9-for-1"])
def test_ranks_that_do_not_divide_the_cores_start(
    slurm_a100: Slurm, gpus: int, ranks: int, tmp_path: Path
) -> None:
    """64 CPUs for 3 ranks are 21 each, half a core: Slurm would wait for cores that the job does not have."""
    (side,) = side_by_side(slurm_a100, "dgx1", tmp_path, {"gpus_per_node": gpus, "ranks_per_node": ranks})
    assert sorted(side.ranks) == list(range(ranks))
    assert all(got.cpus and len(got.cpus) % 2 == 0 for got in side.ranks.values())


def test_even_and_odd_cpus_and_gpus_without_published_addresses(
    start_slurm: Callable[..., Slurm], tmp_path: Path
) -> None:
    """The sockets' CPUs alternate, and Slurm counts its cores socket by socket."""
    slurm = start_slurm("--node-type", "dell-r750xa:1", "--name", "r750xa")
    sides = side_by_side(slurm, "dell1", tmp_path, {"gpus_per_node": 2}, {"gpus_per_node": 2})
    check(sides, catalogue.load("dell-r750xa").value)
    parities = [{cpu % 2 for got in side.ranks.values() for cpu in got.cpus or ()} for side in sides]
    assert sorted(parities, key=min) == [{0}, {1}]
