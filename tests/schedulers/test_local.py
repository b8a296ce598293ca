"""Local jobs, as real processes of this machine."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from waiting import until

from hpclaunch.records import secrets
from hpclaunch.records.lookup import find
from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle, processes
from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.local import Local, start
from hpclaunch.schedulers.supervisor import Order, read_running
from hpclaunch.values.errors import HpclaunchError, SchedulerError
from hpclaunch.values.job import JobStatus, Submission

Start = Callable[..., Record]


def ended(record: Record) -> JobStatus:
    return lifecycle.wait(record, pytest.fail, lambda _: time.sleep(0.02))


def pids(record: Record, count: int) -> list[int]:
    """The process numbers that the script writes to its output, once there are `count`."""
    until(lambda: record.log.exists() and len(record.log.read_text().split()) >= count)
    return [int(word) for word in record.log.read_text().split()]


def gone(numbers: list[int]) -> bool:
    return not any(processes.read_stat(number) for number in numbers)


@pytest.mark.parametrize(
    ("script", "state", "status"),
    [
        ("true", "COMPLETED", 0),
        ("exit 7", "FAILED", 7),
        ("kill -9 $$", "FAILED", 137),
        ("kill -TERM $$", "FAILED", 143),
    ],
)
def test_the_script_s_own_status_is_the_job_s(local: Start, script: str, state: str, status: int) -> None:
    result = ended(local(script))
    assert (result.state, result.exit_status) == (state, status)
    assert result.started <= result.ended  # type: ignore[operator]


def test_the_script_gets_a_closed_environment_its_folder_and_its_secrets(
    local: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SBATCH_TIMELIMIT", "SLURM_CPU_BIND", "PYXIS_X", "STRAY", "LC_ALL"):
        monkeypatch.setenv(name, "5")
    hostile = "a b\n$HOME `id` 'q' \"d\" grün"
    record = local(
        'env -0; printf "pwd=%s\\0secret=%s\\0" "$PWD" "$(tr \'\\0\' @ < "$2")"; rm "$2"',
        environment={"PROXY": hostile},
        secrets={"TOKEN": "geheim $x"},
    )
    assert ended(record).state == "COMPLETED"
    pairs = dict(part.split("=", 1) for part in record.log.read_text().split("\0")[:-1])
    assert pairs["PROXY"] == hostile
    assert pairs["pwd"] == str(record.work)
    assert pairs["secret"] == "TOKEN=geheim $x@"
    assert set(pairs) - {"pwd", "secret", "SHLVL", "_", "PWD"} <= {
        "PATH", "HOME", "USER", "LOGNAME", "LANG", "PROXY",
    }  # fmt: skip
    written = b"".join(path.read_bytes() for path in record.folder.glob("*.json"))
    assert b"geheim" not in written


def test_cancel_ends_every_process_also_one_with_a_session_of_its_own(local: Start) -> None:
    record = local("sleep 600 & echo $!; setsid sleep 601 & echo $!; (sleep 602 & echo $!); echo $$; wait")
    numbers = pids(record, 4)
    lifecycle.cancel(record, pytest.fail)
    assert ended(record).state == "CANCELLED"
    assert gone(numbers)


def test_ranks_hear_sigterm_before_they_are_killed(local: Start) -> None:
    record = local("trap 'echo caught; exit 3' TERM; echo $$; while :; do sleep 0.1; done")
    pids(record, 1)
    lifecycle.cancel(record, pytest.fail)
    assert ended(record).state == "CANCELLED"
    assert "caught" in record.log.read_text().split()


def test_a_script_that_ignores_sigterm_is_killed(local: Start) -> None:
    record = local("trap '' TERM; echo $$; while :; do sleep 0.1; done")
    numbers = pids(record, 1)
    lifecycle.cancel(record, pytest.fail)
    assert ended(record).state == "CANCELLED"
    assert gone(numbers)


SIGNALS = "grep -E '^Sig(Blk|Ign)' /proc/self/status"


def test_what_the_submitting_process_ignores_or_blocks_reaches_no_job(local: Start) -> None:
    numbers = {signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGCHLD}
    child = os.fork()
    if child == 0:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
        local(SIGNALS)
        os._exit(0)
    os.waitpid(child, 0)
    record = find("1")
    assert ended(record).state == "COMPLETED"
    # Signals 32 and 33 are the C library's own: who started the tests may ignore them, and no program can
    # change that (signal(7)).
    others = ~(1 << 31 | 1 << 32)
    masks = [int(line.split()[1], 16) for line in record.log.read_text().splitlines()]
    assert [mask & others for mask in masks] == [0, 0]


def test_what_a_script_leaves_in_the_background_ends_with_it(local: Start) -> None:
    record = local("sleep 600 & echo $!; exit 5")
    assert ended(record).exit_status == 5
    assert gone(pids(record, 1))


def test_a_killed_supervisor_leaves_a_failed_job_and_no_processes(local: Start) -> None:
    record = local(
        "sleep 600 & echo $!; setsid sleep 601 & echo $!; (setsid sh -c 'echo $$; exec sleep 602' &)\n"
        "echo $$; wait"
    )
    numbers = pids(record, 4)
    running = read_running(record.folder)
    assert running
    os.kill(running.supervisor.pid, signal.SIGKILL)
    status = ended(record)
    assert status.state == "FAILED"
    assert "supervisor" in status.reason
    until(lambda: gone(numbers))
    lifecycle.cancel(record, pytest.fail)


def test_an_end_that_is_noted_while_the_job_is_asked_about_stays(
    local: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = local("mkfifo go; read _ < go; exit 7")
    until((record.work / "go").exists)
    seen = lifecycle.ask([record], pytest.fail)

    class Slow(Local):
        """Answers, as it may, with what it read before the supervisor's last note."""

        def status(self, records: Sequence[Record]) -> dict[str, JobStatus]:
            (record.work / "go").write_text("go\n")
            until(lambda: (known := record.state().status) and known.has_ended)
            return seen

    monkeypatch.setattr(lifecycle, "scheduler_of", lambda _: Slow())
    monkeypatch.setattr(time, "time", lambda: 1e12)  # the supervisor's note has an earlier time
    lifecycle.ask([record], pytest.fail)
    monkeypatch.undo()
    assert ended(record).exit_status == 7


def test_a_job_runs_on_when_the_submitting_process_and_its_session_are_gone(local: Start, home: Path) -> None:
    child = os.fork()
    if child == 0:
        os.setsid()
        local("sleep 0.5; echo done")
        os.killpg(0, signal.SIGKILL)
    os.waitpid(child, 0)
    record = find("1")
    assert ended(record).state == "COMPLETED"
    assert record.log.read_text() == "done\n"


def test_a_process_number_that_was_given_to_another_process_is_not_signalled() -> None:
    me = processes.identify(os.getpid())
    assert processes.is_running(me)
    other = processes.ProcessId(me.pid, me.started - 1, me.boot, me.host)
    assert not processes.is_running(other)
    assert not processes.send(other, signal.SIGKILL)


def test_what_no_signal_ends_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another user's process, or one that waits for a file system which does not answer."""

    def refused(pid: int, number: int) -> None:
        raise PermissionError(pid, number)

    with subprocess.Popen(["sleep", "600"]) as process:
        with monkeypatch.context() as stuck:
            stuck.setattr(os, "kill", refused)
            assert process.pid in processes.end_all(os.getpid(), 0.1, 0.1)
        process.kill()


def test_the_time_limit_ends_a_job(record: Start) -> None:
    made = record("echo $$; sleep 600")
    start(Order(str(made.folder), "1", {"PATH": b"/usr/bin:/bin"}, (), limit_s=0.5))
    made.submitted("1")
    numbers = pids(made, 1)
    assert (ended(made).state, ended(made).exit_status) == ("TIMEOUT", 1)
    assert gone(numbers)


def test_a_job_of_another_machine_is_not_judged_from_here(local: Start) -> None:
    record = local("sleep 600")
    path = record.folder / "local.json"
    real = path.read_bytes()
    path.write_bytes(real.replace(os.uname().nodename.encode(), b"elsewhere"))
    assert lifecycle.ask([record], pytest.fail)[record.tag].state == "UNKNOWN"
    with pytest.raises(SchedulerError, match="elsewhere"):
        lifecycle.cancel(record, pytest.fail)
    path.write_bytes(real)


def test_a_submission_that_crashed_before_it_noted_the_id_is_found_again(local: Start) -> None:
    record = local("sleep 600")
    (record.folder / "state.json").unlink()
    status = lifecycle.ask([record], pytest.fail)[record.tag]
    assert record.state().job_id == "1"
    assert status.state in ("PENDING", "RUNNING")


def test_a_record_that_was_never_sent_says_so(record: Start) -> None:
    made = record("true")
    status = lifecycle.ask([made], pytest.fail)[made.tag]
    assert status.state == "UNKNOWN"
    assert f"`hpclaunch submit --resume {made.tag}`" in status.reason
    with pytest.raises(SchedulerError, match="nothing to cancel"):
        lifecycle.cancel(made, pytest.fail)


def test_secrets_are_gone_when_a_job_is_cancelled(local: Start) -> None:
    record = local("echo $$; exec sleep 600", secrets={"TOKEN": "x"})
    pids(record, 1)
    lifecycle.cancel(record, pytest.fail)
    assert not secrets.path_of(record).exists()
    assert ended(record).state == "CANCELLED"


def test_secrets_that_the_job_did_not_read_are_gone_when_it_has_ended(local: Start) -> None:
    record = local("true", secrets={"TOKEN": "x"})
    ended(record)
    assert not secrets.path_of(record).exists()


@pytest.mark.parametrize("blocked", ["jobs/here/ids", "secrets"])
def test_a_disk_that_refuses_is_said_in_a_line_and_no_secret_stays(
    record: Start, home: Path, blocked: str
) -> None:
    made = record("true")
    (home / blocked).write_text("a file where a folder belongs")
    with pytest.raises(HpclaunchError, match=r"cannot be written: .*\n.*HPCLAUNCH_HOME") as caught:
        lifecycle.submit(made, Submission(secrets={"TOKEN": "x"}), pytest.fail)
    assert not isinstance(caught.value, SchedulerError)
    assert (home / "secrets").is_file() or not (home / "secrets").exists()
    kept = made.state().status
    assert kept
    assert kept.state == "FAILED"


def test_a_supervisor_that_cannot_be_started_leaves_no_secret(
    record: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = record("true")
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    with pytest.raises(Refused, match="nonexistent"):
        lifecycle.submit(made, Submission(secrets={"TOKEN": "x"}), pytest.fail)
    assert not secrets.path_of(made).exists()


def test_values_that_are_not_utf_8_arrive_as_they_are(local: Start) -> None:
    odd = os.fsdecode(b"\xff\xfe=\x80")
    record = local('printf "%s " "$PROXY"; cat "$2"; rm "$2"', environment={"PROXY": odd}, secrets={"S": odd})
    assert ended(record).state == "COMPLETED"
    assert record.log.read_bytes() == b"\xff\xfe=\x80 S=\xff\xfe=\x80\0"
