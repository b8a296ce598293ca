"""The life of a job under a real Slurm: every phase, every ending, and a controller that goes away."""

import contextlib
import json
import os
import re
import secrets as secrets_of
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from realslurm import Slurm
from waiting import until

from hpclaunch.records import secrets
from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle, retry
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import JobStatus, Submission

Send = Callable[..., Record]


def make(slurm_conf: Path, script: str, *options: str) -> Record:
    """The record of a script with `options` as its #SBATCH lines."""
    lines = "".join(f"#SBATCH {option}\n" for option in ("--no-requeue", *options))
    return Record.create(
        site="lab",
        scheduler="slurm",
        name="a job",
        script=f"#!/bin/bash -p\n{lines}{script}\n",
        plan=b"{}",
        job_yaml="",
        site_yaml="",
        directory="/",
        argv=("submit",),
        scheduler_version=lifecycle.scheduler("slurm", str(slurm_conf)).version(),
        slurm_conf=str(slurm_conf),
    )


@pytest.fixture(scope="module", autouse=True)
def overdue(slurm_a100: Slurm, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Record]:
    """A home and a job in it that outlives its limit of a minute, which passes during the other tests."""
    home = str(tmp_path_factory.mktemp("overdue"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HPCLAUNCH_HOME", home)
        record = make(slurm_a100.slurm_conf, "sleep 600", "--time=1")
        lifecycle.submit(record, Submission(), pytest.fail)
    return home, record


@pytest.fixture
def send(slurm_a100: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Send]:
    """Submits a script; the home has characters that sbatch would replace in --output."""
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home 5%j %% x"))
    started = []

    def submit(script: str, *options: str, **submission: object) -> Record:
        record = make(slurm_a100.slurm_conf, script, *options)
        lifecycle.submit(record, Submission(**submission), pytest.fail)  # type: ignore[arg-type]
        started.append(record)
        return record

    yield submit
    for record in started:
        lifecycle.cancel(record, pytest.fail)


def state_of(record: Record) -> JobStatus:
    return lifecycle.ask([record], pytest.fail)[record.tag]


def ended(record: Record) -> JobStatus:
    return lifecycle.wait(record, pytest.fail, lambda _: time.sleep(0.1))


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "hpclaunch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def release(held: Record) -> None:
    subprocess.run(
        ["scontrol", "release", str(held.state().job_id)],
        env={**os.environ, "SLURM_CONF": str(held.intent.slurm_conf)},
        check=True,
    )


def test_a_job_goes_through_its_phases(send: Send, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    record = send(f"until [ -e '{gate}' ]; do sleep 0.1; done; exit 7", "--hold")
    waiting = state_of(record)
    assert (waiting.state, waiting.started) == ("PENDING", None)
    assert "held" in waiting.reason
    release(record)
    until(lambda: state_of(record).state == "RUNNING")
    running = state_of(record)
    assert running.nodes == "dgx1"
    assert running.started
    assert running.ended is None
    gate.touch()
    done = ended(record)
    assert (done.state, done.exit_code, done.exit_status) == ("FAILED", 7, 7)
    assert done.submitted
    assert done.ended
    assert done.submitted <= str(done.started) <= done.ended
    assert record.state().status == done


@pytest.mark.parametrize(
    ("script", "state", "status"),
    [
        ("true", "COMPLETED", 0),
        ("srun -n1 sh -c 'exit 7'", "FAILED", 7),
        ("kill -9 $$", "FAILED", 137),
        ("kill -SEGV $$", "FAILED", 139),
        ("exit 143", "FAILED", 143),
    ],
)
def test_wait_gives_the_job_s_own_status(send: Send, script: str, state: str, status: int) -> None:
    record = send(script)
    job_id = str(record.state().job_id)
    done = run("wait", job_id)
    assert done.returncode == status
    assert json.loads(run("status", job_id, "--json").stdout)["state"] == state


def test_a_home_that_the_node_cannot_write_is_said(send: Send) -> None:
    record = send("true", "--hold")
    shutil.rmtree(record.log.parent)
    record.log.parent.touch()  # newer releases of Slurm make a folder that is missing
    release(record)
    done = run("wait", str(record.state().job_id))
    assert done.returncode == 1
    assert f"FAILED: the node could not write the job's output in {record.log.parent}" in done.stderr


def test_cancel_ends_a_running_and_a_waiting_job(send: Send) -> None:
    running, held = send("sleep 600"), send("sleep 600", "--hold")
    until(lambda: state_of(running).state == "RUNNING")
    for record in (running, held):
        job_id = str(record.state().job_id)
        assert run("cancel", job_id).returncode == 0
        assert run("wait", job_id).returncode == 1
        again = run("cancel", job_id)
        assert again.returncode == 0
        assert "has ended already: CANCELLED" in again.stderr


def test_logs_follow_from_before_the_start_to_the_last_byte(send: Send) -> None:
    record = send("printf '\\377\\0'; for i in 1 2 3; do sleep 0.3; srun -n1 echo $i; done", "--begin=now+2")
    command = [sys.executable, "-m", "hpclaunch", "logs", "--follow", str(record.state().job_id)]
    followed = subprocess.run(command, capture_output=True, timeout=120)
    assert followed.stdout == b"\xff\x001\n2\n3\n"
    assert followed.returncode == 0


def test_a_hostile_shell_changes_nothing(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = {
        "SBATCH_TIMELIMIT": "77",
        "SBATCH_PARTITION": "nowhere",
        "SLURM_CPU_BIND": "map_cpu:999",
        "SLURM_CPUS_PER_TASK": "9999",
        "SRUN_CPUS_PER_TASK": "9999",
        "LD_PRELOAD": "/nowhere/stray.so",
        "PYXIS_CONTAINER_IMAGE": "stray",
    }
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    value = os.fsdecode(b"a b\n$x,gr\xfcn")  # not UTF-8
    record = send("squeue -h -j $SLURM_JOB_ID -o %l; env -0 >env", "--time=5", environment={"PROXY": value})
    assert ended(record).state == "COMPLETED", record.log.read_text()
    assert record.log.read_text() == "5:00\n"
    text = os.fsdecode((record.work / "env").read_bytes())
    found = dict(pair.split("=", 1) for pair in text.split("\0")[:-1])
    assert found["PROXY"] == value
    assert not {name for name, value in hostile.items() if found.get(name) == value}


def test_secrets_reach_the_script_and_stay_out_of_what_others_see(send: Send, slurm_a100: Slurm) -> None:
    secret = f"{secrets_of.token_hex(16)} $x"  # other tests run on this machine, with secrets of their own
    record = send('tr "\\0" @ <"$2" >got; rm "$2"; exec sleep 600', secrets={"TOKEN": secret})
    got = record.work / "got"
    until(lambda: got.exists() and not secrets.path_of(record).exists())
    assert got.read_text() == f"TOKEN={secret}@"
    shown = slurm_a100.run("scontrol", "show", "job", str(record.state().job_id)).stdout
    assert record.tag in shown
    seen = shown.encode()
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):  # it has ended since
                seen += (process / name).read_bytes()
    for path in [*record.folder.glob("*.*"), record.log]:
        seen += path.read_bytes()
    assert secret.split()[0].encode() not in seen


def test_a_cancelled_job_leaves_no_secret(send: Send) -> None:
    record = send("true", "--hold", secrets={"TOKEN": "x"})
    assert secrets.path_of(record).exists()
    assert run("cancel", str(record.state().job_id)).returncode == 0
    assert not secrets.path_of(record).exists()  # nobody has asked for its state since
    done = state_of(record)
    assert (done.state, done.reason) == ("CANCELLED", "by hpclaunch cancel")


def test_a_crash_before_the_id_was_noted_loses_nothing(send: Send) -> None:
    record = send("sleep 600")
    job_id = record.state().job_id
    (record.folder / "state.json").unlink()
    assert state_of(record).state in ("PENDING", "RUNNING")
    assert record.state().job_id == job_id


@pytest.mark.parametrize(
    ("option", "said", "advice"),
    [
        ("--partition=nowhere", "invalid partition", "sinfo -s"),
        ("--constraint=nothing", "Invalid feature", "constraint"),
        ("--gres=gpu:99", "Requested node configuration is not available", "sinfo"),
        ("--nodelist=zz9", "Invalid node name", "nodelist"),
        ("--reservation=none", "reservation", "scontrol show reservation"),
        ("--no-such-option", "unrecognized option", "Slurm version"),
    ],
)
def test_a_refusal_has_slurm_s_words_and_what_to_do(send: Send, option: str, said: str, advice: str) -> None:
    with pytest.raises(SchedulerError) as caught:
        send("true", option)
    assert said in str(caught.value)
    assert advice in caught.value.advice
    assert caught.value.exit_status == 3


def test_a_controller_that_cannot_be_reached_is_exit_3(
    slurm_a100: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    text = slurm_a100.slurm_conf.read_text()
    away = tmp_path / "slurm.conf"
    away.write_text(re.sub(r"(?m)^SlurmctldPort=.*$", "SlurmctldPort=9", text))
    record = make(away, "true")
    monkeypatch.setattr(retry, "PAUSES_S", ())
    with pytest.raises(SchedulerError) as caught:
        lifecycle.submit(record, Submission(), pytest.fail)
    assert "Unable to contact slurm controller" in str(caught.value)
    assert "scontrol ping" in caught.value.advice
    other = make(away, "true")
    other.submitted("1")
    asked = run("status", other.tag)
    assert (asked.returncode, asked.stdout) == (3, "")
    assert "Unable to contact slurm controller" in asked.stderr


def test_the_time_limit_is_said(overdue: tuple[str, Record], monkeypatch: pytest.MonkeyPatch) -> None:
    home, record = overdue
    monkeypatch.setenv("HPCLAUNCH_HOME", home)
    done = run("wait", str(record.state().job_id))
    assert done.returncode == 1
    assert "TIMEOUT: it reached its time limit" in done.stderr
