"""Jobs of unlike groups under a real Slurm: MPI ranks in one world and in separate ones."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import hpclaunch
from groupranks import BARRIER, HOSTILE, PYTHON, SPECIAL, UNICODE, Run, arrived, ranks, two_groups, write
from realslurm import Slurm


@pytest.fixture(scope="module")
def slurm_three(start_slurm: Callable[..., Slurm]) -> Slurm:
    """Three DGX A100."""
    return start_slurm("--nodes", "3", "--node-type", "dgx-a100", "--name", "three")


@pytest.fixture
def run(slurm_three: Slurm, tmp_path: Path) -> Run:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    tmp_path.chmod(0o777)
    return lambda *words: hpclaunch(*words, env={**slurm_three.env, "HPCLAUNCH_HOME": str(home)})


def test_groups_of_one_world_know_who_they_are(slurm_three: Slurm, run: Run, tmp_path: Path) -> None:
    job = write(tmp_path, "one", **two_groups(tmp_path), verify=True)
    done = run("submit", job, "--site", slurm_three.site, "--wait")
    assert done.returncode == 0, done.stderr
    train, evaluate = ranks(tmp_path, "train"), ranks(tmp_path, "evaluate")
    assert [each["rank"] for each in (*train, *evaluate)] == [0, 1, 2, 3, 4, 5]
    for number, each in enumerate((*train, *evaluate)):
        assert (each["size"], each["sum"], each["groups"]) == (6, 15, "train:4 evaluate:2")
        assert each["torch"] == [str(number), "6", str(number % 2)]
    assert [each["of_group"] for each in train] == [["0", str(number), "4"] for number in range(4)]
    assert [each["of_group"] for each in evaluate] == [["1", str(number), "2"] for number in range(2)]
    assert [each["in_group"] for each in (*train, *evaluate)] == [
        *([number, 4, 4] for number in range(4)),
        *([number, 2, 2] for number in range(2)),
    ]
    hosts = [each["host"] for each in (*train, *evaluate)]
    assert hosts[::2] == hosts[1::2] == sorted(set(hosts))
    assert len(set(hosts)) == 3
    for each in train:
        assert arrived(each["argv"]) == HOSTILE
        assert arrived([each["LR"], each["SHARED"]]) == [SPECIAL, UNICODE]
        assert each["OWN"] == "1"
    for each in evaluate:
        assert arrived(each["argv"]) == ["--other"]
        assert arrived([each["LR"], each["SHARED"]]) == ["0.1", UNICODE]
        assert each["OWN"] is None
    verified = run("verify", done.stdout.strip())
    assert verified.returncode == 0, verified.stdout
    told = json.loads(run("explain", job, "--site", slurm_three.site, "--json").stdout)["ranks"]
    assert [(each["group"], each["group_rank"]) for each in told] == [
        *(("train", number) for number in range(4)),
        *(("evaluate", number) for number in range(2)),
    ]


def test_separate_worlds_run_at_the_same_time_each_with_its_own_ranks(
    slurm_three: Slurm, run: Run, tmp_path: Path
) -> None:
    job = write(tmp_path, "separate", **two_groups(tmp_path), world="separate")
    done = run("submit", job, "--site", slurm_three.site, "--wait")
    assert done.returncode == 0, done.stderr
    train, evaluate = ranks(tmp_path, "train"), ranks(tmp_path, "evaluate")
    for group, total in ((train, 6), (evaluate, 1)):
        for number, each in enumerate(group):
            assert (each["rank"], each["size"], each["sum"]) == (number, len(group), total)
            assert each["of_group"][1:] == [str(number), str(len(group))]
            assert each["torch"][:2] == [str(number), str(len(group))]
            assert each["groups"] == "train:4 evaluate:2"
            assert each["master"] == [group[0]["host"], group[0]["master"][1]]
    assert len({each["host"] for each in train}) == 2
    assert not {each["host"] for each in train} & {each["host"] for each in evaluate}
    assert all(arrived(each["argv"]) == HOSTILE for each in train)
    assert all(arrived([each["LR"]]) == [SPECIAL] for each in train)
    assert all(arrived(each["argv"]) == ["--other"] for each in evaluate)
    lines = sorted(run("logs", done.stdout.strip()).stdout.splitlines())
    assert lines == ["evaluate: I am evaluate"] * 2 + ["train: I am train"] * 4


def test_no_rank_leaves_a_barrier_before_the_ranks_of_other_nodes_are_there(
    slurm_three: Slurm, run: Run, tmp_path: Path
) -> None:
    here = tmp_path / "out"
    here.mkdir(mode=0o777)
    (tmp_path / "barrier.py").write_text(BARRIER)
    command = [PYTHON, str(tmp_path / "barrier.py"), str(here)]
    job = write(tmp_path, "barrier", nodes=3, command=command)
    done = run("submit", job, "--site", slurm_three.site, "--wait")
    log = run("logs", done.stdout.strip()).stdout
    assert (done.returncode, log) == (0, "together\n" * 6), done.stderr


@pytest.mark.parametrize("world", ["one", "separate"])
def test_a_rank_of_one_group_that_fails_ends_the_others_and_the_job(
    slurm_three: Slurm, run: Run, tmp_path: Path, world: str
) -> None:
    here = tmp_path / "out"
    here.mkdir(mode=0o777)
    waits = f'touch {here}/"$HPCLAUNCH_GROUP_RANK"; exec sleep 300'
    fails = f'while [ "$(ls {here} | wc -l)" -lt 4 ]; do sleep 0.1; done; '
    fails += 'exit "$((7 * HPCLAUNCH_GROUP_RANK))"'
    groups = {"train": {"nodes": 2, "command": waits}, "evaluate": {"nodes": 1, "command": fails}}
    keys: dict[str, Any] = {"mpi": "none", "rendezvous": "none"}
    job = write(tmp_path, "failing", **keys, world=world, groups=groups)
    done = run("submit", job, "--site", slurm_three.site, "--wait")
    assert done.returncode == 7, done.stderr
    log = run("logs", done.stdout.strip()).stdout
    assert re.search(r"^srun: error: \S+: task \d: Exited with exit code 7$", log, re.MULTILINE)
    said = "hpclaunch: group evaluate was the first to fail, with status 7: the job ends\n"
    assert (said in log) == (world == "separate")


@pytest.mark.parametrize(("world", "each"), [("one", 2), ("one", 3), ("separate", 3)])
def test_groups_are_on_good_nodes(
    slurm_three: Slurm, run: Run, tmp_path: Path, world: str, each: int
) -> None:
    """Alike, or with `each` ranks on a node in one and two in the other."""
    port = slurm_three.folder / "machines/dgx1/sys/class/infiniband/mlx5_3/ports/1/state"
    keys = two_groups(tmp_path)
    keys["groups"]["train"] |= {"nodes": 1, "ranks_per_node": each}
    keys |= {"verify": True, "preflight": {"spares": 1}, "world": world}
    port.write_text("1: DOWN\n")
    try:
        done = run("submit", write(tmp_path, "checked", **keys), "--site", slurm_three.site, "--wait")
    finally:
        port.write_text("4: ACTIVE\n")
    assert done.returncode == 0, run("logs", done.stdout.strip()).stdout
    every = [*ranks(tmp_path, "train"), *ranks(tmp_path, "evaluate")]
    assert [rank["host"] for rank in every] == ["dgx2"] * each + ["dgx3"] * 2
    assert {rank["size"] for rank in every} == ({each + 2} if world == "one" else {2, each})
    assert run("verify", done.stdout.strip()).returncode == 0
