"""Sweeps and several job files, as whole commands, where no Slurm is needed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from apiserver import ApiServer, kubeconfig, serving
from command import hpclaunch

SITE = """\
version: 1
name: here
scheduler: kubernetes
node_types: [{type: dgx-a100, count: 4}]
kubernetes: {namespace: adas, mpi_operator: "0.8.0"}
"""
THEN = "2026-01-01T00:00:00Z"
JOB = """\
version: 1
name: search
image: registry.example/x:1
command: [./run.sh]
nodes: 2
time: 30m
"""
SWEEP = "sweep: {grid: {env.LR: ['0.1', '0.2'], nodes: [1, 2]}}\n"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    with serving() as started:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "kubeconfig", started.url)))
        monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "site.yaml").write_text(SITE)
        (tmp_path / "job.yaml").write_text(JOB + SWEEP)
        yield started


def test_every_point_is_a_job_on_kubernetes_and_results_find_all(server: ApiServer, tmp_path: Path) -> None:
    done = hpclaunch("submit", "job.yaml", "--site", "site.yaml")
    assert done.returncode == 0, done.stderr
    names = [f"search-{number}" for number in range(4)]
    assert done.stdout.split() == names
    sent = {each.body["metadata"]["name"]: each.body for each in server.asked("POST")}
    assert sorted(sent) == names
    assert {name: body["kind"] for name, body in sent.items()} == {
        "search-0": "Job",
        "search-1": "MPIJob",
        "search-2": "Job",
        "search-3": "MPIJob",
    }
    rows = json.loads(hpclaunch("results", "search-2", "--json").stdout)
    assert [(row["job_id"], row["values"]) for row in rows] == [
        (name, {"env.LR": lr, "nodes": nodes})
        for name, lr, nodes in zip(names, ["0.1", "0.1", "0.2", "0.2"], ["1", "2", "1", "2"], strict=True)
    ]
    assert {row["state"] for row in rows} == {"PENDING"}
    (row,) = json.loads(hpclaunch("results", "search-2_1", "--json").stdout)
    assert (row["job_id"], row["point"]) == ("search-1", 1)


def test_what_waits_is_refused_where_there_is_no_queue(server: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB + "depends_on: [other.yaml]\n")
    (tmp_path / "other.yaml").write_text(JOB.replace("nodes: 2", "nodes: 0"))
    done = hpclaunch("submit", "job.yaml", "--site", "site.yaml")
    assert done.returncode == 2
    assert "other.yaml:5:8" in done.stderr  # every file is read before anything else
    (tmp_path / "other.yaml").write_text(JOB)
    done = hpclaunch("submit", "job.yaml", "--site", "site.yaml")
    assert done.returncode == 2
    assert done.stderr.startswith("job.yaml:7:13: depends_on: site here has no queue")
    assert server.asked("POST") == []


def test_render_writes_the_points_beside_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB + SWEEP)
    several = hpclaunch("render", "job.yaml", "--site", "superpod-a100")
    assert several.returncode == 2
    assert "2 scripts: -o FOLDER" in several.stderr
    (tmp_path / "out").mkdir()
    assert hpclaunch("render", "job.yaml", "--site", "superpod-a100", "-o", "out").returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "search-0.points",
        "search-0.sh",
        "search-1.points",
        "search-1.sh",
    ]
    one = hpclaunch("render", "job.yaml", "--site", "superpod-a100", "--set", "sweep.grid.nodes=[2]")
    assert one.stdout.startswith("#!/bin/bash")
    assert "-o writes search.points beside it" in one.stderr


def test_check_says_how_many_points_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB + SWEEP)
    assert hpclaunch("check", "job.yaml").stdout == "job.yaml: search is a valid job, 4 points\n"
    done = hpclaunch("check", "job.yaml", "--site", "superpod-a100")
    assert done.stdout == "job.yaml: search can run on superpod-a100, 4 points in 2 job arrays\n"
    done = hpclaunch("check", "job.yaml", "--site", "k8s-superpod-a100")
    assert done.stdout.endswith("4 points in 4 jobs\n")


def test_a_key_that_every_point_sets_is_not_set_on_the_command_line_too(server: ApiServer) -> None:
    for given in ("env.LR=0.3", "nodes=4", "env={LR: '0.3'}"):
        done = hpclaunch("render", "job.yaml", "--site", "site.yaml", "--set", given, "-o", "out")
        assert done.returncode == 2, given
        assert "each point of the sweep has its own" in done.stderr
    done = hpclaunch("render", "job.yaml", "--site", "site.yaml", "--set", "env.X=1", "-o", "out")
    assert done.returncode == 0, done.stderr


def test_a_metric_has_a_column_of_its_own(server: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB + SWEEP + "metrics: {state: '(.)', nodes: '(.)', loss: '(.)'}\n")
    done = hpclaunch("check", "job.yaml")
    assert done.returncode == 2
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["metrics.state", "metrics.nodes"]


def test_a_damaged_record_is_said_and_no_traceback(server: ApiServer, tmp_path: Path) -> None:
    assert hpclaunch("submit", "job.yaml", "--site", "site.yaml").returncode == 0
    (record,) = {
        path.parent
        for path in tmp_path.glob("home/jobs/here/*/intent.json")
        if "search-0" in path.read_text()
    }
    for name in ("job.yaml", "site.yaml"):
        kept = (record / name).read_bytes()
        for damage in (b"", b"\xff", b"[a", b"a", None):
            (record / name).unlink()
            if damage is not None:
                (record / name).write_bytes(damage)
            for command in ("results", "compare"):
                done = hpclaunch(command, *["search-0", "search-1"][: 1 + (command == "compare")])
                assert "Traceback" not in done.stderr
                if (command, name) != ("results", "site.yaml"):
                    assert done.returncode, (command, name, damage)
                    assert str(record / name) in done.stderr
        (record / name).write_bytes(kept)


def _ends(server: ApiServer, name: str, how: str) -> None:
    """What the controller says of the job of this name at its end."""
    for kind in ("jobs", "mpijobs"):
        for job in server.of(kind):
            if job["metadata"]["name"] == name:
                job["status"] = {"conditions": [{"type": how, "status": "True", "lastTransitionTime": THEN}]}


def test_a_point_with_a_job_of_its_own_runs_again_alone_and_stays_the_sweeps(server: ApiServer) -> None:
    assert hpclaunch("submit", "job.yaml", "--site", "site.yaml").returncode == 0
    for number, how in enumerate(("Complete", "Succeeded", "Failed", "Failed")):
        _ends(server, f"search-{number}", how)
    assert hpclaunch("list").returncode == 0
    server.objects.clear()
    done = hpclaunch("rerun", "search-1", "--exact")
    assert (done.returncode, done.stdout) == (0, "search-1\n"), done.stderr
    assert [job["metadata"]["name"] for kind in ("jobs", "mpijobs") for job in server.of(kind)] == [
        "search-1"
    ]
    (row,) = json.loads(hpclaunch("results", "search-1", "--json").stdout)
    assert (row["point"], row["values"]) == (1, {"env.LR": "0.1", "nodes": "2"})
    done = hpclaunch("rerun", "search-0", "--failed")
    assert (done.returncode, done.stdout.split()) == (0, ["search-2", "search-3"]), done.stderr
    _ends(server, "search-2", "Failed")
    rows = json.loads(hpclaunch("results", "search-3", "--json").stdout)
    assert [(row["point"], row["values"]["nodes"], row["state"]) for row in rows] == [
        (2, "1", "FAILED"),
        (3, "2", "PENDING"),
    ]
    server.objects.clear()
    done = hpclaunch("rerun", "search-3", "--failed")
    assert (done.returncode, done.stdout) == (0, "search-2\n"), done.stderr
