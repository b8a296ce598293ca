"""What the plan tells the rank wrapper, and a script hands to it, comes true on a made-up node."""

import re
import subprocess
from typing import Any

import msgspec
import published
import pytest
from made_up_node import Node
from running import Runner, environment

from hpclaunch.plan.planner import Planner
from hpclaunch.render import script
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.placement import NodeShape

MACHINES = {name: catalogue.load(name).value for name in ("dgx-a100", "dgx-h100")}
ALONE = [{"type": "dgx-a100", "hosts": "dgx[001-140]"}]
TWO = [*ALONE, {"type": "dgx-h100", "hosts": "hgx[01-16],hgx20"}]


def planned(job: dict[str, Any], groups: list[dict[str, str]]) -> tuple[tuple[NodeShape, ...], list[str]]:
    site = {"name": "s", "scheduler": "slurm", "node_types": groups, "slurm": {"version": "23.02"}}
    base = {"name": "j", "command": ["x"], "directory": "/"}
    plan = Planner(msgspec.convert(site, Site), MACHINES).plan(msgspec.convert({**base, **job}, Job))
    array = re.search(r"^hl_settings=\(\n.*?^\)\n", script.render(plan), re.MULTILINE | re.DOTALL)
    assert array
    command = ["bash", "-c", array[0] + "printf '%s\\0' \"${hl_settings[@]}\""]
    settings = subprocess.check_output(command, text=True).split("\0")[:-1]
    return plan.common.shapes, settings


def equip(node: Node, name: str, skip: str = "") -> None:
    """All GPUs and HCAs of the node type; `skip` is the address of an HCA that is not there."""
    node.write("proc/self/limits", "Max locked memory  unlimited  unlimited  bytes")
    machine = MACHINES[name]
    names = next(variant.names for variant in machine.variants.values() if variant.default)
    for minor, gpu in enumerate(machine.gpus):
        node.gpu(gpu.pci, minor, numa=gpu.numa)
    for number, hca in enumerate(hca for hca in machine.hcas if hca.pci in names and hca.pci != skip):
        node.hca(names[hca.pci], hca.pci, number, numa=hca.numa, link=hca.link_layer)


def rank(local: int, ranks: int, host: str, **more: str) -> dict[str, str]:
    return {
        "SLURM_PROCID": str(local),
        "SLURM_LOCALID": str(local),
        "SLURM_NODEID": "0",
        "SLURM_STEP_NUM_NODES": "1",
        "SLURM_STEP_NUM_TASKS": str(ranks),
        "SLURMD_NODENAME": host,
        **more,
    }


@pytest.mark.parametrize(("host", "name"), [("dgx007", "dgx-a100"), ("hgx20", "dgx-h100")])
def test_the_table_of_the_nodes_own_type(on_node: Runner, node: Node, host: str, name: str) -> None:
    shapes, settings = planned({"mpi": "none"}, TWO)
    (shape,) = (shape for shape in shapes if shape.node_type == name)
    node.allowed("0-255")
    equip(node, name)
    for seat in (shape.seats[0], shape.seats[5]):
        done = on_node(*settings, "--", "--", "env", "-0", env=rank(seat.local_rank, 8, host))
        found = environment(done)
        assert done.stderr == b""
        assert found["UCX_NET_DEVICES"] == f"{seat.hcas[0]}:1"
        assert found["NCCL_IB_HCA"] == "=" + ",".join(f"{hca.name}:1" for hca in shape.hcas)
        assert node.cores() == ",".join(map(str, _listed(seat.cpus)))
        assert node.policy() == f"--membind={seat.mems[0]}"


def _listed(cpus: tuple[int, ...]) -> list[str]:
    """Kernel list of a rank's two runs of CPUs."""
    half = len(cpus) // 2
    return [f"{run[0]}-{run[-1]}" for run in (cpus[:half], cpus[half:])]


def test_the_next_hca_of_the_plan_stands_in(on_node: Runner, node: Node) -> None:
    (shape,), settings = planned({}, ALONE)
    node.allowed("0-255")
    equip(node, "dgx-a100", skip=shape.hcas[1].pci)
    done = on_node(*settings, "--", "--", "env", "-0", env=rank(1, 8, "dgx007"))
    assert environment(done)["UCX_NET_DEVICES"] == f"{shape.seats[1].next_hcas[0]}:1" == "mlx5_0:1"


@pytest.mark.parametrize(
    ("job", "ucx"),
    [
        ({"ranks_per_node": 1, "bind": {"hcas": [""]}}, [None]),
        ({"ranks_per_node": 2, "bind": {"hcas": ["", "mlx5_3"]}}, [None, "mlx5_3:1"]),
        ({"gpus_per_node": 0, "ranks_per_node": 2}, ["every"] * 2),
    ],
)
def test_a_rank_has_the_hcas_of_its_entry_and_no_other(
    on_node: Runner, node: Node, job: dict[str, Any], ucx: list[str | None]
) -> None:
    (shape,), settings = planned(job, ALONE)
    every = ",".join(f"{hca.name}:1" for hca in shape.hcas)
    node.allowed("0-255")
    equip(node, "dgx-a100")
    for local, expected in enumerate(ucx):
        done = on_node(*settings, "--", "--", "env", "-0", env=rank(local, len(ucx), "dgx007"))
        assert done.stderr == b""
        got = environment(done)
        assert got["NCCL_IB_HCA"] == f"={every}"
        assert got.get("UCX_NET_DEVICES") == (every if expected == "every" else expected)


@pytest.mark.parametrize("ranks", [1, 2, 4, 5])
def test_a_part_has_what_the_whole_node_would_give_it(on_node: Runner, node: Node, ranks: int) -> None:
    """GPUs 2 and 3 with the cores of their NUMA node: ranks divide them as on a whole node."""
    _, settings = planned({"gpus_per_node": 2, "ranks_per_node": ranks}, ALONE)
    node.allowed("16-31,144-159")
    equip(node, "dgx-a100")
    found, devices = [], []
    for local in range(ranks):
        env = rank(local, ranks, "dgx007", SLURM_STEP_GPUS="2,3")
        done = on_node(*settings, "--", "--", "env", "-0", env=env)
        assert done.stderr == b""
        devices.append(environment(done).get("UCX_NET_DEVICES"))
        found.append(sorted(_numbers(node.cores())))
        assert node.policy() == "--membind=1"
    per_gpu = [sorted(_numbers(text)) for text in published.A100_CPUS[2:4]]
    if ranks == 5:  # all cores are beside the GPUs, so each gives its last to the rank without one
        assert found[4] == [23, 31, 151, 159]
        per_gpu = [sorted({*cpus} - {*found[4]}) for cpus in per_gpu]
    if ranks == 1:
        assert found == [sorted(per_gpu[0] + per_gpu[1])]
        assert devices == ["mlx5_2:1,mlx5_3:1"]
    elif ranks == 2:
        assert found == per_gpu
        assert devices == ["mlx5_2:1", "mlx5_3:1"]
    else:
        assert [sorted(found[0] + found[1]), sorted(found[2] + found[3])] == per_gpu
        assert devices[:4] == ["mlx5_2:1", "mlx5_2:1", "mlx5_3:1", "mlx5_3:1"]


def _numbers(text: str | None) -> list[int]:
    assert text is not None
    ends = (part.split("-") for part in text.split(","))
    return [number for each in ends for number in range(int(each[0]), int(each[-1]) + 1)]
