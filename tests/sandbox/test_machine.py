"""Slurm believes in the machine of the node type: counts, NUMA nodes, SMT siblings, GPUs, masks."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from published import A100_CPUS, A100_MEMS
from realslurm import Slurm

from hpclaunch.sandbox.recorded import Affinity, Task, affinity
from hpclaunch.values.cpulist import format_list, format_mask, parse

# The published placement of 8 ranks: NVIDIA's dgxa100_topology_ht.sh.
MASKS = "mask_cpu:" + ",".join(format_mask(parse(cpus)) for cpus in A100_CPUS)


def cpus_of(slurm: Slurm, job: int, step: str = "0") -> list[str]:
    """The CPU list of each rank of a step, in the order of ranks."""
    found = affinity(slurm.folder, job)
    ranks = sorted((task for task in found if task.step == step), key=lambda task: task.rank)
    return [format_list(found[task].cpus or ()) for task in ranks]


def test_slurm_sees_the_node_types(slurm_a100: Slurm, slurm_h100: Slurm) -> None:
    form = "--format=%N %c %X %Y %Z %G %T"
    seen = slurm_a100.run("sinfo", "--noheader", "--Node", form).stdout.split("\n")
    assert [line.split() for line in seen[:2]] == [
        ["dgx1", "256", "2", "64", "2", "gpu:a100:8(S:0-1)", "idle"],
        ["dgx2", "256", "2", "64", "2", "gpu:a100:8(S:0-1)", "idle"],
    ]
    seen = slurm_h100.run("sinfo", "--noheader", "--Node", form).stdout.split("\n")
    assert seen[0].split() == ["dgx1", "224", "2", "56", "2", "gpu:h100:8(S:0-1)", "idle"]


def test_masks_and_memory_of_sixteen_ranks_are_what_slurm_was_told(slurm_a100: Slurm) -> None:
    mems = "mask_mem:" + ",".join(format_mask([node]) for node in A100_MEMS)
    job, status, said = slurm_a100.batch(
        f"srun --ntasks-per-node=8 --cpu-bind={MASKS} --mem-bind={mems} true", "--nodes=2"
    )
    assert (status, said) == (0, "")
    found = affinity(slurm_a100.folder, job)
    assert {task: got for task, got in found.items() if task.step == "0"} == {
        Task("0", f"dgx{1 + rank // 8}", rank): Affinity(
            rank % 8, tuple(sorted(parse(A100_CPUS[rank % 8]))), (A100_MEMS[rank % 8],), "bind", 0
        )
        for rank in range(16)
    }


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (f"-c16 --cpu-bind={MASKS}", "CPU binding outside of job step allocation"),
        (f"--exclusive --cpu-bind={MASKS}", "CPU binding outside of job step allocation"),
        (f"--cpu-bind=mask_cpu:{format_mask([256])}", "CPU binding outside of job step allocation"),
        ("--exclusive --cpu-bind=map_ldom:3", "Entire node must be allocated"),
        (f"--mem-bind=mask_mem:{format_mask([8])}", "NUMA node 8 does not exist"),
    ],
)
def test_slurm_refuses_what_a_real_node_refuses(slurm_a100: Slurm, options: str, why: str) -> None:
    _, status, said = slurm_a100.batch(f"srun -n1 {options} true", "--nodes=1")
    assert status != 0
    assert why in said


def test_numa_nodes_have_the_cpus_of_the_node_type(slurm_a100: Slurm, slurm_h100: Slurm) -> None:
    job, _, _ = slurm_a100.batch("srun -n8 --cpu-bind=map_ldom:0,1,2,3,4,5,6,7 true", "--nodes=1")
    assert cpus_of(slurm_a100, job) == [
        f"{16 * n}-{16 * n + 15},{128 + 16 * n}-{143 + 16 * n}" for n in range(8)
    ]
    job, _, _ = slurm_h100.batch("srun -n2 --cpu-bind=map_ldom:1,0 true", "--nodes=1")
    assert cpus_of(slurm_h100, job) == ["56-111,168-223", "0-55,112-167"]


def test_smt_siblings_are_bound_together(slurm_a100: Slurm, slurm_h100: Slurm) -> None:
    for slurm, second in ((slurm_a100, 128), (slurm_h100, 112)):
        job, _, _ = slurm.batch("srun -n1 --cpu-bind=cores true", "--nodes=1")
        assert cpus_of(slurm, job) == [f"0,{second}"]


def test_a_whole_node_without_binding_is_unbound(slurm_a100: Slurm) -> None:
    job, _, _ = slurm_a100.batch("srun -n1 --cpu-bind=none true", "--nodes=1")
    assert affinity(slurm_a100.folder, job)[Task("0", "dgx1", 0)].cpus is None


def test_local_memory_is_that_of_the_bound_cpus(slurm_a100: Slurm) -> None:
    job, _, _ = slurm_a100.batch("srun -n2 --cpu-bind=map_ldom:5,2 --mem-bind=local true", "--nodes=1")
    found = affinity(slurm_a100.folder, job)
    assert [found[Task("0", "dgx1", rank)].mems for rank in (0, 1)] == [(5,), (2,)]


def test_gpus_are_handed_out_with_the_cores_of_their_socket(slurm_a100: Slurm) -> None:
    script = f"#!/bin/sh\necho $CUDA_VISIBLE_DEVICES >{slurm_a100.folder}/log/gpus-$SLURM_JOB_ID; sleep 60\n"
    jobs = []
    for _ in range(2):
        part = ("--nodes=1", "--nodelist=dgx1", "--gpus-per-node=4", "--cpus-per-task=8")
        options = (*part, "--gres-flags=enforce-binding", "--output=/dev/null")
        said = slurm_a100.run("sbatch", "--parsable", *options, input=script)
        jobs.append(int(said.stdout))
    slurm_a100.run("timeout", "30", "sh", "-c", _UNTIL_BOTH_WROTE, "sh", slurm_a100.folder, *map(str, jobs))
    slurm_a100.run("scancel", *map(str, jobs))
    gpus = [(slurm_a100.folder / "log" / f"gpus-{job}").read_text() for job in jobs]
    assert gpus == ["0,1,2,3\n", "4,5,6,7\n"]
    assert [cpus_of(slurm_a100, job, "batch") for job in jobs] == [["0-3,128-131"], ["64-67,192-195"]]


_UNTIL_BOTH_WROTE = 'until [ -s "$1/log/gpus-$2" ] && [ -s "$1/log/gpus-$3" ]; do sleep 0.1; done'

INTERLEAVED = """\
version: 1
name: interleaved
description: even CPUs on the first socket, odd ones on the second, as on many Intel servers
gres: v100
memory_gib: 64
numa:
  - {node: 0, socket: 0, threads: ["0,2,4,6", "8,10,12,14"]}
  - {node: 1, socket: 1, threads: ["1,3,5,7", "9,11,13,15"]}
gpus:
  - {pci: "0000:07:00.0", numa: 0}
  - {pci: "0000:87:00.0", numa: 1}
"""


def test_interleaved_numbering(start_slurm: Callable[..., Slurm], tmp_path: Path) -> None:
    file = tmp_path / "interleaved.yaml"
    file.write_text(INTERLEAVED, encoding="utf-8")
    slurm = start_slurm("--nodes", "1", "--node-type", file, "--name", "interleaved")
    job, _, _ = slurm.batch("srun -n2 --cpu-bind=map_ldom:0,1 true", "--gpus-per-node=2")
    assert cpus_of(slurm, job) == ["0,2,4,6,8,10,12,14", "1,3,5,7,9,11,13,15"]
    job, _, _ = slurm.batch("srun -n1 --cpu-bind=cores true")
    assert cpus_of(slurm, job) == ["0,8"]


def test_a_task_gets_the_name_of_its_made_up_machine_and_nothing_else(slurm_a100: Slurm) -> None:
    look = "env; cat /proc/self/maps"
    bare = ("env", "-i", f"SLURM_CONF={slurm_a100.slurm_conf}", "PATH=/usr/bin:/bin")
    _, status, said = slurm_a100.batch(f"{look}; echo ==; srun -n1 sh -c '{look}'", "--nodes=1", under=bare)
    assert status == 0
    assert said.count("SLURMD_NODENAME=dgx1\n") == 2
    batch, step = said.split("==\n")
    step, count = re.subn(r"^HPCLAUNCH_ROOT=/run/.*\n", "", step, flags=re.MULTILINE)
    assert count == 1
    for word in ("LD_", "HWLOC_", "preload.so", "PYTHON", "HPCLAUNCH"):
        assert word not in batch + step


def test_mpi_over_pmix_on_two_nodes(slurm_a100: Slurm) -> None:
    program = slurm_a100.folder / "sum.py"
    program.write_text(
        "from mpi4py import MPI\n"
        "world = MPI.COMM_WORLD\n"
        "print(MPI.Get_processor_name(), world.size, world.allreduce(10 ** world.rank), flush=True)\n"
    )
    _, status, said = slurm_a100.batch(
        f"srun --mpi=pmix -n4 --ntasks-per-node=2 --cpu-bind=none /usr/bin/python3 {program}", "--nodes=2"
    )
    assert (status, sorted(said.splitlines())) == (0, ["dgx1 4 1111"] * 2 + ["dgx2 4 1111"] * 2)


def test_more_nodes_declared_than_started(start_slurm: Callable[..., Slurm]) -> None:
    slurm = start_slurm("--nodes", "1", "--declared", "560", "--name", "many")
    test = ("sbatch", "--test-only", "--exclusive", "--mem=0", "--gpus-per-node=8", "--wrap=true")
    accepted = slurm.run(*test, "--nodes=560")
    assert accepted.returncode == 0, accepted.stderr
    assert "on nodes dgx[1-560]" in accepted.stderr
    assert slurm.run(*test, "--nodes=561").returncode != 0
    assert slurm.run(*test, "--nodes=1", "--gpus-per-node=9").returncode != 0
    assert slurm.run("srun", "hostname").stdout == "dgx1\n"
