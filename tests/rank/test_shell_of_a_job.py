"""What `hpclaunch shell` runs on a node and in a pod has what the job's ranks have there, as far as one
process can."""

import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from command import hpclaunch
from kubelet_expansion import argv
from made_up_node import Node
from running import SLURM, environment

from hpclaunch.plan.kubernetes import interactive
from hpclaunch.plan.planner import Planner
from hpclaunch.render import script
from hpclaunch.spec.read import read_job, read_site
from hpclaunch.topology import catalogue

SLURM_SITE = {
    "scheduler": "slurm",
    "container": "pyxis",
    "slurm": {"version": "23.02", "pyxis": "0.20.0", "mpi_plugin": {"pmix": "pmix"}},
}
HCAS = [each for each in catalogue.load("dgx-a100").value.hcas if each.use == "compute"]
POD_SITE = {
    "scheduler": "kubernetes",
    "kubernetes": {
        "namespace": "adas",
        "mpi_operator": "0.8.0",
        "rdma": {each.pci: f"ib{number}" for number, each in enumerate(HCAS)},
    },
}
# In a world of one process, of a job with 16 ranks.
ALONE = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "NODE_RANK": "0"}


@pytest.fixture
def a100(node: Node) -> Node:
    """With all compute HCAs, the fourth one down, and a storage one beside them."""
    for number, each in enumerate(HCAS):
        node.hca(f"mlx5_{number}", each.pci, number, state="1: DOWN" if number == 3 else "4: ACTIVE")
    node.hca("mlx5_20", "0000:ff:00.0", 20)
    return node


def ran(words: list[str], node: Node, env: dict[str, str]) -> tuple[dict[str, str], str]:
    bare = {"PATH": f"{node.tools}:/usr/bin:/bin", "HPCLAUNCH_ROOT": str(node.root), **env}
    done = subprocess.run(words, env=bare, capture_output=True, timeout=60)
    return environment(done), done.stderr.decode()


def on_slurm(folder: Path, node: Node) -> tuple[dict[str, str], str]:
    shown = hpclaunch(
        "shell", folder / "job.yaml", "--site", folder / "site.yaml", "--dry-run", "--", "env", "-0"
    )
    assert shown.returncode == 0, shown.stderr
    words = shlex.split(shown.stdout)
    one = {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0"}
    one |= {"SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NODELIST": "dgx004"}
    return ran(words[words.index("/bin/sh") :], node, SLURM | one | {"SLURMD_NODENAME": "dgx004"})


def in_a_pod(folder: Path, node: Node) -> tuple[dict[str, str], str]:
    job, site = read_job(folder / "job.yaml"), read_site(str(folder / "site.yaml"))
    machines = {"dgx-a100": catalogue.load("dgx-a100").value}
    plan = Planner(site.value, machines).plan(interactive.one_pod(job.value, "1a2b"))
    manifest = yaml.safe_load(script.render(interactive.held(plan, plan.target)))  # type: ignore[arg-type]
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    words = argv(container, {})
    stays = len(words) - 1 - words[::-1].index("--")  # and what stays is not for now
    return ran([*words[: stays + 1], "=env", "=-0"], node, {})


@pytest.mark.parametrize("gpus", [8, 2])
@pytest.mark.parametrize("place", [on_slurm, in_a_pod])
def test_a_shell_has_all_hcas_that_jobs_may_use_and_a_rendezvous(
    place: object, gpus: int, a100: Node, tmp_path: Path
) -> None:
    site = {"version": 1, "name": "here", "node_types": [{"type": "dgx-a100", "count": 4}]}
    site |= SLURM_SITE if place is on_slurm else POD_SITE
    job = {
        "version": 1,
        "name": "j",
        "nodes": 2,
        "gpus_per_node": gpus,
        "ranks_per_node": gpus,
        "mpi": "pmix",
    }
    job |= {"image": "registry.example/x:1", "command": ["never"], "rendezvous": "torch", "time": "5m"}
    job |= {"bind": {"hcas": "strict"}}
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(site))
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    has, said = place(tmp_path, a100)  # type: ignore[operator]
    usable = ",".join(f"mlx5_{number}:1" for number in range(len(HCAS)) if number != 3)
    assert has["NCCL_IB_HCA"] == f"={usable}"
    assert has["UCX_NET_DEVICES"] == usable
    assert has["OMPI_MCA_btl_openib_if_include"] == usable
    assert {name: has.get(name) for name in ALONE} == ALONE
    assert has["MASTER_ADDR"] == ("dgx004" if place is on_slurm else "127.0.0.1")
    assert 1024 < int(has["MASTER_PORT"]) < 65536
    assert "port 1 is DOWN" in said
