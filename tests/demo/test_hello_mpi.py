"""`make demo` and its table: the main job under a real Slurm over PMIx, and differences that it must see."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hpclaunch.sandbox import updown

HELLO = Path(__file__).parent.parent.parent / "examples" / "hello-mpi"

# Local rank -> cores, memory node, GPU and HCA of a DGX A100 with 8 ranks: the published placement.
REFERENCE = [
    ("48-55,176-183", "3", "0", "mlx5_0"),
    ("56-63,184-191", "3", "1", "mlx5_1"),
    ("16-23,144-151", "1", "2", "mlx5_2"),
    ("24-31,152-159", "1", "3", "mlx5_3"),
    ("112-119,240-247", "7", "4", "mlx5_6"),
    ("120-127,248-255", "7", "5", "mlx5_7"),
    ("80-87,208-215", "5", "6", "mlx5_8"),
    ("88-95,216-223", "5", "7", "mlx5_9"),
]


@pytest.mark.sandbox
def test_the_demo_shows_16_ranks_where_they_belong(tmp_path: Path) -> None:
    obstacle = updown.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("hpclaunch", "-m hpclaunch"), ("python3", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(HELLO.parent.parent),
        "TMPDIR": str(tmp_path),
    }
    argv = [HELLO / "demo.sh"]
    run = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=False)
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
