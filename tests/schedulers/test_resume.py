"""Open submissions: found, sent again, or left alone. Slurm's commands are replaced by such as fail."""

import os
import time
from collections.abc import Callable

import pytest
from apiserver import ApiServer
from replaced_slurm import BROKEN, Command, again, calls, row

from hpclaunch.records import sending
from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle, supervisor
from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.local import start
from hpclaunch.schedulers.resume import Outcome
from hpclaunch.schedulers.supervisor import Order
from hpclaunch.values.job import JobStatus, Submission

Make = Callable[..., Record]
AWAY = "echo 'sbatch: error: Unable to contact slurm controller (connect failure)' >&2; exit 1"
FIRST = '[ -e "$0.once" ] || {{ touch "$0.once"; {}; }}'


def test_a_controller_that_is_away_for_a_moment_is_tried_again(record: Make, replaced: Command) -> None:
    sbatch = replaced("sbatch", f"{FIRST.format(AWAY)}; echo 12")
    waited: list[float] = []
    said: list[str] = []
    assert lifecycle.submit(record("true", "slurm"), Submission(), said.append, waited.append) == "12"
    assert (waited, len(calls(sbatch))) == ([1.0], 2)
    assert "trying again in 1 s" in said[0]


def test_what_is_final_is_said_at_once(record: Make, replaced: Command) -> None:
    sbatch = replaced("sbatch", "echo 'sbatch: error: invalid partition specified: x' >&2; exit 1")
    with pytest.raises(Refused, match="invalid partition"):
        lifecycle.submit(record("true", "slurm"), Submission(), pytest.fail, pytest.fail)
    assert len(calls(sbatch)) == 1


def test_an_open_end_is_looked_for_twice_before_it_is_sent_again(record: Make, replaced: Command) -> None:
    made = record("true", "slurm")
    sbatch = replaced("sbatch", f"{FIRST.format(BROKEN)}; echo 12")
    squeue = replaced("squeue", "true")
    waited: list[float] = []
    assert lifecycle.submit(made, Submission(), lambda _: None, waited.append) == "12"
    assert len(calls(squeue)) == 2
    assert waited[0] == 10.0
    first, second = calls(sbatch)
    assert first == second
    assert made.tag in first


def test_nothing_is_sent_while_nobody_can_tell(record: Make, replaced: Command) -> None:
    made = record("true", "slurm")
    sbatch = replaced("sbatch", "echo 12")
    replaced("squeue", AWAY)
    assert again(made).found == "unknown"
    replaced("squeue", "true")
    with sending.first(made):
        held = again(made)
        assert (held.found, held.status) == ("unknown", 3)
        assert "another process" in held.why
        assert lifecycle.refresh([made], pytest.fail)[made.tag].reason == "it is being submitted"
    assert calls(sbatch) == []
    assert again(made, send=False).found == "absent"
    assert calls(sbatch) == []
    assert again(made) == Outcome(made, "sent", "12")


def test_a_job_that_ran_and_was_forgotten_is_not_sent_again(record: Make, replaced: Command) -> None:
    made = record("true", "slurm")
    sbatch = replaced("sbatch", "echo 13")
    replaced("squeue", "true")
    made.claim.symlink_to("12")
    assert again(made) == Outcome(made, "present", "12")
    assert (made.state().job_id, calls(sbatch)) == ("12", [])


def test_a_job_that_the_controller_lost_before_it_began_is_sent_again_by_name(
    record: Make, replaced: Command
) -> None:
    made = record("true", "slurm")
    made.submitted("12")
    replaced("sbatch", "echo 13")
    replaced("squeue", "echo '12|RUNNING|0|n1|N/A|N/A|N/A|None|hpclaunch:another|/w|'")
    replaced("sacct", "exit 1")
    status = lifecycle.ask([made], pytest.fail)[made.tag]
    assert f"`hpclaunch submit --resume {made.tag}`" in status.reason
    assert again(made) == Outcome(made, "sent", "13")
    made.claim.symlink_to("13")
    assert again(made) == Outcome(made, "present", "13")


def test_a_job_that_was_cancelled_before_it_began_and_then_forgotten_is_not_sent_again(
    record: Make, replaced: Command
) -> None:
    by_us, by_others = record("true", "slurm"), record("true", "slurm")
    by_us.submitted("12")
    by_others.submitted("13")
    sbatch = replaced("sbatch", "echo 14")
    replaced("squeue", "true")
    replaced("scancel", "true")
    replaced("sacct", row("13", "CANCELLED by 0", "", by_others.work))
    lifecycle.cancel(by_us, pytest.fail)
    seen = lifecycle.ask([by_us], pytest.fail)[by_us.tag]
    assert (seen.state, seen.reason) == ("CANCELLED", "by hpclaunch cancel")
    assert (again(by_us).found, again(by_us).job_id) == ("present", "12")
    assert again(by_others) == Outcome(by_others, "present", "13", "it has ended: CANCELLED")
    assert calls(sbatch) == []


def test_a_cancel_that_is_refused_leaves_no_mark(record: Make, replaced: Command) -> None:
    made = record("true", "slurm")
    made.submitted("12")
    replaced(
        "scancel", "echo 'scancel: error: Kill job error on job id 12: Access/permission denied' >&2; exit 1"
    )
    with pytest.raises(Refused):
        lifecycle.cancel(made, pytest.fail)
    assert not made.state().cancelled


def test_a_filesystem_without_locks_makes_nobody_sure_for_an_hour(
    record: Make, replaced: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = record("true", "slurm")
    replaced("sbatch", "echo 13")
    replaced("squeue", "true")

    def refuse(descriptor: int, kind: int) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    assert "has no locks" in again(made).why
    long_ago = time.time() - 2 * sending.FORGOTTEN_S
    os.utime(made.folder / "sending", (long_ago, long_ago))
    assert again(made).found == "sent"


def test_a_local_job_has_one_supervisor(record: Make) -> None:
    made = record("echo ran >>ran; sleep 600")
    assert again(made).found == "sent"
    with pytest.raises(Refused, match="FileExistsError"):
        start(Order(str(made.folder), "99", {"PATH": b"/usr/bin:/bin"}, (), None))
    running = supervisor.read_running(made.folder)
    assert running
    assert running.job_id == made.state().job_id
    lifecycle.cancel(made, pytest.fail)
    assert lifecycle.wait(made, pytest.fail).state == "CANCELLED"
    assert (made.work / "ran").read_text() == "ran\n"


def test_a_status_from_a_clock_that_was_ahead_does_not_stay(record: Make) -> None:
    made = record("true", "slurm")
    made.update(JobStatus("RUNNING"), checked=time.time() + 1e8)
    made.update(JobStatus("COMPLETED"))
    assert made.state().status == JobStatus("COMPLETED")


def test_on_kubernetes_the_name_and_the_tag_tell(server: ApiServer, on_kubernetes: Make) -> None:
    made = on_kubernetes()
    assert again(made, send=False).found == "absent"
    assert again(made) == Outcome(made, "sent", "train")
    (made.folder / "state.json").unlink()
    assert again(made) == Outcome(made, "present", "train")
    assert len(server.asked("POST", "mpijobs")) == 1
    other = on_kubernetes()
    refused = again(other)
    assert (refused.found, refused.status) == ("refused", 3)
