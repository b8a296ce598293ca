"""MIG slices, scalable units and SHARP: what the plan makes of them does what it says in a real Slurm."""

import os
import re
from pathlib import Path

from command import hpclaunch
from controller import Controller, controller

from hpclaunch.cluster.slurmnode import slurm_node
from hpclaunch.sandbox.packages import slurm_version
from hpclaunch.spec import hosts
from hpclaunch.topology import catalogue

SITE = """\
version: 1
name: here
scheduler: slurm
node_types: GROUPS
slurm: {version: "VERSION", partition: batch}
fabric: {unit: 4, topology: tree, sharp: {network: sharp, env: {SHARP_WANTED: "yes"}}}
"""


def site(tmp_path: Path, groups: str) -> Path:
    file = tmp_path / "site.yaml"
    file.write_text(SITE.replace("GROUPS", groups).replace("VERSION", slurm_version()))
    return file


def exported(file: Path, *forms: str) -> dict[str, str]:
    return {form: hpclaunch("site", "export", form, "--site", file).stdout for form in forms}


def job(tmp_path: Path, command: str, more: str) -> Path:
    file = tmp_path / "job.yaml"
    file.write_text(f"version: 1\nname: it\ncommand: {command!r}\n{more}\n")
    return file


def said_by(made: Controller, tmp_path: Path, job_file: Path, site_file: Path) -> list[str]:
    """The lines that the job's ranks print; it must succeed."""
    home = {"HPCLAUNCH_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    env = {**made.env, **home}
    done = hpclaunch("submit", job_file, "--site", site_file, "--wait", env=env)
    logs = hpclaunch("logs", done.stdout.strip(), env=env).stdout
    assert done.returncode == 0, done.stderr + logs
    return [line for line in logs.splitlines() if "=" in line]


def test_each_rank_sees_one_slice_of_its_own(slurm_possible: None, tmp_path: Path) -> None:
    site_file = site(tmp_path, "[{type: dgx-a100, hosts: node1, mig: {1g.5gb: 6}}]")
    files = exported(site_file, "slurm.conf", "topology.conf")
    # As an administrator puts it without NVML; a slice's device files stand for one here.
    files["gres.conf"] = "NodeName=node1 Name=gpu Type=1g.5gb File=/dev/nvidia[0-5]\n"
    machine = slurm_node(catalogue.load("dgx-a100").value)
    show = "echo rank=$SLURM_PROCID see=$CUDA_VISIBLE_DEVICES"
    for ranks, each in ((4, 1), (8, 2)):
        text = f"gpu_type: 1g.5gb\ngpus_per_node: 4\nranks_per_node: {ranks}"
        folder = tmp_path / str(ranks)
        with controller(folder, files, machine, "node1") as made:
            lines = said_by(made, folder, job(tmp_path, show, text), site_file)
        seen = dict(re.findall(r"rank=(\d+) see=(\S*)", "\n".join(lines)))
        assert len(seen) == ranks
        assert sorted(seen.values()) == sorted(f"{slice_}" for slice_ in range(4) for _ in range(each))


def test_sharp_reaches_the_hooks_and_the_ranks(slurm_possible: None, tmp_path: Path) -> None:
    site_file = site(tmp_path, "[{type: dgx-a100, hosts: node1}]")
    files = exported(site_file, "slurm.conf", "gres.conf", "topology.conf")
    machine = slurm_node(catalogue.load("dgx-a100").value)
    with controller(tmp_path / "slurm", files, machine, "node1") as made:
        text = "gpus_per_node: 0\nbind: {cpus: none, memory: none}\nfabric: {sharp: true}"
        lines = said_by(made, tmp_path, job(tmp_path, "env", text), site_file)
    assert {"SLURM_NETWORK=sharp", "NCCL_COLLNET_ENABLE=1", "SHARP_WANTED=yes"} <= set(lines)


def test_slurm_takes_the_units_that_locality_asks_for(slurm_possible: None, tmp_path: Path) -> None:
    site_file = site(tmp_path, '[{type: dgx-a100, hosts: "dgx[01-20]"}]')
    files = exported(site_file, "slurm.conf", "gres.conf", "topology.conf")
    # A cloud node that is powered down counts as usable.
    cloud = files["slurm.conf"].replace("Gres=", "State=CLOUD Gres=")
    files["slurm.conf"] = f"{cloud}SuspendProgram=/bin/true\nResumeProgram=/bin/true\nSuspendTime=86400\n"
    with controller(tmp_path / "slurm", files) as made:
        for nodes, most in ((4, 1), (6, 2), (10, 3)):
            text = job(tmp_path, "true", f"nodes: {nodes}\nlocality: unit")
            script = tmp_path / "job.sh"
            done = hpclaunch("render", text, "--site", site_file, "-o", script)
            assert (done.returncode, done.stderr) == (0, "")
            assert f"#SBATCH --switches={most} " in script.read_text()
            took = made.ask("sbatch", "--test-only", str(script))
            got = hosts.expand(re.search(r"on nodes (\S+)", took)[1])
            assert len(got) == nodes
            assert len({(int(name[3:]) - 1) // 4 for name in got}) <= most
