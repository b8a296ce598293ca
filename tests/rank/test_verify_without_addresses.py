"""Reports of ranks on machines whose node type has no PCI addresses of GPUs, or of which a job has slices."""

from typing import Any

import msgspec
import pytest

from hpclaunch.plan.planner import Planner
from hpclaunch.rank.observed import read
from hpclaunch.rank.verify import Verdict, compare
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue


def verdict(group: dict[str, Any], job: dict[str, Any], report: dict[str, str]) -> Verdict:
    """Of a job whose ranks all report the same."""
    site = {"name": "s", "scheduler": "slurm", "node_types": [group], "slurm": {"version": "22.05"}}
    base = {"name": "j", "command": ["x"], "directory": "/", "verify": True}
    machine = catalogue.load(group["type"]).value
    planner = Planner(msgspec.convert(site, Site), {group["type"]: machine})
    plan = planner.plan(msgspec.convert({**base, **job}, Job))
    fields = {"node": "n1", "hcas": "-", "memlock": "unlimited", **report}
    same = " ".join(f"{key}={value}" for key, value in fields.items())
    ranks = plan.common.ranks_per_node
    lines = [f"hpclaunch-verify 1 rank={rank} local={rank} {same}".encode() for rank in range(ranks)]
    observed = read(lines, ranks, ranks)
    assert observed.broken == ()
    return compare(plan, observed, "COMPLETED")


def r750xa(gpus: str, **fields: str) -> set[str]:
    """What is not as planned on one with these GPUs ("1@0": at 0000:01:00.0 next to NUMA node 0) and one
    rank, which has them all where `fields` do not say which is its own."""
    addresses = [(f"0000:{gpu[0]:0>2}:00.0", gpu[2:]) for gpu in gpus.split()]
    report = {
        "cpus": "0-127",
        "siblings": "0,64",
        "numa": "0-1",
        "memory": "bind:0-1",
        "online": "0-127",
        "gpus": ",".join(f"{address}@{numa}" for address, numa in addresses),
        **fields,
    }
    job = {"gpus_per_node": 1 if "own" in fields else 4, "ranks_per_node": 1}
    found = verdict({"type": "dell-r750xa", "hosts": "n[1-9]"}, job, report)
    assert found.notes == ()
    return {one.what for one in found.differences}


def test_all_gpus_of_a_node_go_by_their_order() -> None:
    assert r750xa("1@0 2@0 3@1 4@1") == set()
    assert r750xa("1@0 2@1 3@0 4@1") == {"NUMA nodes of GPUs"}
    assert r750xa("1@0 2@0 3@1") == {"GPUs"}
    assert r750xa("1@0 2@0 3@1 4@1 5@1") == {"GPUs"}


@pytest.mark.parametrize(
    ("gpu", "cpus", "what"),
    [("3@1", "1,65", set()), ("3@1", "0,64", {"cores"}), ("3@2", "1,65", {"NUMA nodes of GPUs"})],
)
def test_a_gpu_among_others_goes_by_its_numa_node(gpu: str, cpus: str, what: set[str]) -> None:
    numa = str(int(cpus[0]) % 2)
    seen = r750xa(gpu, own="0000:03:00.0", cpus=cpus, siblings=cpus, numa=numa, memory=f"bind:{numa}")
    assert seen == what


def test_slices_of_one_gpu() -> None:
    """Four slices may be of one GPU, or of four."""
    slices = {"type": "dgx-a100", "hosts": "n[1-9]", "mig": {"1g.5gb": 42}}
    job = {"gpu_type": "1g.5gb", "gpus_per_node": 4}
    report = {"cpus": "0-11", "siblings": "0,128", "numa": "0", "memory": "default", "online": "0-255"}
    for gpus in ("0000:07:00.0@3", "0000:07:00.0@3,0000:0f:00.0@3"):
        assert verdict(slices, job, {**report, "gpus": gpus}).as_planned
    assert not verdict(slices, job, {**report, "gpus": "-"}).as_planned
