"""`hpclaunch status`, `logs`, `cancel`, `wait` and `list`, as whole commands on local jobs."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hpclaunch.records.record import Record
from hpclaunch.values.job import JobStatus

Start = Callable[..., Record]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "hpclaunch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("script", "status"), [("true", 0), ("exit 7", 7), ("kill -SEGV $$", 139)])
def test_wait_ends_with_the_job_s_own_status(local: Start, script: str, status: int) -> None:
    local(script)
    done = run("wait", "1")
    assert done.returncode == status
    assert done.stdout == ""
    assert ("FAILED" in done.stderr) == bool(status)


def test_status_as_json_names_the_state_and_where_things_are(local: Start) -> None:
    record = local("exit 7")
    run("wait", "1")
    shown = json.loads(run("status", "here/1", "--json").stdout)
    assert (shown["job_id"], shown["site"], shown["state"], shown["exit_code"]) == ("1", "here", "FAILED", 7)
    assert Path(shown["log"]) == record.log
    assert Path(shown["record"]) == record.folder


def test_logs_follow_until_the_last_byte(local: Start) -> None:
    local("printf '\\377\\0 raw'; for i in 1 2 3; do sleep 0.2; echo $i; done; exit 3")
    command = [sys.executable, "-m", "hpclaunch", "logs", "1"]
    followed = subprocess.run([*command, "--follow"], capture_output=True, timeout=60)
    assert followed.stdout == b"\xff\0 raw1\n2\n3\n"
    assert followed.returncode == 0
    assert subprocess.run(command, capture_output=True, timeout=60).stdout == followed.stdout


def test_waiting_for_a_refused_job_names_it_by_its_tag(record: Start) -> None:
    made = record("true")
    made.update(JobStatus("FAILED", "it was never submitted: no such partition"))
    done = run("wait", made.tag)
    assert done.returncode == 1
    assert done.stderr == f"hpclaunch: job {made.tag}: FAILED: it was never submitted: no such partition\n"


def test_an_interrupt_ends_following_without_a_word(local: Start) -> None:
    local("echo ready; sleep 600")
    command = [sys.executable, "-m", "hpclaunch", "logs", "--follow", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as following:
        assert following.stdout
        assert following.stderr
        assert following.stdout.readline() == "ready\n"
        following.send_signal(signal.SIGINT)
        assert following.stderr.read().strip() == ""
    assert following.returncode == 130


def test_cancel_ends_a_job_and_says_so_when_it_has_ended(local: Start) -> None:
    local("sleep 600")
    assert run("cancel", "1").returncode == 0
    assert run("wait", "1").returncode == 1
    again = run("cancel", "1")
    assert again.returncode == 0
    assert "has ended already: CANCELLED" in again.stderr


def test_list_shows_every_job_newest_first(local: Start, record: Start) -> None:
    local("exit 7")
    run("wait", "1")
    local("sleep 600")
    record("true")
    rows = json.loads(run("list", "--json").stdout)
    assert [(row["job_id"], row["state"]) for row in rows] == [
        (None, "UNKNOWN"),
        ("2", "RUNNING"),
        ("1", "FAILED"),
    ]
    lines = run("list").stdout.splitlines()
    assert "not known to be submitted" in lines[1]
    assert lines[3].split()[:2] == ["1", "here"]
    assert lines[3].endswith("FAILED with exit code 7: its script ended with an error")


def test_list_of_nothing_is_an_empty_list(home: Path) -> None:
    assert json.loads(run("list", "--json").stdout) == []
    assert run("list").returncode == 0
    assert not home.exists()


@pytest.mark.parametrize("command", ["status", "logs", "cancel", "wait"])
def test_an_unknown_job_is_wrong_input(home: Path, command: str) -> None:
    done = run(command, "4711")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no record of a job 4711" in done.stderr


def test_a_reader_that_goes_away_is_no_trouble(local: Start) -> None:
    local("yes | head -c 3000000")
    run("wait", "1")
    command = [sys.executable, "-m", "hpclaunch", "logs", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as printing:
        assert printing.stdout
        assert printing.stderr
        printing.stdout.read(10)
        printing.stdout.close()
        assert printing.stderr.read() == b""
