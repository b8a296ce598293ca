"""What is pyslurm's alone, with a stand-in that has the real one's faults: what it cannot say, and how it
fails."""

import json
import os
from pathlib import Path

import pytest
from command import hpclaunch
from realslurm import Slurm
from waysto import facts, record_of

from hpclaunch.schedulers import lifecycle
from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.ways.checkup import way_checks
from hpclaunch.values.checkup import Check
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import Submission
from hpclaunch.values.slurmaccess import SlurmAccess

SIMPLE = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1")


def doctors(conf: str) -> dict[str, Check]:
    return {check.subject: check for check in way_checks(conf, SlurmAccess())}


@pytest.mark.parametrize("option", ["--signal=B:USR1@60", "--nice=7", "--mem-per-gpu=2G", "--gpu-bind=none"])
def test_what_pyslurm_cannot_say_is_sent_by_sbatch(
    slurm_a100: Slurm, pyslurm_standin: Path, record_home: Path, option: str
) -> None:
    options = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1", "--gres=gpu:1", "--hold", option)
    record = record_of(str(slurm_a100.slurm_conf), options, "true\n", SlurmAccess())
    said: list[str] = []
    lifecycle.submit(record, Submission(), said.append)
    assert len(said) == 1
    assert option in said[0]
    sent = json.loads(hpclaunch("status", str(record.state().job_id), "--json").stdout)
    assert (sent["via"], "pyslurm cannot say" in sent["via_reason"]) == ("commands", True)
    assert option in sent["via_reason"]
    plain = record_of(str(slurm_a100.slurm_conf), options, "true\n", SlurmAccess("commands"))
    lifecycle.submit(plain, Submission(), pytest.fail)
    assert facts(slurm_a100, record) == facts(slurm_a100, plain)
    for each in (record, plain):
        lifecycle.cancel(each, pytest.fail)


def test_a_script_that_is_not_its_plan_s_is_sent_by_sbatch(
    slurm_a100: Slurm, pyslurm_standin: Path, record_home: Path
) -> None:
    """Else a line that a plan does not know of would be lost without a word."""
    record = record_of(str(slurm_a100.slurm_conf), SIMPLE, "true\n", SlurmAccess())
    record.script.write_text(record.script.read_text().replace("true", "#SBATCH --comment=more\ntrue"))
    said: list[str] = []
    lifecycle.submit(record, Submission(), said.append)
    assert "not those of its plan" in said[0]


def test_a_pyslurm_that_cannot_be_loaded_is_no_obstacle(
    slurm_a100: Slurm, pyslurm_standin: Path, record_home: Path
) -> None:
    conf = str(slurm_a100.slurm_conf)
    assert doctors(conf)["pyslurm"].result == "ok"
    (pyslurm_standin / "pyslurm" / "__init__.py").write_text("raise RuntimeError('Slurm version mismatch')\n")
    looked = doctors(conf)["pyslurm"]
    assert (looked.result, "Slurm version mismatch" in looked.found) == ("warning", True)
    options = (*SIMPLE, "--hold")
    record = record_of(str(slurm_a100.slurm_conf), options, "true\n", SlurmAccess())
    said: list[str] = []
    job_id = lifecycle.submit(record, Submission(), said.append)
    assert "Slurm version mismatch" in said[0]
    slurm_a100.run("scancel", job_id)


def test_a_call_of_the_controller_that_broke_off_leaves_the_submission_open(
    slurm_a100: Slurm,
    pyslurm_standin: Path,
    record_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It must not be sent again, by sbatch either."""
    said = "Batch job submission failed: Unable to contact slurm controller (receive failure)"
    (tmp_path / "sbatch").write_text(f"#!/bin/sh\necho 1 >>'{tmp_path}/calls'\necho '{said}' >&2\nexit 1\n")
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    record = record_of(str(slurm_a100.slurm_conf), SIMPLE, "true\n", SlurmAccess("pyslurm"))
    with pytest.raises(SchedulerError, match="receive failure") as caught:
        lifecycle.scheduler_of(record).submit(record, Submission(), pytest.fail)
    assert not isinstance(caught.value, Refused)
    assert (tmp_path / "calls").read_text() == "1\n"


def test_pyslurm_sees_the_closed_environment_alone(
    slurm_a100: Slurm, pyslurm_standin: Path, record_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its library reads it as Slurm's commands read theirs."""
    for name in ("SLURM_CPU_BIND", "LD_PRELOAD", "STRAY"):
        monkeypatch.setenv(name, "")
    record = record_of(str(slurm_a100.slurm_conf), SIMPLE, "true\n", SlurmAccess("pyslurm"))
    lifecycle.submit(record, Submission(), pytest.fail)
    seen = json.loads((pyslurm_standin / "pyslurm" / "environ.json").read_text())
    assert set(seen) <= {"PATH", "HOME", "USER", "LOGNAME", "LANG", "SLURM_CONF"}
    assert seen["SLURM_CONF"] == str(slurm_a100.slurm_conf)


def test_a_job_is_asked_for_where_there_is_no_pyslurm_too(
    slurm_a100: Slurm, pyslurm_standin: Path, record_home: Path
) -> None:
    record = record_of(str(slurm_a100.slurm_conf), (*SIMPLE, "--hold"), "true\n", SlurmAccess())
    job_id = lifecycle.submit(record, Submission(), pytest.fail)
    shown = json.loads(hpclaunch("status", job_id, "--json").stdout)
    assert (shown["state"], shown["via"]) == ("PENDING", "pyslurm")
    (pyslurm_standin / "pyslurm").rename(pyslurm_standin / "gone")
    assert json.loads(hpclaunch("status", job_id, "--json").stdout)["via"] == "pyslurm"
    assert hpclaunch("cancel", job_id).returncode == 0
    assert json.loads(hpclaunch("status", job_id, "--json").stdout)["state"] == "CANCELLED"
