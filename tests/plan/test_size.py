"""What is larger than the kernel takes is refused, and what is not can be started."""

import os
import subprocess
from typing import Any

import msgspec
import pytest

from hpclaunch.plan.planner import Planner
from hpclaunch.rank import wrapper_text
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType, NumaNode, Variant
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import LaunchPlan

LONGEST = 131_071


def machine(cpus: int, hcas: int) -> NodeType:
    addresses = [f"0000:{index:02x}:00.0" for index in range(hcas)]
    return NodeType(
        "large",
        "made up",
        (NumaNode(0, 0, (f"0-{cpus - 1}",)),),
        gpus=tuple(GpuSpec(f"0001:{index:02x}:00.0", 0) for index in range(8)),
        hcas=tuple(HcaSpec(pci, 0) for pci in addresses),
        variants={"all": Variant("", {pci: f"mlx5_{i}" for i, pci in enumerate(addresses)}, True)},
    )


def planned(job: dict[str, Any], *machines: NodeType, **site: Any) -> LaunchPlan:
    machines = machines or (machine(16, 0),)
    names = [f"type{number}" for number in range(len(machines))]
    full = {
        "name": "s",
        "scheduler": "slurm",
        "node_types": [{"type": name, "hosts": f"{name}-[1-9]"} for name in names],
        "slurm": {"version": "23.02", "pyxis": "0.20.0"},
        **site,
    }
    base = {"name": "j", "command": ["true"], "directory": "/"}
    planner = Planner(msgspec.convert(full, Site), dict(zip(names, machines, strict=True)))
    return planner.plan(msgspec.convert({**base, **job}, Job))


@pytest.mark.parametrize(
    ("small", "large", "words"),
    [
        # A word has one byte more on its way to the rank.
        ({"command": ["true", "x" * (LONGEST - 1)]}, {"command": ["true", "x" * LONGEST]}, ["word 1"]),
        ({"env": {"A": "x" * (LONGEST - 2)}}, {"env": {"A": "x" * (LONGEST - 1)}}, ["A is", "in a file"]),
        (
            {"env": {f"A{number}": "x" * 100_000 for number in range(18)}},
            {"env": {f"A{number}": "x" * 100_000 for number in range(19)}},
            ["1,900,000", "A10 has 100,004", "in a file"],
        ),
        (
            {"command": ["true", *["x" * 100_000] * 9], "env": {f"A{n}": "x" * 100_000 for n in range(9)}},
            {"command": ["true", *["x" * 100_000] * 9], "env": {f"A{n}": "x" * 100_000 for n in range(10)}},
            ["command, variables", "1,900,000"],
        ),
    ],
)
def test_what_a_job_passes_on(small: dict[str, Any], large: dict[str, Any], words: list[str]) -> None:
    """The largest that is taken arrives."""
    plan = planned(small)
    variables = [f"{variable.name}={variable.value}" for variable in plan.common.environment]
    command = [f"={word}" for word in plan.common.argv]
    arguments = ["from=local", "rank=0", "ranks=1", "--", *variables, "--", *command]
    wrapper = ["/bin/sh", "-c", wrapper_text(["from=local"]), "rank"]
    assert subprocess.run([*wrapper, *arguments], timeout=20).returncode == 0
    with pytest.raises(InputError) as raised:
        planned(large)
    assert all(word in str(raised.value) for word in words)


@pytest.mark.parametrize(
    ("cpus", "hcas", "job", "words"),
    [
        # The orders of HCAs on a part of a node, and the masks of a whole one.
        (64, 40, {"gpus_per_node": 4, "ranks_per_node": 4096, "bind": {"hcas": "all"}}, ["table near"]),
        (2048, 0, {"ranks_per_node": 2048}, ["table --cpu-bind"]),
    ],
)
def test_tables_for_too_many_ranks(cpus: int, hcas: int, job: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        planned(job, machine(cpus, hcas))
    assert all(word in str(raised.value) for word in (*words, "131,071", "fewer ranks per node"))


def test_tables_of_many_node_types_together() -> None:
    """Each of them is small enough; all of them are not."""
    kinds = [machine(64 + number, 24) for number in range(30)]
    job = {"gpus_per_node": 0, "ranks_per_node": 1400}
    assert len(planned(job, *kinds[:2]).common.shapes) == 2
    with pytest.raises(InputError, match=r"1,900,000.*ranks' table near .*fewer ranks per node"):
        planned(job, *kinds)


def test_the_largest_tables_can_be_started() -> None:
    """4,096 ranks of several kinds of nodes, as srun hands them to the rank wrapper."""
    kinds = [machine(64 + number, 8) for number in range(6)]
    plan = planned({"gpus_per_node": 4, "ranks_per_node": 4096, "mpi": "none"}, *kinds)
    settings = [option.text for option in plan.target.wrapper]
    assert len(plan.common.shapes) == 6
    env = {
        "PATH": os.environ["PATH"],
        "SLURM_PROCID": "4095",
        "SLURM_LOCALID": "4095",
        "SLURM_NODEID": "0",
        "SLURM_STEP_NUM_TASKS": "4096",
        "SLURM_STEP_NUM_NODES": "1",
        "SLURMD_NODENAME": "type5-3",
    }
    command = ["/bin/sh", "-c", wrapper_text(settings), "rank", *settings, "--", "--", "=echo", "=ran"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr


def test_options_of_srun() -> None:
    mounts = [f"/data/{number:04}{'x' * 60}:/mnt/{number}" for number in range(1700)]
    job = {"image": "a/b", "mounts": mounts}
    with pytest.raises(InputError, match=r"srun's --container-mounts is .* 131,071"):
        planned(job, container="pyxis")
    assert planned({**job, "mounts": mounts[:1500]}, container="pyxis").warnings == ()
