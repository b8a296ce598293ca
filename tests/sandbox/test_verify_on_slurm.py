"""verify on a real Slurm: what is as planned is found to be, and what is not is named with its cause."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import hpclaunch
from launching import launch
from realslurm import Slurm
from verifying import a100, ask, env_of, run, site_with, submit, wrong_type

from hpclaunch.values.cpulist import format_list, parse


@pytest.mark.parametrize(
    "job",
    [
        {"nodes": 2},
        {"nodes": 1, "ranks_per_node": 3},
        {"nodes": 1, "ranks_per_node": 33, "bind": {"cpus": "spread", "memory": "prefer"}},
        {"nodes": 1, "bind": {"cpus": "none", "memory": "none", "hcas": "none"}},
        {"nodes": 1, "gpus_per_node": 8, "bind": {"hcas": "all"}},
    ],
    ids=["8-ranks", "3-ranks", "33-ranks", "unbound", "all-hcas"],
)
def test_whole_nodes_are_as_planned(slurm_a100: Slurm, job: dict[str, Any], tmp_path: Path) -> None:
    seen = run(slurm_a100, job, tmp_path)
    assert (seen.status, seen.differences, seen.found["notes"]) == (0, [], [])
    assert seen.found["reported"] == seen.found["ranks"] == job["nodes"] * job.get("ranks_per_node", 8)
    said = ask(slurm_a100, str(seen.job_id))
    assert said.stdout == f"all {seen.found['ranks']} ranks are as planned for dgx-a100\n"


def moved_gpus() -> dict[str, Any]:
    """The GPUs of the first socket beside other NUMA nodes of it."""
    raw = msgspec.to_builtins(a100().gpus)
    return {"gpus": [{**gpu, "numa": {3: 1, 1: 3}.get(gpu["numa"], gpu["numa"])} for gpu in raw]}


def gpus_elsewhere() -> dict[str, Any]:
    return {"gpus": [{**gpu, "pci": gpu["pci"][:-1] + "1"} for gpu in msgspec.to_builtins(a100().gpus)]}


def other_siblings() -> dict[str, Any]:
    """Siblings side by side: 0 and 1, and not 0 and 128."""
    raw = msgspec.to_builtins(a100().numa)
    for numa in raw:
        first = 32 * numa["node"]
        numa["threads"] = [
            ",".join(map(str, range(first, first + 32, 2))),
            ",".join(map(str, range(first + 1, first + 32, 2))),
        ]
        numa["l3"] = []
    return {"numa": raw}


def hcas_elsewhere() -> dict[str, Any]:
    """Every address one device further."""
    raw = msgspec.to_builtins(a100())

    def further(pci: str) -> str:
        return pci.replace(":00.", ":01.")

    hcas = [{**hca, "pci": further(hca["pci"])} for hca in raw["hcas"]]
    variants = {
        name: {**variant, "names": {further(pci): device for pci, device in variant["names"].items()}}
        for name, variant in raw["variants"].items()
    }
    return {"hcas": hcas, "variants": variants}


@pytest.mark.parametrize(
    ("change", "what", "cause"),
    [
        (moved_gpus, "NUMA nodes of GPUs", "dgx1 is not a machine as the node type wrong has it"),
        (gpus_elsewhere, "GPUs", "dgx1 is not a machine as the node type wrong has it"),
        (other_siblings, "SMT siblings", "its SMT siblings are numbered differently"),
        (hcas_elsewhere, "HCAs", "dgx1: HCAs not used: mlx5_0 (0000:0c:01.0): absent"),
    ],
    ids=["numa", "addresses", "siblings", "hcas"],
)
def test_a_wrong_node_type_is_found_and_named(
    slurm_a100: Slurm, change: Callable[[], dict[str, Any]], what: str, cause: str, tmp_path: Path
) -> None:
    file = wrong_type("dgx-a100", tmp_path, **change())
    site = site_with(slurm_a100, tmp_path, {"type": str(file), "hosts": "dgx[1-2]"})
    seen = run(slurm_a100, {"sites": {slurm_a100.name: {"nodelist": "dgx1"}}}, tmp_path, site)
    assert seen.status == 1
    assert ("dgx1", what) in seen.whats()
    assert {one["rank"] for one in seen.differences if one["what"] == what} == set(range(8))
    assert all(cause in one["cause"] for one in seen.differences if one["what"] == what)
    said = ask(slurm_a100, str(seen.job_id))
    assert said.returncode == 1
    assert re.search(rf"^0 +dgx1 +{what} ", said.stdout, re.MULTILINE)
    assert "8 of 8 ranks are not as planned for wrong" in said.stdout


@contextmanager
def written(path: Path, text: str) -> Iterator[None]:
    before = path.read_text()
    path.write_text(text)
    yield
    path.write_text(before)


def test_an_hca_that_is_down_on_one_of_two_nodes(slurm_a100: Slurm, tmp_path: Path) -> None:
    state = slurm_a100.folder / "machines/dgx2/sys/class/infiniband/mlx5_2/ports/1/state"
    with written(state, "1: DOWN\n"):
        seen = run(slurm_a100, {"nodes": 2}, tmp_path)
        strict = run(slurm_a100, {"nodes": 2, "bind": {"hcas": "strict"}}, tmp_path)
    (one,) = seen.differences
    assert (one["rank"], one["node"], one["what"]) == (10, "dgx2", "HCAs")
    assert (one["expected"], one["observed"]) == ("mlx5_2 (0000:4b:00.0)", "mlx5_3 (0000:54:00.0)")
    assert "dgx2: HCAs not used: mlx5_2 (0000:4b:00.0): port 1 is DOWN" in one["cause"]
    assert strict.found["state"] == "FAILED"
    failed = [one for one in strict.differences if "bind.hcas is strict" in one["cause"]]
    assert failed
    assert {one["rank"] for one in failed} <= set(range(8, 16))


def test_a_low_memlock_limit_is_why_a_rank_is_missing(slurm_a100: Slurm, tmp_path: Path) -> None:
    limits = slurm_a100.folder / "machines/dgx1/proc/self/limits"
    with written(limits, "Max locked memory         65536                65536                bytes\n"):
        seen = run(slurm_a100, {"sites": {slurm_a100.name: {"nodelist": "dgx1"}}}, tmp_path)
    assert seen.status == 1
    assert {(one["what"], one["observed"]) for one in seen.differences} >= {("report", "it ended at once")}
    assert any("memlock limit is 64 KiB" in one["cause"] for one in seen.differences)


def test_a_job_that_waits_and_one_that_reports_nothing(slurm_a100: Slurm, tmp_path: Path) -> None:
    job = {"sites": {slurm_a100.name: {"sbatch": ["--hold"]}}}
    waiting = submit(slurm_a100, job, tmp_path)
    said = ask(slurm_a100, waiting)
    assert (said.returncode, said.stdout) == (1, "")
    assert f"job {waiting} is PENDING" in said.stderr
    hpclaunch("cancel", waiting, env=env_of(slurm_a100))
    silent = launch(slurm_a100, {"ranks_per_node": 1}, [])
    said = ask(slurm_a100, str(silent.job_id))
    assert (said.returncode, said.stdout) == (2, "")
    assert "--verify" in said.stderr


def test_the_environment_of_a_rank_has_nothing_of_its_made_up_machine(slurm_a100: Slurm) -> None:
    """Neither where Slurm binds nor where the wrapper calls the stand-ins of taskset and numactl."""
    for job in ({"ranks_per_node": 2}, {"gpus_per_node": 2}):
        ran = launch(slurm_a100, job, [])
        for rank in ran.ranks:
            values = b" ".join(rank.env.values()).decode(errors="replace")
            assert not [name for name in rank.env if name.startswith("HPCLAUNCH")]
            assert "/tasks/" not in values
            assert "native" not in values


@pytest.fixture(scope="module")
def mixed(start_slurm: Callable[..., Slurm]) -> Slurm:
    """A DGX A100 of each numbering, and a DGX H100."""
    types = ("dgx-a100@12-device:1", "dgx-a100@10-device:1", "dgx-h100:1")
    words = [word for each in types for word in ("--node-type", each)]
    return start_slurm(*words, "--name", "mixed")


LIST = {
    "12-device": "mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_6 mlx5_7 mlx5_8 mlx5_9",
    "10-device": "mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_7",
}
SHOW = {"command": "echo have $SLURMD_NODENAME $SLURM_LOCALID $UCX_NET_DEVICES $NCCL_IB_HCA"}


def hcas(log: str, node: str) -> tuple[list[str], set[str]]:
    """UCX_NET_DEVICES of each local rank, and NCCL_IB_HCA of all."""
    found = re.findall(rf"^have {node} (\d+) (\S+) (\S+)$", log, re.MULTILINE)
    return [one[1] for one in sorted(found, key=lambda one: int(one[0]))], {one[2] for one in found}


def test_nodes_that_number_their_hcas_differently(mixed: Slurm, tmp_path: Path) -> None:
    """Also where the site knows of one numbering alone."""
    # Only with the 10-device numbering is rank 4 beside mlx5_4.
    site = site_with(mixed, tmp_path, {"type": "dgx-a100", "hosts": "dgx[1-2]"})
    seen = run(mixed, {"nodes": 2, **SHOW}, tmp_path, site)
    assert (seen.status, seen.differences) == (0, [])
    for node, variant in (("dgx1", "12-device"), ("dgx2", "10-device")):
        ports = [f"{name}:1" for name in LIST[variant].split()]
        assert hcas(seen.log, node) == (ports, {"=" + ",".join(ports)})


def test_two_node_types_in_one_job(mixed: Slurm, tmp_path: Path) -> None:
    seen = run(mixed, {"nodes": 3, **SHOW}, tmp_path)
    assert (seen.status, seen.differences) == (0, [])
    assert seen.found["reported"] == 24
    assert hcas(seen.log, "dgx3")[0] == [
        f"mlx5_{number}:1" for number in (0, 3, 4, 5, 6, 9, 10, 11)
    ]  # NVIDIA's DGX H100 User Guide
    cpus = dict(re.findall(r" local=0 node=(\S+) cpus=(\S+) ", seen.log))
    assert (cpus["dgx1"], cpus["dgx2"]) == ("48-55,176-183", "48-55,176-183")
    # A quarter of the first socket, to the core.
    assert (cpus["dgx3"], len(parse(cpus["dgx3"]))) == (format_list([*range(14), *range(112, 126)]), 28)
