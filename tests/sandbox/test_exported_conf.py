"""What `site export` writes, before a real slurmctld and slurmd."""

import re
import subprocess
from itertools import groupby
from pathlib import Path

import pytest
from command import hpclaunch
from controller import Controller, controller

from hpclaunch.cluster.slurmnode import SlurmNode, slurm_node
from hpclaunch.spec import hosts
from hpclaunch.topology import catalogue
from hpclaunch.values.cpulist import format_list, parse

FILES = ("slurm.conf", "gres.conf", "topology.conf")


def site(tmp_path: Path, *groups: str, more: str = "") -> Path:
    """A site file with these groups of nodes."""
    file = tmp_path / "site.yaml"
    listed = "".join(f"  - {group}\n" for group in groups)
    slurm = 'slurm: {version: "22.05", partition: batch}\n'
    fabric = more or "fabric: {unit: 20, topology: tree}\n"
    file.write_text(f"version: 1\nname: exported\nscheduler: slurm\nnode_types:\n{listed}{slurm}{fabric}")
    return file


def exported(file: Path) -> dict[str, str]:
    """The files that a user exports."""
    found = {}
    for form in FILES:
        done = hpclaunch("site", "export", form, "--site", file)
        assert (done.returncode, done.stderr) == (0, "")
        found[form] = done.stdout
    return found


def shown(made: Controller, *words: str) -> list[dict[str, str]]:
    """The lines of `scontrol --oneliner show WORDS` as maps."""
    text = made.run("scontrol", "--oneliner", "show", *words)
    return [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in text.splitlines()]


@pytest.mark.parametrize("nodes", [140, 560])
def test_a_pod_of_scalable_units(slurm_possible: None, tmp_path: Path, nodes: int) -> None:
    files = exported(site(tmp_path, f'{{type: dgx-a100, hosts: "dgx[001-{nodes}]"}}'))
    with controller(tmp_path / "slurm", files) as made:
        leaves = [switch for switch in shown(made, "topology") if switch["Level"] == "0"]
        spines = [switch for switch in shown(made, "topology") if switch["Level"] == "1"]
        known = shown(made, "nodes")
        complaints = made.complaints()
    assert complaints == []
    assert [hosts.count(leaf["Nodes"]) for leaf in leaves] == [20] * (nodes // 20)
    assert [hosts.count(spine["Nodes"]) for spine in spines] == [nodes]
    assert len({name for leaf in leaves for name in hosts.expand(leaf["Nodes"])}) == nodes
    keys = ("CPUTot", "Sockets", "CoresPerSocket", "ThreadsPerCore", "Gres", "Partitions")
    assert [[node[key] for key in keys] for node in known] == [
        ["256", "2", "64", "2", "gpu:a100:8", "batch"]
    ] * nodes


def test_groups_of_different_machines(slurm_possible: None, tmp_path: Path) -> None:
    file = site(
        tmp_path,
        '{type: dgx-2, hosts: "big[1-3]"}',
        '{type: dgx-a100, hosts: "mig[1-2]", mig: {1g.5gb: 42, 3g.20gb: 4}}',
        '{type: dgx-h100, hosts: "dgx[1-30]"}',
    )
    with controller(tmp_path / "slurm", exported(file)) as made:
        gres = {node["NodeName"]: node["Gres"] for node in shown(made, "nodes")}
        leaves = [switch["Nodes"] for switch in shown(made, "topology") if switch["Level"] == "0"]
        complaints = made.complaints()
    assert complaints == []
    assert leaves == ["big[1-3]", "mig[1-2]", "dgx[1-20]", "dgx[21-30]"]
    assert gres["big2"] == "gpu:v100:16"
    assert gres["mig1"] == "gpu:1g.5gb:42,gpu:3g.20gb:4"
    assert gres["dgx30"] == "gpu:h100:8"


@pytest.mark.parametrize("name", ["dgx-a100", "dgx-2", "dgx-h100", "dell-dss8440-10"])
def test_slurm_gives_gpus_with_the_cores_of_their_socket(
    slurm_possible: None, tmp_path: Path, name: str
) -> None:
    machine = slurm_node(catalogue.load(name).value)
    files = exported(site(tmp_path, f"{{type: {name}, hosts: node1}}"))
    with controller(tmp_path / "slurm", files, machine, "node1") as made:
        got = granted(made, machine)
        complaints = made.complaints()
    assert complaints == []
    assert got == near_cores(machine)


def near_cores(machine: SlurmNode) -> dict[str, str]:
    """GPUs -> CPUs in Slurm's numbering, of each socket: --gres-flags=enforce-binding looks no closer."""
    found: dict[str, str] = {}
    socket_of = {group.node: group.socket for group in machine.numa}
    for socket, run in groupby(enumerate(machine.gpu_numa), key=lambda item: socket_of[item[1]]):
        cores = [core for group in machine.numa if group.socket == socket for core in parse(group.core_range)]
        cpus = [
            core * machine.threads_per_core + n for core in cores for n in range(machine.threads_per_core)
        ]
        found[format_list(gpu for gpu, _ in run)] = format_list(cpus)
    return found


def granted(made: Controller, machine: SlurmNode) -> dict[str, str]:
    """GPUs -> CPUs that Slurm gives to jobs which ask for all GPUs of a socket with all CPUs near them, side
    by side so that each gets others."""
    found = {}
    running = []
    for gpus, cpus in near_cores(machine).items():
        ask = [f"--gres=gpu:{len(parse(gpus))}", "--gres-flags=enforce-binding", "--ntasks=1"]
        ask += [f"--cpus-per-task={len(parse(cpus))}", "--partition=batch", "--mem=1"]
        script = ["sh", "-c", "scontrol -d show job $SLURM_JOB_ID; echo; cat"]
        job = subprocess.Popen(
            ["srun", *ask, *script], env=made.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        running.append(job)
        said = ""
        assert job.stdout
        for line in job.stdout:
            said += line
            if not line.strip():
                break
        match = re.search(r"CPU_IDs=(\S+) .*GRES=gpu\S*\(IDX:(\S+)\)", said)
        assert match, said
        found[match[2]] = match[1]
    for job in running:
        assert job.stdin
        job.stdin.close()
        assert job.wait(timeout=60) == 0
    return dict(sorted(found.items()))
