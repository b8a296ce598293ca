"""`hpclaunch results` of a chain, whose links write one log, how its metrics are found, and which points of a
sweep are those that failed."""

import json
import os
import re
from pathlib import Path

import msgspec
import pytest
from command import hpclaunch

from hpclaunch.cli import outcomes, runs
from hpclaunch.cli.output import say
from hpclaunch.records import lock, metrics, tasks
from hpclaunch.records.record import Record
from hpclaunch.records.searching import Metric
from hpclaunch.values.job import JobStatus
from hpclaunch.values.sweep import KeptPoint, Points

JOB = "name: train\ncommand: [run]\nchain: 3\nmetrics: {loss: 'loss=([0-9.]+)'}\n"


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """The record of a chain that has ended."""
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path))
    record = Record.create(
        site="alpha",
        scheduler="slurm",
        name="train",
        script="",
        plan=b"{}",
        job_yaml=JOB,
        site_yaml="name: alpha\n",
        directory="/",
        argv=(),
        scheduler_version="",
        tasks=3,
        chain=True,
    )
    made = lock.Lock(site_file="", versions={}, environment=lock.Environment(), image=None, repository=None)
    (record.folder / lock.NAME).write_bytes(msgspec.json.encode(made))
    record.submitted("5")
    record.log.write_text("loss=0.5\nloss=0.25\n")
    times = {"started": "2026-11-22T04:00:00Z", "ended": "2026-11-22T04:01:30Z"}
    record.update(JobStatus("COMPLETED", "link 1 of 3 was done", exit_code=0, **times))
    return record


@pytest.mark.usefixtures("chain")
def test_a_chain_is_one_run_with_the_metrics_of_its_log() -> None:
    done = hpclaunch("results", "5", "--json", env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["job_id"], row["state"], row["seconds"]) == ("5", "COMPLETED", 90)
    assert row["metrics"] == {"loss": "0.25"}


@pytest.mark.usefixtures("chain")
def test_a_link_has_no_results_of_its_own() -> None:
    done = hpclaunch("results", "5_1", env=dict(os.environ))
    assert (done.returncode, done.stdout) == (2, "")
    assert "say 5" in done.stderr


def test_a_link_that_is_compared_has_the_metrics_of_that_log(chain: Record) -> None:
    assert runs.of_record(chain, 1, JobStatus("UNKNOWN")).outcome["metric loss"] == "0.25"


def test_a_pattern_that_does_not_end_leaves_out_its_metric_alone(
    chain: Record, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(metrics, "_SECONDS", 1)
    chain.log.write_text("loss=0.5\n" + "a" * 60 + "b\nloss=0.25\nmost=7\n")
    # `old` compiles as text alone, as in an older record.
    patterns = {"most": "most=(.)", "slow": "^((?:a|aa)+)+$", "old": "(?u)loss=(.*)", "loss": "loss=(.*)"}
    assert re.compile(patterns["old"])
    wanted = {name: Metric(pattern) for name, pattern in patterns.items()}
    with metrics.Reader(wanted, say) as reader:
        assert [reader.read(chain.log) for _ in range(2)] == [{"loss": "0.25", "most": "7"}] * 2
        assert reader.read(chain.log.with_name("none")) == {}
    slow, old = sorted(capsys.readouterr().err.splitlines(), reverse=True)
    assert slow.startswith("hpclaunch: metric slow is left out from here on: ")
    assert str(chain.log) in slow
    assert old.startswith("hpclaunch: metric old is left out from here on: ")


@pytest.mark.parametrize(("words", "status"), [("results 5", 0), ("logs 5", 1), ("logs --follow 5", 125)])
def test_a_log_that_is_a_fifo_keeps_nobody_waiting(chain: Record, words: str, status: int) -> None:
    chain.log.unlink()
    os.mkfifo(chain.log)
    done = hpclaunch(*words.split(), env=dict(os.environ))
    assert done.returncode == status, done.stderr
    assert [str(chain.log) in line for line in done.stderr.splitlines()] == [True]
    assert "[Errno" not in done.stderr


def test_a_log_that_cannot_be_read_is_said_and_the_others_are_read(
    chain: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = chain.log.with_name("output-1.log")
    folder.mkdir()
    chain.log.write_text("loss=0.5\n")
    with metrics.Reader({"loss": Metric("loss=(.*)")}, say) as reader:
        assert [reader.read(log) for log in (folder, chain.log)] == [{}, {"loss": "0.5"}]
    (said,) = capsys.readouterr().err.splitlines()
    assert str(folder) in said


def test_points_whose_end_nobody_knows_are_said_and_none_that_failed(
    chain: Record, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = ["COMPLETED", "FAILED", "UNKNOWN", "CANCELLED", "RUNNING"] + ["UNKNOWN"] * 20
    rows = [{"job_id": f"5_{point}", "point": point, "state": state} for point, state in enumerate(ends)]
    monkeypatch.setattr(outcomes, "rows_of", lambda records, wanted: [rows])
    assert outcomes.failed_points([chain]) == {1, 3}
    said = capsys.readouterr().err
    assert "21 of 25 points" in said
    assert "5_2, 5_5" in said


def test_one_point_is_not_asked_for_with_failed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be sent again though it completed."""
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path))
    points = Points(("env.A",), (KeptPoint(0, ("x",)), KeptPoint(1, ("y",))), 2, ())
    record = Record.create(
        site="alpha",
        scheduler="slurm",
        name="search",
        script="",
        plan=b"{}",
        job_yaml="name: search\ncommand: [run]\nsweep: {grid: {env.A: [x, y]}}\n",
        site_yaml="name: alpha\n",
        directory="/",
        argv=(),
        scheduler_version="",
        tasks=2,
        more=tasks.files_of(points, b""),
    )
    record.submitted("6")
    done = hpclaunch("rerun", "6_1", "--failed", env=dict(os.environ))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--failed" in done.stderr
