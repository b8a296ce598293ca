"""Jobs whose groups are on nodes of two types, or have other numbers of ranks on each, under a real Slurm: a
heterogeneous job, and one allocation."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import hpclaunch
from groupranks import HOSTILE, SPECIAL, Run, arrived, ranks, two_groups, write
from putback import put_back
from realslurm import Slurm
from waiting import until

from hpclaunch.sandbox.recorded import bound, pyxis
from hpclaunch.values.cpulist import format_list

A100, H100 = "dgx-a100", "dgx-h100"


@pytest.fixture(scope="module")
def slurm_mixed(start_slurm: Callable[..., Slurm]) -> Iterator[Slurm]:
    """Two DGX A100 and two DGX H100, where something changes each second, as on a cluster that is in use.

    Only backfill starts heterogeneous jobs, and it looks again only if something has changed in a later
    second than that of its last look (`_more_work` in src/plugins/sched/backfill/backfill.c).
    """
    kinds = ("--node-type", f"{A100}:2", "--node-type", f"{H100}:2")
    slurm = start_slurm(*kinds, "--name", "unlike")
    over = threading.Event()

    def change() -> None:
        while not over.wait(1):
            slurm.run("scontrol", "update", "NodeName=dgx1", "Comment=changed")

    changing = threading.Thread(target=change)
    changing.start()
    yield slurm
    over.set()
    changing.join()


@pytest.fixture
def run(slurm_mixed: Slurm, tmp_path: Path) -> Run:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    tmp_path.chmod(0o777)
    return lambda *words, **more: hpclaunch(
        *words, env={**slurm_mixed.env, "HPCLAUNCH_HOME": str(home)}, **more
    )


def unlike(folder: Path, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    keys = two_groups(folder)
    keys["groups"]["train"] |= first
    keys["groups"]["evaluate"] |= second
    return keys


def ended(slurm: Slurm, run: Run, job: str | Path) -> subprocess.CompletedProcess[str]:
    """The submission of the job, when it has ended. Now and then srun of Slurm 22.05 does not end a step of
    two components in one allocation: both are done on their nodes, and its own threads wait for one another.
    Such a job is cancelled and submitted again; one that never ends is an error."""
    words = ("submit", job, "--site", slurm.site, "--wait")
    for _ in range(_TRIES - 1):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return run(*words, timeout=_LONG)
        slurm.run("scancel", "--full", "--me")
        until(lambda: not slurm.run("squeue", "--noheader").stdout.strip())
    return run(*words)


_TRIES, _LONG = 4, 40  # seconds: a job takes four
KINDS = [
    ({"gpu_type": "a100", "nodes": 2, "ranks_per_node": 3}, {"gpu_type": "h100", "nodes": 1}),
    ({"gpu_type": "a100", "nodes": 1, "ranks_per_node": 3}, {"gpu_type": "a100", "nodes": 1}),
]


@pytest.mark.parametrize("kinds", KINDS, ids=["hetjob", "one allocation"])
def test_unlike_groups_are_one_world(
    slurm_mixed: Slurm, run: Run, tmp_path: Path, kinds: tuple[dict[str, Any], ...]
) -> None:
    job = write(tmp_path, "one", **unlike(tmp_path, *kinds), verify=True)
    done = ended(slurm_mixed, run, job)
    assert done.returncode == 0, done.stderr
    train, evaluate = ranks(tmp_path, "train"), ranks(tmp_path, "evaluate")
    every = [*train, *evaluate]
    first = 3 * kinds[0]["nodes"]
    total = first + 2
    assert [each["rank"] for each in every] == list(range(total))
    for number, each in enumerate(every):
        assert (each["size"], each["sum"]) == (total, sum(range(total)))
        assert each["groups"] == f"train:{first} evaluate:2"
        assert each["torch"][:2] == [str(number), str(total)]
    assert len({tuple(each["master"]) for each in every}) == 1
    assert every[0]["master"][0] == every[0]["host"]
    for group, size, local in ((train, first, 3), (evaluate, 2, 2)):
        assert [each["in_group"] for each in group] == [[number, size, size] for number in range(size)]
        assert [each["torch"][2] for each in group] == [str(number % local) for number in range(size)]
        assert {each["local"][0] for each in group} == {str(local)}
    nodes = [each["host"] for each in every]
    assert [each["local"][1] for each in every] == [
        str(list(dict.fromkeys(nodes)).index(node)) for node in nodes
    ]
    assert all(arrived(each["argv"]) == HOSTILE and arrived([each["LR"]]) == [SPECIAL] for each in train)
    assert all(arrived(each["argv"]) == ["--other"] and arrived([each["LR"]]) == ["0.1"] for each in evaluate)
    assert len({each["hcas"] for each in every}) == len({kind["gpu_type"] for kind in kinds})
    job_id = int(done.stdout)
    placed = bound(slurm_mixed.folder, job_id)
    got = {task.rank: found for task, found in placed.items() if task.step != "batch"}
    verified = run("verify", str(job_id))
    assert (verified.returncode, f"all {total} ranks are as planned" in verified.stdout) == (0, True)
    told = json.loads(run("explain", job, "--site", slurm_mixed.site, "--json").stdout)["ranks"]
    assert [each["group"] for each in told] == ["train"] * first + ["evaluate"] * 2
    for number, each in enumerate(told):
        assert format_list(got[number].cpus or ()) == each["cpus"]
        assert format_list(got[number].mems) == each["mems"]


def test_separate_worlds_of_a_heterogeneous_job(slurm_mixed: Slurm, run: Run, tmp_path: Path) -> None:
    kinds = ({"gpu_type": "h100", "nodes": 1, "ranks_per_node": 3}, {"gpu_type": "a100", "nodes": 2})
    job = write(tmp_path, "separate", **unlike(tmp_path, *kinds), world="separate", verify=True)
    done = run("submit", job, "--site", slurm_mixed.site, "--wait")
    assert done.returncode == 0, done.stderr
    for name, size in (("train", 3), ("evaluate", 4)):
        group = ranks(tmp_path, name)
        assert [(each["rank"], each["size"]) for each in group] == [(number, size) for number in range(size)]
        assert {tuple(each["master"]) for each in group} == {(group[0]["host"], group[0]["master"][1])}
    verdict = json.loads(run("verify", done.stdout.strip(), "--json").stdout)
    assert (verdict["as_planned"], verdict["reported"], verdict["notes"]) == (True, 7, [])
    log = run("logs", done.stdout.strip()).stdout.splitlines()
    lines = sorted(line for line in log if "hpclaunch-verify" not in line)
    assert lines == ["evaluate: I am evaluate"] * 4 + ["train: I am train"] * 3


@pytest.mark.parametrize("world", ["one", "separate"])
def test_a_rank_that_fails_ends_all_groups_and_gives_the_job_its_status(
    slurm_mixed: Slurm, run: Run, tmp_path: Path, world: str
) -> None:
    here = tmp_path / "out"
    here.mkdir(mode=0o777)
    waits = f'touch {here}/"$HPCLAUNCH_GROUP_RANK"; exec sleep 300'
    fails = (
        f'while [ "$(ls {here} | wc -l)" -lt 3 ]; do sleep 0.1; done; exit "$((7 * HPCLAUNCH_GROUP_RANK))"'
    )
    groups = {
        "train": {"nodes": 1, "gpu_type": "h100", "ranks_per_node": 3, "command": waits},
        "evaluate": {"nodes": 1, "gpu_type": "a100", "command": fails},
    }
    keys: dict[str, Any] = {"mpi": "none", "rendezvous": "none"}
    job = write(tmp_path, "failing", **keys, world=world, groups=groups)
    done = run("submit", job, "--site", slurm_mixed.site, "--wait")
    assert done.returncode == 7, done.stderr
    status = json.loads(run("status", done.stdout.strip(), "--json").stdout)
    assert (status["state"], status["rank"]) == ("FAILED", None)
    assert re.fullmatch(r"rank 1 of the group evaluate on dgx[12] was the first to fail", status["reason"])


def test_a_heterogeneous_job_is_one_job_until_it_is_cancelled(
    slurm_mixed: Slurm, run: Run, tmp_path: Path
) -> None:
    here = tmp_path / "out"
    here.mkdir(mode=0o777)
    # Without MPI the groups' nodes may be in any order: the first is on the last node here.
    command = (
        f'echo "$MASTER_ADDR $NODE_RANK" >{here}/"$HPCLAUNCH_GROUP.$HPCLAUNCH_GROUP_RANK"; exec sleep 300'
    )
    groups = {"train": {"nodes": 1, "gpu_type": "h100"}, "evaluate": {"nodes": 2, "gpu_type": "a100"}}
    keys = {"mpi": "none", "image": "a/b:1", "command": command}
    job = write(tmp_path, "long", **keys, groups=groups)
    asked = run("submit", job, "--site", slurm_mixed.site, "--dry-run")
    assert asked.returncode == 0, asked.stderr
    assert "asks for 1 node with 8 GPUs each and 2 nodes with 8 GPUs each" in asked.stderr
    assert "2.0 GPU-hours" in asked.stderr
    assert "Slurm would start it at " in asked.stderr
    sent = run("submit", job, "--site", slurm_mixed.site)
    assert sent.returncode == 0, sent.stderr
    job_id = sent.stdout.strip()
    until(lambda: sum(bool(path.read_text()) for path in here.iterdir()) == 6)
    assert {path.name: path.read_text().split() for path in here.iterdir()} == {
        **{f"train.{number}": ["dgx3", "0"] for number in range(2)},
        **{f"evaluate.{number}": ["dgx3", str(1 + number // 2)] for number in range(4)},
    }
    status = json.loads(run("status", job_id, "--json").stdout)
    assert status["state"] == "RUNNING"
    assert sorted(status["nodes"].split(",")) == ["dgx3", "dgx[1-2]"]
    assert (Path(status["record"]) / "claim").readlink() == Path(job_id)
    (listed,) = json.loads(run("list", "--json").stdout)
    assert listed["job_id"] == job_id
    components = ("squeue", "--noheader", f"--jobs={job_id}", "--format=%i")
    assert sorted(slurm_mixed.run(*components).stdout.split()) == [f"{job_id}+0", f"{job_id}+1"]
    ids = slurm_mixed.run("squeue", "--noheader", f"--jobs={job_id}", "--format=%A").stdout.split()
    steps = [pyxis(slurm_mixed.folder, int(each)) for each in ids]
    images = [option.value for step in steps for given in step.values() for option in given[:1]]
    assert images == ["a/b:1"] * 3  # on each node, whichever component it is of
    whose = ("--", "sh", "-c", 'echo "$HPCLAUNCH_GROUP.$HPCLAUNCH_GROUP_RANK on $SLURMD_NODENAME"')
    told = [run("exec", job_id, "--rank", number, *whose).stdout for number in ("1", "5")]
    told += [run("exec", job_id, "--group", "evaluate", "--rank", "1", *whose).stdout]
    assert told == ["train.1 on dgx3\n", "evaluate.3 on dgx2\n", "evaluate.1 on dgx1\n"]
    assert run("cancel", job_id).returncode == 0
    done = run("wait", job_id)
    assert (done.returncode, slurm_mixed.run(*components).stdout) == (1, "")
    ended = json.loads(run("status", job_id, "--json").stdout)
    assert (ended["state"], ended["reason"]) == ("CANCELLED", "by hpclaunch cancel")


def test_a_heterogeneous_job_starts_again_gets_its_signal_and_tells_of_its_end(
    slurm_mixed: Slurm, run: Run, tmp_path: Path
) -> None:
    groups = {
        "train": {"nodes": 1, "gpu_type": "h100"},
        "evaluate": {"nodes": 1, "gpu_type": "a100"},
    }
    keys: dict[str, Any] = {"mpi": "none", "rendezvous": "none", "groups": groups}
    keys |= {"requeue": True, "signal": {"name": "USR1", "before": "110s"}, "time": 2}
    keys |= {"metrics": {"start": "start=(.)"}}
    for attempt in range(3):
        here = tmp_path / f"out{attempt}"
        here.mkdir()
        here.chmod(0o777)
        rank = f'{here}/"$HPCLAUNCH_GROUP.$HPCLAUNCH_GROUP_RANK"'
        # Each start gets its signal. The first one loses a node then; in the second one group ends with 7.
        command = f"""
trap 'echo >{rank}."$HPCLAUNCH_RESTARTS"' USR1
echo "start=$HPCLAUNCH_RESTARTS"
until [ $HPCLAUNCH_GROUP = evaluate ] && [ "$(ls {here}/*.1 2>/dev/null | wc -l)" = 4 ]; do sleep 0.2; done
exit 7
"""
        keys |= {"command": command, "notify": {"command": ["tee", "-a", str(here / "told")]}}
        job_id = put_back(slurm_mixed, run, write(tmp_path, "again", **keys), here)
        if job_id is not None:
            break
    assert job_id is not None
    done = run("wait", job_id)
    slurm_mixed.run("scontrol", "update", "NodeName=dgx[1-2]", "State=RESUME")
    assert done.returncode == 7, run("logs", job_id).stdout
    status = json.loads(run("status", job_id, "--json").stdout)
    assert re.fullmatch(r"rank [01] of the group evaluate on dgx[12] was the first to fail", status["reason"])
    (row,) = json.loads(run("results", job_id, "--json").stdout)
    assert (row["state"], row["exit_code"], row["metrics"]) == ("FAILED", 7, {"start": "1"})
    told = [json.loads(line) for line in (here / "told").read_text().splitlines()]
    ends = [(each["event"], each["state"], each["restarts"], each["hosts"]) for each in told]
    assert ends[-1] == ("end", "FAILED", 1, status["nodes"])
    assert [each[1:3] for each in ends[:-1]] in ([], [("REQUEUED", 0)])


@pytest.fixture
def bad_hcas(slurm_mixed: Slurm) -> Iterator[None]:
    """The first node of each type has an HCA that is down."""
    ports = [slurm_mixed.folder / f"machines/{node}/sys/class/infiniband/mlx5_3/ports/1" for node in BAD]
    for port in ports:
        (port / "state").write_text("1: DOWN\n")
    yield
    for port in ports:
        (port / "state").write_text("4: ACTIVE\n")


BAD = ("dgx1", "dgx3")


@pytest.mark.usefixtures("bad_hcas")
@pytest.mark.parametrize("world", ["one", "separate"])
def test_each_group_of_a_heterogeneous_job_is_on_good_nodes(
    slurm_mixed: Slurm, run: Run, tmp_path: Path, world: str
) -> None:
    kinds = ({"gpu_type": "a100", "nodes": 1, "ranks_per_node": 3}, {"gpu_type": "h100", "nodes": 1})
    keys = {**unlike(tmp_path, *kinds), "verify": True, "preflight": {"gpu": False, "spares": 1}}
    done = run(
        "submit", write(tmp_path, "checked", **keys, world=world), "--site", slurm_mixed.site, "--wait"
    )
    assert done.returncode == 0, run("logs", done.stdout.strip()).stdout
    train, evaluate = ranks(tmp_path, "train"), ranks(tmp_path, "evaluate")
    assert [each["host"] for each in (*train, *evaluate)] == ["dgx2"] * 3 + ["dgx4"] * 2
    sizes = (5, 5) if world == "one" else (3, 2)
    for group, size in zip((train, evaluate), sizes, strict=True):
        assert {(each["size"], each["sum"]) for each in group} == {(size, sum(range(size)))}
        assert {each["master"][0] for each in group} == {"dgx2" if world == "one" else group[0]["host"]}
    job_id = done.stdout.strip()
    assert run("verify", job_id).returncode == 0
    said = json.loads(run("status", job_id, "--json").stdout)["preflight"]
    assert [line.partition(":")[0] for line in said] == [
        *("checking the nodes of group train", "dgx1 is left out", "the ranks are on dgx2"),
        *("checking the nodes of group evaluate", "dgx3 is left out", "the ranks are on dgx4"),
    ]


@pytest.mark.usefixtures("bad_hcas")
def test_a_node_that_fails_ends_one_world_though_the_check_left_it_out(
    slurm_mixed: Slurm, run: Run, tmp_path: Path
) -> None:
    groups = {"train": {"nodes": 1, "gpu_type": "a100"}, "evaluate": {"nodes": 1, "gpu_type": "h100"}}
    keys: dict[str, Any] = {"mpi": "none", "rendezvous": "none", "ranks_per_node": 1}
    keys |= {"command": "echo up; exec sleep 300", "preflight": {"gpu": False, "spares": 1}}
    sent = run("submit", write(tmp_path, "lost", **keys, groups=groups), "--site", slurm_mixed.site)
    job_id = sent.stdout.strip()
    assert "a node that fails while the job runs ends it" in sent.stderr
    until(lambda: run("logs", job_id).stdout.count("up\n") == 2)
    slurm_mixed.run("scontrol", "update", f"NodeName={BAD[0]}", "State=DOWN", "Reason=lost")
    done = run("wait", job_id)
    assert done.returncode == 1, done.stderr
    status = json.loads(run("status", job_id, "--json").stdout)
    assert (status["state"], status["cause"]) == ("NODE_FAIL", "node_failure")
    assert not slurm_mixed.run("squeue", "--noheader", f"--jobs={job_id}", "--states=RUNNING").stdout
    state = ("sinfo", "--noheader", f"--nodes={BAD[0]}", "--format=%T")
    until(lambda: "idle" in slurm_mixed.run(*state).stdout)


@pytest.mark.usefixtures("bad_hcas")
def test_too_few_good_nodes_of_one_group_end_the_job_before_a_rank_starts(
    slurm_mixed: Slurm, run: Run, tmp_path: Path
) -> None:
    groups = {"train": {"nodes": 1, "gpu_type": "a100"}, "evaluate": {"nodes": 2, "gpu_type": "h100"}}
    keys: dict[str, Any] = {"mpi": "none", "rendezvous": "none", "command": f"touch {tmp_path}/started"}
    keys |= {
        "ranks_per_node": 1,
        "preflight": {"gpu": False, "spares": 0},
        "sites": {slurm_mixed.name: {"exclude": "dgx1"}},
    }
    done = run("submit", write(tmp_path, "few", **keys, groups=groups), "--site", slurm_mixed.site, "--wait")
    assert done.returncode == 122, done.stderr
    status = json.loads(run("status", done.stdout.strip(), "--json").stdout)
    assert status["cause"] == "node_failure"
    assert status["reason"] == "preflight: only 1 of 2 nodes are good, and the ranks need 2"
    assert not (tmp_path / "started").exists()


def test_one_world_does_not_start_on_nodes_in_another_order_than_was_planned(
    slurm_mixed: Slurm, run: Run, tmp_path: Path
) -> None:
    site = yaml.safe_load(slurm_mixed.site.read_text())
    first, second = site["node_types"]
    first["hosts"], second["hosts"] = "dgx[3-4]", "dgx[1-2]"  # which is not so
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(site))
    groups = {"train": {"nodes": 1, "gpu_type": "h100"}, "evaluate": {"nodes": 1, "gpu_type": "a100"}}
    job = write(tmp_path, "order", command=f"touch {tmp_path}/started", groups=groups)
    done = run("submit", job, "--site", tmp_path / "site.yaml", "--wait")
    assert done.returncode == 121, done.stderr
    status = json.loads(run("status", done.stdout.strip(), "--json").stdout)
    assert status["cause"] == "launch_failure"
    assert (
        "MPI would mix up the nodes, which are not in the order of their names: dgx3,dgx" in status["reason"]
    )
    assert not (tmp_path / "started").exists()


def test_groups_of_which_nobody_hears_again_end_the_job(slurm_mixed: Slurm, run: Run, tmp_path: Path) -> None:
    here = tmp_path / "out"
    here.mkdir(mode=0o777)
    command = f'touch {here}/"$HPCLAUNCH_GROUP"; exec sleep 300'
    groups = {"train": {"nodes": 1, "gpu_type": "h100"}, "evaluate": {"nodes": 1, "gpu_type": "a100"}}
    keys: dict[str, Any] = {"mpi": "none", "rendezvous": "none", "world": "separate", "ranks_per_node": 1}
    job = write(tmp_path, "unheard", **keys, command=command, groups=groups)
    job_id = run("submit", job, "--site", slurm_mixed.site).stdout.strip()
    until(lambda: len(list(here.iterdir())) == 2)
    # The script's own processes but for the first, which reads how the groups end.
    script = f"job{int(job_id):05}/slurm_script"
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if script in (process / "cmdline").read_text(errors="replace"):
                stat = (process / "stat").read_text().rpartition(")")[2].split()
                parents[int(process.name)] = int(stat[1])
    waiting = [process for process, parent in parents.items() if parent in parents]
    assert len(waiting) >= 2, parents
    for process in waiting:
        os.kill(process, signal.SIGKILL)
    done = run("wait", job_id)
    assert done.returncode == 121, done.stderr
    reason = json.loads(run("status", job_id, "--json").stdout)["reason"]
    assert re.match("how 2 of the groups ended is not known", reason)


@pytest.mark.parametrize("world", ["one", "separate"])
def test_one_allocation_of_several_is_cancelled(
    slurm_mixed: Slurm, run: Run, tmp_path: Path, world: str
) -> None:
    here = tmp_path / "out"
    here.mkdir(mode=0o777)
    command = f'touch {here}/"$HPCLAUNCH_GROUP"; exec sleep 300'
    groups = {"train": {"nodes": 1, "gpu_type": "h100"}, "evaluate": {"nodes": 1, "gpu_type": "a100"}}
    keys: dict[str, Any] = {"mpi": "none", "rendezvous": "none", "world": world, "ranks_per_node": 1}
    job = write(tmp_path, "half", **keys, command=command, groups=groups)
    job_id = run("submit", job, "--site", slurm_mixed.site).stdout.strip()
    until(lambda: len(list(here.iterdir())) == 2)
    slurm_mixed.run("scancel", f"{job_id}+1")
    done = run("wait", job_id)
    assert done.returncode == 1, done.stderr
    status = json.loads(run("status", job_id, "--json").stdout)
    assert (status["state"], status["cause"]) == ("CANCELLED", "cancelled"), status
