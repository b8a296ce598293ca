"""Submissions of which Slurm's controller knows nothing, when it may have forgotten them."""

import os
import time
from collections.abc import Callable

import pytest
from click.testing import CliRunner
from replaced_slurm import BROKEN, Command, again, calls, row

from hpclaunch.cli.main import hpclaunch
from hpclaunch.records.record import Record
from hpclaunch.schedulers import forgotten, lifecycle
from hpclaunch.schedulers.resume import Outcome
from hpclaunch.values.job import Submission

Make = Callable[..., Record]
RERUN = "If it is still wanted: hpclaunch rerun "


def grow_old(record: Record, by_s: float) -> None:
    then = time.time() - by_s
    os.utime(record.folder / "intent.json", (then, then))


def test_what_the_controller_may_have_forgotten_is_not_sent_again_where_no_accounts_tell(
    record: Make, replaced: Command
) -> None:
    never_seen, with_id = record("true", "slurm"), record("true", "slurm")
    with_id.submitted("12")
    sbatch = replaced("sbatch", "echo 14")
    replaced("squeue", "true")
    replaced("scontrol", "echo 'MinJobAge               = 7200 sec'")
    for made in (never_seen, with_id):
        grow_old(made, 7100)
        assert again(made, send=False).found == "absent"
        grow_old(made, 7300)
        found = again(made)
        assert (found.found, found.status) == ("unknown", 3)
        assert f"after 7200 s, and the cluster keeps no accounts that could be asked. {RERUN}" in found.why
        assert found.why.endswith(made.tag)
        grow_old(made, -100)  # the filesystem's clock has jumped
        assert again(made).found == "unknown"
    assert calls(sbatch) == []
    replaced("scontrol", "echo 'MinJobAge               = 0 sec'")  # it forgets nothing
    assert again(never_seen).found == "sent"


def test_without_scontrol_the_controller_forgets_as_slurm_does_by_default(
    record: Make, replaced: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = record("true", "slurm")
    monkeypatch.setenv("PATH", str(replaced("squeue", "true").parent))
    grow_old(made, 290)
    assert again(made, send=False).found == "absent"
    replaced("scontrol", "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1")
    assert again(made).found == "unknown"  # it may be set to less
    replaced("scontrol", "echo 'no configuration' >&2; exit 1")
    grow_old(made, 310)
    assert again(made).found == "unknown"


def test_accounts_tell_what_became_of_a_job_without_an_id_that_was_cancelled_and_forgotten(
    record: Make, replaced: Command
) -> None:
    by_folder, by_comment = record("true", "slurm"), record("true", "slurm")
    sbatch = replaced("sbatch", "echo 15")
    replaced("squeue", "true")
    replaced("scontrol", "echo 'MinJobAge               = 300 sec'")
    marks = [(by_folder, "", by_folder.work), (by_comment, f"hpclaunch:{by_comment.tag}", "/w")]
    for number, (made, *each) in enumerate(marks, 12):
        grow_old(made, 1000)
        sacct = replaced("sacct", row(str(number), "CANCELLED by 0", *each))
        assert again(made) == Outcome(made, "present", str(number), "it has ended: CANCELLED")
        state = made.state()
        assert (state.job_id, state.status and state.status.state) == (str(number), "CANCELLED")
    assert calls(sbatch) == []
    words = calls(sacct)[0].split()
    since = next(word for word in words if word.startswith("--starttime="))
    assert since < f"--starttime={by_folder.intent.created}"
    assert f"--user={os.getuid()}" in words


def test_what_the_accounts_do_not_know_or_have_as_going_on_is_not_there(
    record: Make, replaced: Command
) -> None:
    unknown, lost, ancient = (record("true", "slurm") for _ in range(3))
    replaced("sbatch", "echo 15")
    replaced("squeue", "true")
    going_on = f'case "$*" in *--state=CA,*) ;; *) {row("12", "PENDING", "", lost.work)} ;; esac'
    for made, sacct in ((unknown, "true"), (lost, going_on)):
        grow_old(made, 1000)
        replaced("sacct", sacct)
        assert again(made) == Outcome(made, "sent", "15")
    grow_old(ancient, 2 * forgotten.ACCOUNTS_KEEP_S)
    assert again(ancient).found == "unknown"


def test_the_accounts_find_a_job_while_it_is_delivered(record: Make, replaced: Command) -> None:
    made = record("true", "slurm")
    sbatch = replaced("sbatch", BROKEN)
    replaced("squeue", "true")
    replaced("sacct", row("12", "CANCELLED by 0", "", made.work))
    assert lifecycle.submit(made, Submission(), lambda _: None, lambda _: None) == "12"
    assert len(calls(sbatch)) == 1


def test_a_job_whose_number_another_one_has_by_now_is_not_cancelled(record: Make, replaced: Command) -> None:
    """As a controller that lost its state gives it again."""
    mine, other = record("true", "slurm"), record("true", "slurm")
    scancel = replaced("scancel", "true")
    for made in (mine, other):
        made.submitted("12")
    fields = "None|2026-01-01T00:00:00|2026-01-01T00:00:00|N/A|None"
    replaced("squeue", f"echo '12|RUNNING|0|{fields}|hpclaunch:{other.tag}|{other.work}'")
    said: list[str] = []
    runner = CliRunner()
    for made in (mine, other):
        done = runner.invoke(hpclaunch, ["cancel", made.tag])
        said.append(str(done.exception or ""))
    assert said[0].startswith("nothing is cancelled: the scheduler no longer knows it")
    assert said[1] == ""
    assert calls(scancel) == ["12"]
    assert (mine.state().cancelled, other.state().cancelled) == (False, True)


def test_a_record_from_a_time_that_is_still_to_come_is_looked_for_in_all_that_the_accounts_keep(
    record: Make, replaced: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machine's clock was ahead by ten days, and was put right after another five."""
    ahead = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 10 * 86_400))
    monkeypatch.setattr("hpclaunch.records.record.now", lambda *_: ahead)
    cancelled, never_seen = record("true", "slurm"), record("true", "slurm")
    monkeypatch.undo()
    monkeypatch.setenv("HPCLAUNCH_HOME", str(cancelled.folder.parents[2]))
    sbatch = replaced("sbatch", "echo 15")
    replaced("squeue", "true")
    replaced("scontrol", "echo 'MinJobAge               = 300 sec'")
    monkeypatch.setenv("PATH", f"{sbatch.parent}:/usr/bin:/bin")
    then = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - 5 * 86_400))
    asked = 'for word; do case $word in --starttime=*) since=${word#*=} ;; esac; done; expr "$since" "<" '
    replaced("sacct", f"{asked} {then} >/dev/null || exit 0; {row('12', 'CANCELLED', '', cancelled.work)}")
    for made in (cancelled, never_seen):
        grow_old(made, -10 * 86_400)
    assert again(cancelled) == Outcome(cancelled, "present", "12", "it has ended: CANCELLED")
    assert again(never_seen).found == "unknown"
    assert calls(sbatch) == []
