"""Reports of ranks against their plan: what is broken is named, and every difference with rank and cause."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import hpclaunch
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.plan.planner import Planner
from hpclaunch.rank.expected import read_plan
from hpclaunch.rank.observed import Observed, read
from hpclaunch.rank.verify import Verdict, compare
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launchplan import LaunchPlan

MACHINES = {name: catalogue.load(name).value for name in ("dgx-a100", "dgx-h100")}
SITE = {
    "name": "s",
    "scheduler": "slurm",
    "node_types": [{"type": "dgx-a100", "hosts": "dgx[001-140]"}],
    "slurm": {"version": "22.05"},
}
TWO = [*SITE["node_types"], {"type": "dgx-h100", "hosts": "hgx[1-9]"}]
Fields = dict[str, str]


def planned(site: dict[str, Any] | None = None, **job: Any) -> LaunchPlan:
    base = {"name": "j", "command": ["x"], "directory": "/", "verify": True}
    planner = Planner(msgspec.convert({**SITE, **(site or {})}, Site), MACHINES)
    plan = planner.plan(msgspec.convert({**base, **job}, Job))
    assert read_plan(msgspec.json.encode(plan)) == plan
    return plan


def as_planned(plan: LaunchPlan, hosts: tuple[str, ...] = ("dgx001", "dgx002")) -> list[Fields]:
    """What the ranks of whole nodes report where all came true."""
    found = []
    for rank in range(plan.common.nodes * plan.common.ranks_per_node):
        index, local = divmod(rank, plan.common.ranks_per_node)
        host = hosts[index]
        shape = plan.common.shapes[-1 if host.startswith("hgx") else 0]
        seat = shape.seats[local]
        hcas = [hca for name in seat.hcas for hca in shape.hcas if hca.name == name]
        cores = {cpu: core for part in shape.cores for core in part.cores for cpu in core}
        found.append(
            {
                "rank": str(rank),
                "local": str(local),
                "node": host,
                "cpus": format_list(seat.cpus),
                "online": format_list(cores),
                "numa": format_list(seat.mems),
                "memory": f"bind:{format_list(seat.mems)}",
                "siblings": format_list(cores[min(seat.cpus)]),
                "gpus": ",".join(f"{gpu.pci}@{gpu.numa}" for gpu in shape.gpus),
                "hcas": ",".join(
                    f"{hca.name}/{hca.pci}/{hca.port}/ACTIVE/{hca.link_layer}@{hca.numa}" for hca in hcas
                ),
                "memlock": "unlimited",
            }
        )
    return found


def line(fields: Fields) -> bytes:
    return (
        "hpclaunch-verify 1 " + " ".join(f"{key}={value}" for key, value in fields.items())
    ).encode() + b"\n"


def look(plan: LaunchPlan, lines: list[bytes]) -> Observed:
    common = plan.common
    return read(lines, common.nodes * common.ranks_per_node, common.ranks_per_node)


def verdict(plan: LaunchPlan, reports: list[Fields], *said: bytes, ended: str = "COMPLETED") -> Verdict:
    return compare(plan, look(plan, [*said, *map(line, reports)]), ended)


def changed(plan: LaunchPlan, rank: int, **fields: str) -> list[Fields]:
    reports = as_planned(plan)
    reports[rank] |= fields
    return reports


def test_all_as_planned() -> None:
    for plan, hosts in (
        (planned(nodes=2), ("dgx001", "dgx002")),
        (planned(nodes=1, ranks_per_node=3), ("dgx140",)),
        (planned({"node_types": TWO}, nodes=2), ("hgx3", "dgx002")),
    ):
        got = verdict(plan, as_planned(plan, hosts))
        assert (got.as_planned, got.differences, got.notes) == (True, (), ())


@pytest.mark.parametrize(
    ("fields", "what", "cause"),
    [
        ({"cpus": "0-255", "numa": "0-7", "siblings": "0,128"}, "cores", "Slurm bound nothing"),
        ({"cpus": "48-55", "siblings": "48,176"}, "cores", "some of the cores are not the job's"),
        ({"cpus": "0-7,128-135", "numa": "0", "siblings": "0,128"}, "cores", "bound it elsewhere"),
        ({"online": "0-127"}, "online CPUs", "SMT off?"),
        ({"siblings": "48-49"}, "SMT siblings", "not a machine as the node type dgx-a100"),
        ({"numa": "1"}, "NUMA nodes of the cores", "not a machine as the node type dgx-a100"),
        ({"memory": "default"}, "memory policy", "Slurm set none"),
        ({"memory": "bind:2"}, "memory policy", "another policy"),
        ({"memory": "interleave:0-7"}, "memory policy", "another policy"),
        ({"gpus": "-"}, "GPUs", "NVIDIA_VISIBLE_DEVICES"),
        ({"gpus": "0000:07:00.0@3,0000:0f:00.0@3"}, "GPUs", "does not open"),
        ({"gpus": ",".join(f"0000:{bus}:00.0@0" for bus in range(10, 18))}, "GPUs", "other PCI addresses"),
        ({"hcas": "mlx5_1/0000:12:00.0/1/ACTIVE/InfiniBand@3"}, "HCAs", "HCAs have other PCI addresses"),
        ({"hcas": "-"}, "HCAs", "HCAs have other PCI addresses"),
        ({"hcas": "mlx5_0/0000:0c:00.0/1/ACTIVE/Ethernet@3"}, "HCA link layer", "LINK_TYPE"),
        ({"hcas": "mlx5_0/0000:0c:00.0/1/DOWN/InfiniBand@3"}, "HCA state", "went down"),
        ({"hcas": "mlx5_0/0000:0c:00.0/1/ACTIVE/InfiniBand@1"}, "NUMA node of HCA", "other NUMA nodes"),
        ({"hcas": "mlx5_0/0000:0c:00.0/1/?/?@?"}, "HCAs", "shows no InfiniBand devices"),
        ({"memlock": "64"}, "memlock limit", "LimitMEMLOCK"),
        ({"node": "dgx002"}, "node", "not laid out in blocks"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_one_thing_that_is_not_as_planned(fields: Fields, what: str, cause: str) -> None:
    plan = planned(nodes=1)
    rank = 3 if "node" in fields else 0
    got = verdict(plan, changed(plan, rank, **fields))
    (one,) = (one for one in got.differences if one.what == what)
    assert (one.rank, one.node) == (rank, fields.get("node", "dgx001"))
    assert cause in one.cause
    assert len(got.differences) == 1


def test_an_hca_with_another_name_at_its_address_is_as_planned() -> None:
    plan = planned(nodes=1)
    assert verdict(plan, changed(plan, 0, hcas="mlx5_40/0000:0c:00.0/1/ACTIVE/InfiniBand@3")).as_planned


def test_what_could_not_be_looked_up_is_no_difference_and_is_said() -> None:
    plan = planned(nodes=1)
    blind = dict.fromkeys(("online", "numa", "memory", "siblings", "gpus", "hcas", "memlock"), "?")
    got = verdict(plan, changed(plan, 0, **blind))
    assert got.as_planned
    assert {note.split(" not checked")[0] for note in got.notes} == {
        "dgx001: online CPUs",
        "dgx001: NUMA nodes of the cores",
        "dgx001: memory policy",
        "dgx001: GPUs",
        "dgx001: HCAs",
    }


def test_the_wrappers_own_words_are_the_cause() -> None:
    plan = planned({"scheduler": "slurm"}, nodes=1)
    reports = changed(plan, 2, hcas="mlx5_3/0000:54:00.0/1/ACTIVE/InfiniBand@1")
    said = b"hpclaunch: dgx001: HCAs not used: mlx5_2 (0000:4b:00.0): port 1 is DOWN; ranks take the next\n"
    (one,) = verdict(plan, reports, said).differences
    assert one.cause.startswith("dgx001: HCAs not used: mlx5_2")
    # What another node said is no reason here.
    (one,) = verdict(plan, reports, said.replace(b"dgx001", b"dgx002")).differences
    assert "not used" not in one.cause


def test_ranks_that_are_missing() -> None:
    plan = planned(nodes=2)
    reports = [each for each in as_planned(plan) if each["rank"] not in ("3", "12")]
    said = b"hpclaunch: rank 12: the memlock limit is 64 KiB, too low for InfiniBand\n"
    three, twelve = verdict(plan, reports, said, ended="FAILED").differences
    assert (three.rank, three.observed, "did not start" in three.cause, "FAILED" in three.cause) == (
        3,
        "none",
        True,
        True,
    )
    assert (twelve.rank, twelve.cause) == (12, "the memlock limit is 64 KiB, too low for InfiniBand")
    assert "still runs" in verdict(plan, reports, ended="").differences[0].cause


def test_a_host_that_no_node_type_has() -> None:
    plan = planned({"node_types": TWO}, nodes=2)
    got = verdict(plan, as_planned(plan, ("login1", "hgx9")))
    assert {(one.rank, one.what) for one in got.differences} == {(rank, "node") for rank in range(8)}


def part(**job: Any) -> tuple[LaunchPlan, list[Fields]]:
    """Two GPUs of a DGX A100, and reports as they should be."""
    plan = planned(nodes=1, gpus_per_node=2, **job)
    common = {"node": "dgx001", "online": "0-255", "memlock": "unlimited", "numa": "3", "memory": "bind:3"}
    gpus = "0000:07:00.0@3,0000:0f:00.0@3"
    places = (("48-55,176-183", "48,176", "07", "0c"), ("56-63,184-191", "56,184", "0f", "12"))
    return plan, [
        {
            "rank": str(rank),
            "local": str(rank),
            **common,
            "cpus": cpus,
            "siblings": siblings,
            "gpus": gpus,
            "hcas": f"mlx5_{rank}/0000:{hca}:00.0/1/ACTIVE/InfiniBand@3",
            "own": f"0000:{gpu}:00.0",
        }
        for rank, (cpus, siblings, gpu, hca) in enumerate(places)
    ]


@pytest.mark.parametrize(
    ("fields", "what", "cause"),
    [
        ({}, "", ""),
        (
            {"cpus": "0-7,128-135", "siblings": "0,128", "numa": "0", "memory": "bind:0"},
            "cores",
            "its socket",
        ),
        ({"cpus": "48-55,176-182"}, "SMT siblings", "CR_Core"),
        ({"cpus": "48-56,176-184"}, "cores", "another --cpu-bind"),
        (
            {"own": "0000:0f:00.0", "hcas": "mlx5_1/0000:12:00.0/1/ACTIVE/InfiniBand@3"},
            "own GPUs",
            "one address",
        ),
        ({"own": "0000:aa:00.0", "gpus": "0000:aa:00.0@3,0000:0f:00.0@3"}, "own GPUs", "not a machine as"),
        ({"memory": "default"}, "memory policy", "no numactl"),
        ({"hcas": "mlx5_6/0000:8d:00.0/1/ACTIVE/InfiniBand@7"}, "HCAs", "other PCI addresses"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_rules_on_a_part_of_a_node(fields: Fields, what: str, cause: str) -> None:
    plan, reports = part()
    reports[0] |= fields
    got = verdict(plan, reports)
    assert got.as_planned == (not what)
    named = [one for one in got.differences if one.what == what]
    assert bool(named) == bool(what)
    assert all(cause.replace("its socket", "the socket") in one.cause for one in named)


@pytest.mark.parametrize(
    ("bind", "fields", "what"),
    [
        ({"cpus": "none"}, {"memory": "bind:3"}, ""),
        # The job has no core on NUMA node 3, and the others of the socket are all as far: the first it is.
        ({"cpus": "none"}, {"cpus": "0-47,128-175", "numa": "0-2", "memory": "bind:0"}, ""),
        ({"cpus": "none"}, {"cpus": "0-47,128-175", "numa": "0-2", "memory": "bind:0-2"}, "memory policy"),
        ({"cpus": "none"}, {"memory": "bind:2-3"}, "memory policy"),
        ({"cpus": "none"}, {"memory": "default"}, "memory policy"),
        ({"cpus": "none", "memory": "prefer"}, {"memory": "prefer:3"}, ""),
        ({"cpus": "none", "memory": "prefer"}, {"memory": "prefer:0"}, "memory policy"),
        (
            {"cpus": "none", "memory": "none", "hcas": "none"},
            {"memory": "default", "own": "", "hcas": "-"},
            "",
        ),
    ],
)
def test_ranks_that_may_run_on_all_cores_of_the_job(bind: Fields, fields: Fields, what: str) -> None:
    plan, reports = part(bind=bind)
    for report in reports:
        report |= {"cpus": "0-63,128-191", "numa": "0-3", "siblings": "0,128", **fields}
        if not report["own"]:
            del report["own"]
    got = verdict(plan, reports)
    assert {one.what for one in got.differences} == ({what} if what else set())


def test_reports_that_cannot_be_trusted_are_named_and_not_counted() -> None:
    plan = planned(nodes=1)
    good = as_planned(plan)
    strange = [
        (line({**good[0], "rank": "8"}), "the job has no rank 8"),
        (line({**good[0], "local": "9"}), "no node has a local rank 9"),
        (line(good[0])[:60] + b"\n", "it has no online="),
        (line(good[0]).replace(b" memlock=unlimited", b""), "it has no memlock="),
        (line(good[0]).replace(b"verify 1 ", b"verify 2 "), "a report of form '2'"),
        (line(good[0]).replace(b"\n", b" cpus=0\n"), "cpus= stands twice"),
        (line({**good[0], "evil": "1"}), "'evil=1' is no part of a report"),
        (line({**good[0], "cpus": "0-7;rm"}), "cpus=0-7;rm cannot be read"),
        (line({**good[0], "rank": "?"}), "does not say whose"),
    ]
    for text, why in strange:
        got = verdict(plan, good, text)
        assert got.as_planned
        (note,) = got.notes
        assert note.startswith("not a report, line 1: ")
        assert why in note


def test_a_line_that_a_rank_had_begun_is_no_harm() -> None:
    plan = planned(nodes=1)
    first, *others = map(line, as_planned(plan))
    observed = look(plan, [b"loss 0.1" + first, *others])
    assert (len(observed.reports), observed.broken) == (8, ())


def test_after_a_requeue_the_last_report_counts() -> None:
    plan = planned(nodes=1, sites={"s": {"sbatch": ["--requeue"]}})
    before = changed(plan, 5, cpus="0-255")
    got = verdict(plan, [*before, *as_planned(plan)])
    assert got.as_planned
    assert got.notes == ("reported more than once, as after a requeue, and the last counts: ranks 5",)
    assert not verdict(plan, [*as_planned(plan), *before]).as_planned


def test_of_a_job_that_runs_once_every_report_counts() -> None:
    """Its ranks may print the log of another job, before or after another rank has reported."""
    plan = planned(nodes=1)
    mine = changed(plan, 5, cpus="0-255")
    for reports in ([*mine, *as_planned(plan)], [*as_planned(plan), *mine]):
        got = verdict(plan, reports)
        assert {(one.rank, one.what) for one in got.differences} >= {(5, "cores")}
        assert {one.rank for one in got.differences} == {5}
        (note,) = got.notes
        assert note.startswith("reported more than once, though the job runs once")
        assert note.endswith("ranks 5")
    again = verdict(plan, [*as_planned(plan), *as_planned(plan)])
    assert (again.as_planned, again.notes) == (True, ())


@given(st.data())
def test_no_line_makes_it_crash(data: st.DataObject) -> None:
    """A report that was cut, joined with others or spoilt is a report as good as it was, or is named."""
    plan = planned(nodes=1)
    text = line(as_planned(plan)[data.draw(st.integers(0, 7))])
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    spoilt = text[:start] + data.draw(st.binary(max_size=12)) + text[end:]
    observed = look(plan, [spoilt])
    got = compare(plan, observed)
    assert got.reported + len(observed.broken) == (b"hpclaunch-verify " in spoilt)
    assert {one.rank for one in got.differences if one.what == "report"} == {*range(8)} - {*observed.reports}


def test_a_job_on_this_machine(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("name: here\ncommand: [echo, ran]\nranks_per_node: 2\nbind: {memory: none}\n")
    env = {**os.environ, "HPCLAUNCH_HOME": str(tmp_path / "home")}
    done = hpclaunch("submit", job, "--local", "--verify", "--wait", env=env)
    assert done.returncode == 0, done.stderr
    said = hpclaunch("verify", done.stdout.strip(), "--json", env=env)
    found = json.loads(said.stdout)
    assert (said.returncode, found["as_planned"], found["reported"]) == (0, True, 2), found
    log = next((tmp_path / "home").glob("jobs/local/*/logs/output.log"))
    with log.open("ab") as more:
        more.write(b"hpclaunch-verify 1 what a job printed\n" * 1000)
    noisy = hpclaunch("verify", f"local/{done.stdout.strip()}", env=env)
    assert (noisy.returncode, len(noisy.stderr.splitlines())) == (0, 41)
    assert "960 more notes" in noisy.stderr
    log.write_bytes(b"".join(text for text in log.open("rb") if b"rank=1 " not in text))
    said = hpclaunch("verify", f"local/{done.stdout.strip()}", env=env)
    assert said.returncode == 1
    assert "1 of 2 ranks are not as planned" in said.stdout


def test_a_job_without_reports_is_refused(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("name: here\ncommand: [echo, ran]\nranks_per_node: 1\nbind: {memory: none}\n")
    env = {**os.environ, "HPCLAUNCH_HOME": str(tmp_path / "home")}
    number = hpclaunch("submit", job, "--local", "--wait", env=env).stdout.strip()
    refused = hpclaunch("verify", number, env=env)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "submitted without --verify" in refused.stderr
    assert hpclaunch("verify", "4711", env=env).returncode == 2
