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

from hpclaunch.sandbox.recorded import affinity
from hpclaunch.values.cpulist import format_list

# What stands for programs of the nodes. nvidia-smi stops the check of the node that the file `hangs` names.
SMI = """\
#!/bin/sh
grep -qx "$SLURMD_NODENAME" {folder}/hangs 2>/dev/null && kill -STOP $PPID
for number in 0 1 2 3 4 5 6 7; do echo "0000000$number:00:00.0, 0"; done
"""
MEASURES = """\
#!/bin/sh
gbs=230
[ "$SLURMD_NODENAME" != dgx1 ] || gbs=90
echo "# Avg bus bandwidth    : $gbs.5"
"""
OF_NODES = ("SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_NNODES")
NAMES = (*OF_NODES, "MASTER_ADDR", "NODE_RANK", "WORLD_SIZE")
TELL = (
    "import json, os; print(json.dumps([int(os.environ['SLURM_PROCID']), os.environ['SLURMD_NODENAME'], "
    f"[os.environ.get(name) for name in {NAMES}]]))"
)


class Place:
    """Four nodes, with programs of their own, and bad where a test says so."""

    def __init__(self, slurm: Slurm, folder: Path):
        self.slurm = slurm
        self.folder = folder
        folder.chmod(0o755)
        for name, text in (("nvidia-smi", SMI), ("measure", MEASURES)):
            (folder / name).write_text(text.format(folder=folder) if name == "nvidia-smi" else text)
            (folder / name).chmod(0o755)
        here = yaml.safe_load(slurm.site.read_text(encoding="utf-8"))
        here["preflight"] = {"all_reduce_gbs": 200, "command": [str(folder / "measure")]}
        self.site = folder / "site.yaml"
        self.site.write_text(yaml.safe_dump(here))
        home = str(slurm.folder / "home")
        self.env = {**slurm.env, "HPCLAUNCH_HOME": home, "PATH": f"{folder}:{os.environ['PATH']}"}

    def state(self, node: str, hca: str, text: str) -> None:
        """The state of an HCA's port."""
        found = self.slurm.folder / "machines" / node / "sys/class/infiniband" / hca / "ports/1/state"
        found.write_text(text + "\n")

    def submit(self, folder: Path, **job: Any) -> str:
        path = folder / "job.yaml"
        full = {"name": "checked", "nodes": 2, "ranks_per_node": 8, "mpi": "none", "time": 5, **job}
        path.write_text(yaml.safe_dump(full))
        done = hpclaunch("submit", path, "--site", self.site, env=self.env)
        assert done.stdout.strip().isdigit(), done.stderr
        return done.stdout.strip()

    def wait(self, job: str) -> int:
        return hpclaunch("wait", f"{self.slurm.name}/{job}", env=self.env).returncode

    def status(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            hpclaunch("status", f"{self.slurm.name}/{job}", "--json", env=self.env).stdout
        )
        return found

    def log(self, job: str) -> list[str]:
        return hpclaunch("logs", f"{self.slurm.name}/{job}", env=self.env).stdout.splitlines()


@pytest.fixture(scope="module")
def place(start_slurm: Callable[..., Slurm], tmp_path_factory: pytest.TempPathFactory) -> Place:
    slurm = start_slurm("--nodes", "4", "--node-type", "dgx-a100", "--name", "preflight")
    return Place(slurm, tmp_path_factory.mktemp("preflight"))


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
    (place.folder / "hangs").unlink()
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
