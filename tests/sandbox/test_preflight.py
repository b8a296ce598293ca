"""The nodes of a job are checked before its ranks start, under the real Slurm with fake nodes made bad."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import hpclaunch
from published import A100_CPUS
from realslurm import Slurm
from realsshd import serving
from waiting import until

from hpclaunch.sandbox.recorded import affinity
from hpclaunch.values.cpulist import format_list

# What stands for programs of the nodes. nvidia-smi stops the check of the node that the file `hangs` names.
SMI = """\
#!/bin/sh
grep -qx "$SLURMD_NODENAME" {folder}/hangs 2>/dev/null && kill -STOP $PPID
for number in 0 1 2 3 4 5 6 7; do echo "0000000$number:00:00.0, 0"; done
"""
# What stands for all_reduce_perf of NVIDIA's nccl-tests: an MPI program, as that is, of which the first
# process prints a figure. The figure is made up: low where a node is among them that the file `alone` names,
# or with others one of the file `far`.
MEASURES = """\
#!/usr/bin/python3
import os
from mpi4py import MPI
nodes = MPI.COMM_WORLD.gather(os.environ["SLURMD_NODENAME"]) or []
def named(file):
    path = os.path.join("{folder}", file)
    return bool(set(nodes) & set(open(path).read().split() if os.path.exists(path) else []))
if nodes:
    slow = named("alone") or (len(nodes) > 1 and named("far"))
    print("# Avg bus bandwidth    : %s.5" % (90 if slow else 230))
"""
OF_NODES = ("SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_NNODES")
NAMES = (*OF_NODES, "MASTER_ADDR", "NODE_RANK", "WORLD_SIZE")
TELL = (
    "import json, os; print(json.dumps([int(os.environ['SLURM_PROCID']), os.environ['SLURMD_NODENAME'], "
    f"[os.environ.get(name) for name in {NAMES}]]))"
)


class User:
    """Who submits jobs to a site, by its name, and asks for them."""

    def __init__(self, site: Path, env: dict[str, str]):
        self.site, self.env = site, env
        self.name = yaml.safe_load(site.read_text(encoding="utf-8"))["name"]

    def submit(self, folder: Path, **job: Any) -> str:
        path = folder / "job.yaml"
        full = {"name": "checked", "nodes": 2, "ranks_per_node": 8, "mpi": "none", "time": 5, **job}
        said = {key: value for key, value in full.items() if value is not None}
        path.write_text(yaml.safe_dump(said, sort_keys=False))
        done = hpclaunch("submit", path, "--site", self.site, env=self.env)
        assert done.stdout.strip().isdigit(), done.stderr
        return done.stdout.strip()

    def wait(self, job: str) -> int:
        return hpclaunch("wait", f"{self.name}/{job}", env=self.env).returncode

    def status(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            hpclaunch("status", f"{self.name}/{job}", "--json", env=self.env).stdout
        )
        return found

    def log(self, job: str) -> list[str]:
        return hpclaunch("logs", f"{self.name}/{job}", env=self.env).stdout.splitlines()


class Place(User):
    """Four nodes, with programs of their own, and bad where a test says so."""

    def __init__(self, slurm: Slurm, folder: Path):
        self.slurm = slurm
        self.folder = folder
        folder.chmod(0o755)
        for name, text in (("nvidia-smi", SMI), ("measure", MEASURES)):
            (folder / name).write_text(text.replace("{folder}", str(folder)))
            (folder / name).chmod(0o755)
        here = yaml.safe_load(slurm.site.read_text(encoding="utf-8"))
        here["preflight"] = {
            "all_reduce_gbs": 200,
            "between_nodes_gbs": 150,
            "command": [str(folder / "measure")],
        }
        site = folder / "site.yaml"
        site.write_text(yaml.safe_dump(here))
        home = str(slurm.folder / "home")
        super().__init__(
            site, {**slurm.env, "HPCLAUNCH_HOME": home, "PATH": f"{folder}:{os.environ['PATH']}"}
        )

    def state(self, node: str, hca: str, text: str) -> None:
        """The state of an HCA's port."""
        found = self.slurm.folder / "machines" / node / "sys/class/infiniband" / hca / "ports/1/state"
        found.write_text(text + "\n")


@pytest.fixture(scope="module")
def place(start_slurm: Callable[..., Slurm], tmp_path_factory: pytest.TempPathFactory) -> Place:
    slurm = start_slurm("--nodes", "4", "--node-type", "dgx-a100", "--name", "preflight")
    return Place(slurm, tmp_path_factory.mktemp("preflight"))


@pytest.fixture(autouse=True)
def no_node_is_slow(place: Place) -> Iterator[None]:
    """A test says which are, and changes nothing for others."""
    yield
    for name in ("alone", "far", "hangs"):
        (place.folder / name).unlink(missing_ok=True)


@pytest.fixture
def bad_hca(place: Place) -> Iterator[None]:
    """An HCA of the second node is down."""
    place.state("dgx2", "mlx5_3", "1: DOWN")
    yield
    place.state("dgx2", "mlx5_3", "4: ACTIVE")


@pytest.mark.usefixtures("bad_hca")
def test_ranks_run_on_the_good_nodes_alone(place: Place, tmp_path: Path) -> None:
    (place.folder / "hangs").write_text("dgx3\n")
    job = place.submit(
        tmp_path,
        command=["python3", "-c", TELL],
        rendezvous="torch",
        preflight={"spares": 2, "limit": "15s"},
        verify=True,
    )
    ended = place.wait(job)
    said = place.log(job)
    assert ended == 0, said
    told = sorted(json.loads(line) for line in said if line.startswith("["))
    variables = ["dgx1,dgx4", "2", "2", "dgx1"]
    assert told == [
        [rank, ("dgx1", "dgx4")[rank // 8], [*variables, str(rank // 8), "16"]] for rank in range(16)
    ]
    found = affinity(place.slurm.folder, int(job))
    ranks = {task.rank: got.cpus for task, got in found.items() if task.step == "1" and got.cpus}
    cores = {rank: format_list(cpus) for rank, cpus in ranks.items()}
    assert cores == {rank: A100_CPUS[rank % 8] for rank in range(16)}
    facts = place.status(job)["preflight"]
    assert facts == [
        "dgx2 is left out: HCA mlx5_3 (0000:54:00.0): port 1 is DOWN",
        "dgx3 is left out: it said nothing within 15 s",
        "the ranks are on dgx1,dgx4",
    ]
    verified = hpclaunch("verify", f"{place.slurm.name}/{job}", env=place.env)
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.usefixtures("bad_hca")
def test_too_few_good_nodes_are_a_failure_before_any_rank(place: Place, tmp_path: Path) -> None:
    told = tmp_path / "told"
    tmp_path.chmod(0o777)
    (place.folder / "alone").write_text("dgx1\n")
    job = place.submit(
        tmp_path,
        nodes=3,
        image="a:1",
        command="echo a rank",
        preflight={"spares": 1, "nccl": True},
        notify={"command": ["/bin/sh", "-c", 'cat >>"$0"', str(told)]},
    )
    assert place.wait(job) == 122
    said = place.log(job)
    assert not [line for line in said if line == "a rank"]
    status = place.status(job)
    why = "preflight: only 2 of 3 nodes are good, and the ranks need 3"
    assert (status["state"], status["exit_code"], status["cause"], status["reason"]) == (
        "FAILED",
        122,
        "node_failure",
        why,
    )
    assert status["preflight"][:2] == [
        "dgx2 is left out: HCA mlx5_3 (0000:54:00.0): port 1 is DOWN",
        "dgx1 is left out: the all_reduce reached 90 GB/s of 200",
    ]
    assert json.loads(told.read_text())["exit_status"] == 122


def test_a_command_beside_a_rank_finds_its_node(place: Place, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    tmp_path.chmod(0o777)
    (place.folder / "alone").write_text("dgx1\n")
    job = place.submit(
        tmp_path,
        ranks_per_node=1,
        command=f"echo up; until [ -e {gate} ]; do sleep 0.1; done",
        preflight={"spares": 1, "nccl": True},
    )
    while place.log(job).count("up") < 2:
        assert place.status(job)["state"] in ("PENDING", "RUNNING")
    tell = ["sh", "-c", "echo $SLURMD_NODENAME $SLURM_PROCID"]
    done = hpclaunch("exec", f"{place.slurm.name}/{job}", "--rank", "1", "--", *tell, env=place.env)
    assert done.stdout.split() == ["dgx3", "1"], done.stderr
    gate.touch()
    assert place.wait(job) == 0


def test_a_node_that_is_slow_towards_others_is_left_out_by_steps_too(place: Place, tmp_path: Path) -> None:
    (place.folder / "far").write_text("dgx2\n")
    tell = "echo $SLURMD_NODENAME"
    job = place.submit(
        tmp_path,
        ranks_per_node=1,
        image="a:1",
        command=f"{tell} trial $HPCLAUNCH_TRIAL",
        trials=2,
        setup=[
            {"run": f"{tell} on the host", "where": "host"},
            {"run": f"{tell} in the container"},
            {"run": f"{tell} once", "per": "job"},
        ],
        preflight={"spares": 2, "nccl": True},
    )
    assert place.wait(job) == 0, place.log(job)
    assert place.status(job)["preflight"] == [
        "an all_reduce over all 4 nodes: it reached 90 GB/s of 150",
        "an all_reduce of dgx1 and dgx2: it reached 90 GB/s of 150",
        "dgx2 is left out: an all_reduce with dgx4: it reached 90 GB/s of 150",
        "the ranks are on dgx1,dgx3",
    ]
    said = [line for line in place.log(job) if line.startswith("dgx")]
    on_both = ("on the host", "in the container", "trial 1", "trial 2")
    assert sorted(said) == sorted(
        ["dgx1 once", *(f"{node} {what}" for node in ("dgx1", "dgx3") for what in on_both)]
    )


def test_each_link_of_a_chain_gets_nodes_that_are_good_by_then(place: Place, tmp_path: Path) -> None:
    place.folder.chmod(0o777)
    tmp_path.chmod(0o777)
    up = tmp_path / "up"
    job = place.submit(
        tmp_path,
        ranks_per_node=1,
        command=f"""\
            echo "link $HPCLAUNCH_LINK $SLURMD_NODENAME"
            [ "$HPCLAUNCH_LINK" = 0 ] || exit 0
            echo dgx1 >{place.folder}/alone
            touch {up}.$SLURM_PROCID # the first that ends ends the other
            until [ -e {up}.0 ] && [ -e {up}.1 ]; do sleep 0.1; done
            exit 75""",
        chain=3,
        preflight={"spares": 1, "nccl": True},
    )
    assert place.wait(job) == 0, place.log(job)
    said = sorted(line for line in place.log(job) if line.startswith("link "))
    assert said == ["link 0 dgx1", "link 0 dgx2", "link 1 dgx2", "link 1 dgx3"]
    assert place.status(job)["preflight"] == [
        "dgx1 is left out: the all_reduce reached 90 GB/s of 200",
        "the ranks are on dgx2,dgx3",
    ]


@pytest.mark.usefixtures("bad_hca")
def test_groups_of_a_job_that_starts_again_get_other_nodes(place: Place, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    tmp_path.chmod(0o777)
    command = f"echo $SLURMD_NODENAME $HPCLAUNCH_RESTARTS; until [ -e {gate} ]; do sleep 0.1; done"
    job = place.submit(
        tmp_path,
        nodes=None,
        ranks_per_node=1,
        world="separate",
        groups={"train": {"nodes": 1}, "evaluate": {"nodes": 1}},
        command=command,
        requeue=True,
        preflight={"spares": 2},
    )
    first = {"train: dgx1 0", "evaluate: dgx3 0"}
    until(lambda: first <= set(place.log(job)))
    place.state("dgx1", "mlx5_0", "1: DOWN")
    try:
        place.slurm.run("scontrol", "requeue", job)
        place.slurm.start_again(job)
        until(lambda: {"train: dgx3 1", "evaluate: dgx4 1"} <= set(place.log(job)))
    finally:
        place.state("dgx1", "mlx5_0", "4: ACTIVE")
        gate.touch()
    assert place.wait(job) == 0
    assert {line for line in place.log(job) if line.endswith(" 0")} == first
    *bad, chosen = place.status(job)["preflight"]
    assert ({line.split()[0] for line in bad}, chosen) == ({"dgx1", "dgx2"}, "the ranks are on dgx3,dgx4")


def test_nodes_of_groups_are_measured_together(place: Place, tmp_path: Path) -> None:
    (place.folder / "far").write_text("dgx2\n")
    job = place.submit(
        tmp_path,
        nodes=None,
        ranks_per_node=1,
        groups={"train": {"nodes": 2}, "evaluate": {"nodes": 1}},
        command="echo $SLURMD_NODENAME $HPCLAUNCH_GROUP",
        preflight={"spares": 1, "nccl": True},
    )
    assert place.wait(job) == 0, place.log(job)
    said = sorted(line for line in place.log(job) if line.startswith("dgx"))
    assert said == ["dgx1 train", "dgx3 train", "dgx4 evaluate"]


def lose(place: Place, node: str) -> None:
    """The node fails while ranks run there, and comes back."""
    done = place.slurm.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    assert done.returncode == 0, done.stderr
    until(lambda: "idle" in place.slurm.run("sinfo", "--noheader", f"--nodes={node}", "--format=%T").stdout)


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.usefixtures("bad_hca")
def test_a_node_that_is_lost_under_ranks_is_the_cause(place: Place, tmp_path: Path, nodes: int) -> None:
    place.state("dgx1", "mlx5_0", "1: DOWN")  # there the script is
    try:
        job = place.submit(
            tmp_path, nodes=nodes, ranks_per_node=2, command="echo up; sleep 60", preflight={"spares": 2}
        )
        until(lambda: place.log(job).count("up") == 2 * nodes)
        lose(place, "dgx3")
        assert place.wait(job) == 119
    finally:
        place.state("dgx1", "mlx5_0", "4: ACTIVE")
    status = place.status(job)
    told = (status["state"], status["exit_code"], status["cause"], status["reason"])
    assert told == ("FAILED", 119, "node_failure", "the ranks lost their node dgx3")


def test_a_link_of_a_chain_that_loses_a_node_is_followed_by_the_next(place: Place, tmp_path: Path) -> None:
    place.state("dgx1", "mlx5_0", "1: DOWN")
    try:
        job = place.submit(
            tmp_path,
            nodes=1,
            ranks_per_node=1,
            command='echo "link $HPCLAUNCH_LINK"; [ "$HPCLAUNCH_LINK" = 1 ] || sleep 60',
            chain=3,
            preflight={"spares": 1},
        )
        until(lambda: "link 0" in place.log(job))
        lose(place, "dgx2")
        assert place.wait(job) == 0, place.log(job)
    finally:
        place.state("dgx1", "mlx5_0", "4: ACTIVE")
    assert [line for line in place.log(job) if line.startswith("link ")] == ["link 0", "link 1"]


@pytest.mark.usefixtures("bad_hca")
def test_from_a_laptop_it_is_seen_which_nodes_are_left_out(
    place: Place, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    gate = tmp_path / "gate"
    tmp_path.chmod(0o777)
    with serving(tmp_path_factory.mktemp("sshd")) as sshd:
        work, site = tmp_path / "work", tmp_path / "far.yaml"
        work.mkdir()
        ssh = {"host": "node", "home": str(tmp_path / "cluster"), "config": str(sshd.config)}
        site.write_text(yaml.safe_dump({"name": "far", "extends": str(place.site), "ssh": ssh}))
        keys = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "HPCLAUNCH_HOME": str(tmp_path / "home")}
        far = User(site, keys)
        job = far.submit(
            work,
            ranks_per_node=1,
            command=f"echo up; until [ -e {gate} ]; do sleep 0.1; done",
            preflight={"spares": 1},
        )
        until(lambda: "the ranks are on dgx1,dgx3" in far.status(job).get("preflight", ()))
        tell = ["sh", "-c", "echo $SLURMD_NODENAME"]
        done = hpclaunch("exec", f"far/{job}", "--rank", "1", "--", *tell, env=far.env)
        gate.touch()
        assert done.stdout.split() == ["dgx3"], done.stderr
        assert far.wait(job) == 0
        bad = [line.split()[0] for line in far.status(job)["preflight"] if " is left out: " in line]
        assert bad == ["dgx2"]
