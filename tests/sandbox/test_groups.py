"""Jobs of unlike groups under a real Slurm: MPI ranks in one world and in separate ones."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import hpclaunch
from realslurm import Slurm

# Debian's own Python, which python3-mpi4py belongs to. Each rank says who it is, what reached it as bytes,
# and what the ranks of its world and of its group have in sum.
PYTHON = "/usr/bin/python3"
RANK = """\
import json, os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
hexed = lambda words: [os.fsencode(word).hex() for word in words]
env = os.environ
group = world.Split(int(env["HPCLAUNCH_GROUP_INDEX"]), world.rank)
found = {
    "argv": hexed(sys.argv[2:]),
    "LR": os.environb[b"LR"].hex(),
    "SHARED": os.environb[b"SHARED"].hex(),
    "OWN": env.get("OWN"),
    "host": env["SLURMD_NODENAME"],
    "rank": world.rank,
    "size": world.size,
    "sum": world.allreduce(world.rank),
    "of_group": [env["HPCLAUNCH_GROUP_INDEX"], env["HPCLAUNCH_GROUP_RANK"], env["HPCLAUNCH_GROUP_SIZE"]],
    "in_group": [group.rank, group.size, group.allreduce(1)],
    "groups": env["HPCLAUNCH_GROUPS"],
    "torch": [env["RANK"], env["WORLD_SIZE"], env["LOCAL_RANK"]],
    "master": [env["MASTER_ADDR"], env["MASTER_PORT"]],
}
name = env["HPCLAUNCH_GROUP"]
with open(os.path.join(sys.argv[1], "%s.%s" % (name, env["HPCLAUNCH_GROUP_RANK"])), "w") as file:
    json.dump(found, file)
print("I am %s" % name, flush=True)
"""
SPECIAL = "a b\t'q' \"d\" $HOME $(id) `id` \\ \n x"
UNICODE = "é\u2028 *?[a] {1,2} #;&|"
HOSTILE = [
    "",
    ":",
    "--",
    "=x",
    SPECIAL,
    UNICODE,
    "\r\x1b=--",
]

Run = Callable[..., Any]


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


def write(folder: Path, name: str, **keys: Any) -> Path:
    path = folder / f"{name}.yaml"
    job = {"version": 1, "name": name, "mpi": "pmix", "rendezvous": "torch", "ranks_per_node": 2, "time": 5}
    path.write_text(yaml.safe_dump({**job, **keys}, sort_keys=False), encoding="utf-8")
    return path


def two_groups(folder: Path) -> dict[str, Any]:
    (folder / "rank.py").write_text(RANK)
    (folder / "out").mkdir(mode=0o777)
    command = [PYTHON, str(folder / "rank.py"), str(folder / "out")]
    train = {"nodes": 2, "command": [*command, *HOSTILE], "env": {"LR": SPECIAL, "OWN": "1"}}
    evaluate = {"nodes": 1, "command": [*command, "--other"]}
    return {"env": {"LR": "0.1", "SHARED": UNICODE}, "groups": {"train": train, "evaluate": evaluate}}


def ranks(folder: Path, group: str) -> list[dict[str, Any]]:
    files = sorted((folder / "out").glob(f"{group}.*"), key=lambda file: int(file.suffix[1:]))
    return [json.loads(file.read_text()) for file in files]


def arrived(words: list[str]) -> list[str]:
    return [bytes.fromhex(word).decode() for word in words]


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
