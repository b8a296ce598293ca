"""`make demo` and its table: the main job under a real Slurm over PMIx, and differences that it must see."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from published import A100_CPUS, A100_HCAS, A100_MEMS

from hpclaunch.sandbox import updown

HELLO = Path(__file__).parent.parent.parent / "examples" / "hello-mpi"

# Local rank -> cores, memory node, GPU and HCA of a DGX A100 with 8 ranks: the published placement.
REFERENCE = [
    (cpus, str(numa), str(gpu), hca)
    for gpu, (cpus, numa, hca) in enumerate(zip(A100_CPUS, A100_MEMS, A100_HCAS, strict=True))
]


def demo(tmp_path: Path, hpclaunch: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
    """Runs the demo. `hpclaunch` is shell text that goes before the command of that name."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words, before in (("hpclaunch", "-m hpclaunch", hpclaunch), ("python3", "", "")):
        text = f'#!/bin/sh\n{before}\nexec "{sys.executable}" {words} "$@"\n'
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(HELLO.parent.parent),
        "TMPDIR": str(tmp_path),
        **env,
    }
    argv = [HELLO / "demo.sh"]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=False)


NO_SANDBOX = 'case $1 in sandbox) echo "no Slurm to be had" >&2; exit 1 ;; esac'


def test_without_slurm_the_demo_runs_on_this_machine_and_says_so(tmp_path: Path) -> None:
    run = demo(tmp_path, NO_SANDBOX, CI="")
    assert run.returncode == 0, run.stderr
    assert "without a scheduler" in run.stderr
    rows = [line.split() for line in run.stdout.splitlines()[1:17]]
    assert [(row[0], row[-1]) for row in rows] == [(str(rank), "ok") for rank in range(16)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"]


def test_in_ci_the_demo_does_not_do_without_slurm(tmp_path: Path) -> None:
    assert demo(tmp_path, NO_SANDBOX, CI="true").returncode == 1


@pytest.mark.sandbox
def test_the_demo_shows_16_ranks_where_they_belong(tmp_path: Path) -> None:
    obstacle = updown.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    run = demo(tmp_path)
    assert run.returncode == 0, run.stderr
    rows = [line.split() for line in run.stdout.splitlines()[1:17]]
    seen = [(row[0], row[1], row[2], *row[3:7], row[-1]) for row in rows]
    assert seen == [
        (str(node * 8 + local), f"dgx{node + 1}", str(local), *place, "ok")
        for node in range(2)
        for local, place in enumerate(REFERENCE)
    ]
    assert run.stdout.splitlines()[17] == "sum of 1 to 16 over 16 ranks: 136"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"]


PLAN = {"rank": 0, "node": 0, "local_rank": 0, "gpus": [2], "cpus": "0-1", "mems": "1", "hcas": ["mlx5_0"]}
SAID = {
    "hello": "",
    "rank": 0,
    "node": "a",
    "local_rank": 0,
    "cpus_allowed": "0-1",
    "mems_allowed": "0-1",
    "memory_policy": "bind:1",
    "CUDA_VISIBLE_DEVICES": "2,3",
    "UCX_NET_DEVICES": "mlx5_0:1",
    "NCCL_IB_HCA": "=mlx5_0:1",
    "MASTER_ADDR": "a",
    "MASTER_PORT": "61007",
    "mpi": "sum of 1 to 2 over 2 ranks: 3",
}

Table = Callable[[dict[str, object], dict[str, object]], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two ranks on two nodes, the second changed: plan, and what it said."""

    def run(planned: dict[str, object], said: dict[str, object]) -> "subprocess.CompletedProcess[str]":
        second_plan = {**PLAN, "rank": 1, "node": 1, **planned}
        second = {**SAID, "rank": 1, "node": "b", **said}
        plan = tmp_path / "plan.json"
        plan.write_text(json.dumps({"ranks": [PLAN, second_plan]}), encoding="utf-8")
        log = f"a line of the job's own\n{json.dumps(SAID)}\n{json.dumps(second)}\n"
        argv = [sys.executable, HELLO / "table.py", plan]
        environment = {**os.environ, "PYTHONPATH": str(HELLO.parent.parent)}
        return subprocess.run(argv, input=log, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(
    ("planned", "said"),
    [
        ({}, {}),
        ({}, {"CUDA_VISIBLE_DEVICES": None}),
        ({"cpus": "", "mems": ""}, {"cpus_allowed": "5", "memory_policy": "default"}),
        ({"mems": "0-1"}, {"memory_policy": "default"}),
        ({"gpus": [], "hcas": []}, {"CUDA_VISIBLE_DEVICES": "", "UCX_NET_DEVICES": None}),
    ],
)
def test_ranks_that_got_what_was_planned(
    table: Table, planned: dict[str, object], said: dict[str, object]
) -> None:
    run = table(planned, said)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1] == "ok: 2 ranks on 2 nodes, as planned"


@pytest.mark.parametrize(
    "said",
    [
        {"cpus_allowed": "2-3"},
        {"memory_policy": "bind:0"},
        {"memory_policy": "default"},
        {"UCX_NET_DEVICES": "mlx5_10:1"},
        {"UCX_NET_DEVICES": None},
        {"CUDA_VISIBLE_DEVICES": "0,1"},
        {"local_rank": 1},
        {"rank": 2},
    ],
)
def test_a_rank_that_got_something_else(table: Table, said: dict[str, object]) -> None:
    run = table({}, said)
    assert run.returncode == 1, run.stderr
    assert "DIFFERENT" in next(line for line in run.stdout.splitlines()[2:] if not line.endswith("ok"))
    assert run.stdout.splitlines()[1].endswith("ok")


@pytest.mark.parametrize(
    "said",
    [
        {"node": "a"},
        {"MASTER_PORT": "61008"},
        {"NCCL_IB_HCA": "=mlx5_1:1"},
        {"mpi": "WRONG sum of 1 to 2 over 1 ranks: 1"},
    ],
)
def test_ranks_that_do_not_fit_together(table: Table, said: dict[str, object]) -> None:
    run = table({}, said)
    assert run.returncode == 1, run.stderr
    assert "DIFFERENT: " in run.stdout
