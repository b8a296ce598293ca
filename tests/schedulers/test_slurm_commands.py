"""Slurm's commands that fail: each test puts commands of its own in front, which do what a broken cluster
does. Everything that works is tested against a real Slurm, in tests/sandbox."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hpclaunch.records import secrets
from hpclaunch.records.lookup import find
from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle
from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.lifecycle import WaitFailed
from hpclaunch.values.errors import HpclaunchError, SchedulerError
from hpclaunch.values.job import JobStatus, Submission

Make = Callable[..., Record]
Command = Callable[[str, str], Path]

BROKEN = "echo 'sbatch: error: Unable to contact slurm controller (receive failure)' >&2"
SILENT = "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`command("sbatch", "exit 1")` is the sbatch that is found; its arguments and environment are kept."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def make(name: str, body: str) -> Path:
        path = folder / name
        path.write_text(f'#!/bin/sh\nprintf "%s\\0" "$@" >"$0.argv"\nenv -0 >"$0.env"\n{body}\n')
        path.chmod(0o700)
        return path

    return make


def argv(path: Path) -> list[str]:
    return path.with_name(path.name + ".argv").read_text().split("\0")[:-1]


def environment(path: Path) -> dict[str, str]:
    text = path.with_name(path.name + ".env").read_text()
    return dict(pair.split("=", 1) for pair in text.split("\0")[:-1])


def test_a_hostile_shell_does_not_reach_sbatch(
    record: Make, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "slurm.conf"
    conf.touch()
    hostile = (
        "SBATCH_TIMELIMIT",
        "SLURM_CPU_BIND",
        "SRUN_CPUS_PER_TASK",
        "LD_PRELOAD",
        "PYXIS_X",
        "STRAY",
        "TZ",
    )
    for name in hostile:
        monkeypatch.setenv(name, "")
    sbatch = command("sbatch", "echo 12")
    made = record("true", "slurm", str(conf))
    value = "a b\n$x 'q' grün,x"
    lifecycle.submit(made, Submission(environment={"PROXY": value}), pytest.fail)
    got = environment(sbatch)
    assert not set(hostile) & set(got)
    assert got["PROXY"] == value
    assert got["SLURM_CONF"] == str(conf)
    assert made.tag in argv(sbatch)[1]
    assert argv(sbatch)[-2:] == [str(made.script), str(made.claim)]


def test_a_submission_that_broke_off_but_arrived_is_taken(record: Make, command: Command) -> None:
    made = record("true", "slurm")
    command("sbatch", f"{BROKEN}; exit 1")
    command("squeue", f"echo '77|PENDING|0||N/A|N/A|N/A|Priority|hpclaunch:{made.tag}|/w|'")
    assert lifecycle.submit(made, Submission(secrets={"TOKEN": "x"}), pytest.fail) == "77"
    assert find("77") == made
    assert secrets.path_of(made).exists()


def test_a_submission_that_broke_off_for_good_says_how_to_find_out(record: Make, command: Command) -> None:
    made = record("true", "slurm")
    command("sbatch", f"{BROKEN}; exit 1")
    command("squeue", SILENT)
    with pytest.raises(SchedulerError, match=f"hpclaunch submit --resume here/{made.tag}") as caught:
        lifecycle.submit(made, Submission(), lambda text: None, lambda seconds: None)
    assert caught.value.exit_status == 3
    command("squeue", f"echo '77|RUNNING|0|n1|N/A|N/A|N/A|None|hpclaunch:{made.tag}|/w|'")
    assert lifecycle.ask([made], pytest.fail)[made.tag].state == "RUNNING"
    assert find("77") == made


def test_a_refusal_is_kept_in_slurm_s_words_and_no_secret_stays(record: Make, command: Command) -> None:
    made = record("true", "slurm")
    command("sbatch", "echo 'sbatch: error: invalid partition specified: nope' >&2; exit 1")
    with pytest.raises(Refused, match=r"invalid partition specified: nope\n.*sinfo") as caught:
        lifecycle.submit(made, Submission(secrets={"TOKEN": "x"}), pytest.fail)
    assert caught.value.exit_status == 3
    assert not secrets.path_of(made).exists()
    kept = made.state().status
    assert kept
    assert kept.state == "FAILED"
    assert "nope" in kept.reason


def test_secrets_that_cannot_be_written_stop_the_submission(
    record: Make, command: Command, home: Path
) -> None:
    made = record("true", "slurm")
    sbatch = command("sbatch", "echo 12")
    (home / "secrets").write_text("a file where a folder belongs")
    with pytest.raises(HpclaunchError, match="the file of the job's secrets cannot be written"):
        lifecycle.submit(made, Submission(secrets={"TOKEN": "x"}), pytest.fail)
    assert not sbatch.with_name("sbatch.argv").exists()


def test_what_a_site_says_beside_the_job_id_is_passed_on(record: Make, command: Command) -> None:
    command("sbatch", "echo 'sbatch: your time limit was cut to 4 hours' >&2; echo 12")
    warnings: list[str] = []
    assert lifecycle.submit(record("true", "slurm"), Submission(), warnings.append) == "12"
    assert warnings == ["sbatch: your time limit was cut to 4 hours"]


def test_no_slurm_here_is_said_before_anything_is_written(
    command: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(SchedulerError, match="sbatch is not on the PATH"):
        lifecycle.scheduler("slurm").version()


def test_a_slurm_conf_that_is_not_there_is_said_at_once(record: Make) -> None:
    with pytest.raises(SchedulerError, match=r"no slurm\.conf at /nowhere/slurm\.conf"):
        lifecycle.scheduler("slurm", "/nowhere/slurm.conf").version()


def test_a_deleted_folder_is_no_obstacle(
    record: Make, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "slurm.conf"
    conf.touch()
    made = record("true", "slurm", str(conf))
    command("sbatch", "/bin/pwd || exit 1; echo 12")
    folder = tmp_path / "deleted"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert lifecycle.submit(made, Submission(), pytest.fail) == "12"


def test_a_slurm_conf_with_a_relative_path_is_the_one_from_here(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slurm.conf").touch()
    monkeypatch.chdir(tmp_path)
    sbatch = command("sbatch", "echo slurm 22.05.8")
    lifecycle.scheduler("slurm", "slurm.conf").version()
    assert environment(sbatch)["SLURM_CONF"] == str(tmp_path / "slurm.conf")


@pytest.mark.parametrize("ended_with", ["4021", "0:53"])
def test_a_log_that_the_node_could_not_open_is_explained(
    record: Make, command: Command, ended_with: str
) -> None:
    made = record("true", "slurm")
    made.submitted("5")
    command(
        "squeue",
        f"echo '5|FAILED|{ended_with}|n1|N/A|N/A|N/A|JobLaunchFailure|hpclaunch:{made.tag}|/w|'",
    )
    status = lifecycle.ask([made], pytest.fail)[made.tag]
    assert (status.state, status.exit_status) == ("FAILED", 1)
    assert str(made.log.parent) in status.reason
    assert "HPCLAUNCH_HOME" in status.reason
    made.log.touch()
    assert lifecycle.ask([made], pytest.fail)[made.tag].exit_status == 128 + 53


def test_a_job_that_slurm_forgot_is_looked_up_in_the_accounts(record: Make, command: Command) -> None:
    made = record("true", "slurm")
    made.submitted("5")
    command("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    command("sacct", f"echo '5|FAILED|7:0|n1|N/A|N/A|2026-11-21T03:00:09||/h/{made.tag}/work'")
    status = lifecycle.ask([made], pytest.fail)[made.tag]
    assert (status.state, status.exit_code) == ("FAILED", 7)


def test_a_job_that_everybody_forgot_is_unknown_and_waiting_for_it_fails(
    record: Make, command: Command
) -> None:
    made = record("true", "slurm")
    made.submitted("5")
    made.update(JobStatus("RUNNING", nodes="n1"))
    command("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    command("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    status = lifecycle.ask([made], pytest.fail)[made.tag]
    assert status.state == "UNKNOWN"
    assert "last seen RUNNING" in status.reason
    with pytest.raises(WaitFailed) as caught:
        lifecycle.wait(made, pytest.fail, lambda _: None)
    assert caught.value.exit_status == 125
    made.update(JobStatus("FAILED", exit_code=7))
    assert lifecycle.ask([made], pytest.fail)[made.tag].exit_code == 7


def test_waiting_survives_a_controller_that_is_away_for_a_while(record: Make, command: Command) -> None:
    made = record("true", "slurm")
    made.submitted("5")
    command("squeue", SILENT)
    pauses: list[float] = []
    warnings: list[str] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 9:
            command("squeue", f"echo '5|COMPLETED|0|n1|N/A|N/A|N/A|None|hpclaunch:{made.tag}|/w|'")

    assert lifecycle.wait(made, warnings.append, pause).state == "COMPLETED"
    assert len(warnings) == 1
    assert pauses[0] == 0.5
    assert pauses[-1] == 5.0
    assert pauses == sorted(pauses)


def test_listing_goes_on_with_the_last_known_states_when_slurm_is_away(
    record: Make, command: Command
) -> None:
    made, ended, unseen = record("true", "slurm"), record("true", "slurm"), record("true", "slurm")
    made.submitted("5")
    made.update(JobStatus("RUNNING"))
    ended.submitted("6")
    ended.update(JobStatus("COMPLETED", exit_code=0))
    squeue = command("squeue", SILENT)
    warnings: list[str] = []
    unseen.submitted("7")
    states = lifecycle.refresh([made, ended, unseen], warnings.append)
    assert [states[each.tag].state for each in (made, ended)] == ["RUNNING", "COMPLETED"]
    assert (states[unseen.tag].state, "was submitted" in states[unseen.tag].reason) == ("UNKNOWN", True)
    assert "Unable to contact slurm controller" in warnings[0]
    assert "--jobs=5,7" in argv(squeue)


def test_an_id_that_cannot_be_noted_is_given_all_the_same(record: Make, command: Command) -> None:
    made = record("true", "slurm")
    command("sbatch", f"mkdir '{made.folder}/state.json'; echo 12")
    warnings: list[str] = []
    assert lifecycle.submit(made, Submission(), warnings.append) == "12"
    assert "12 is submitted" in warnings[0]
    os.rmdir(made.folder / "state.json")
