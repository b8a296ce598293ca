"""Submissions to a real Slurm that are killed at system calls, or whose controller is frozen meanwhile: what
Slurm says ran is one job for each, and its ranks ran once."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from breaking import Command, sampled
from killing import Slurmctld
from realslurm import Slurm
from trials import Trials

from hpclaunch.records.lookup import all_records

KILLS, SETS = 24, 8


def test_a_kill_at_any_call_leaves_one_run_or_no_intent(trials: Trials) -> None:
    whole = trials.submit.broken()
    assert whole.status == 0, trials.submit.read("err")
    chosen = sampled(len(whole.calls), KILLS)
    for number in chosen:
        trials.submit.broken(kill_at=number)
        trials.forget_abandoned()
    said = trials.settle()
    assert "is sent now" in said
    trials.check(len(chosen) // 2, len(chosen) + 1)


def test_a_kill_among_several_files_leaves_every_job_once_or_none(trials: Trials) -> None:
    """One of them waits for another, which is found in its `depends_on`."""
    trials.write("first")
    last = trials.write("last", depends_on=["first.yaml"])
    words = ["submit", last, trials.job, "--site", trials.slurm.site]
    submit = Command(words, trials.folder, trials.environ, threads=True)
    whole = submit.broken()
    assert whole.status == 0, submit.read("err")
    chosen = sampled(len(whole.calls), SETS)
    for number in chosen:
        submit.broken(kill_at=number)
        trials.forget_abandoned()
    trials.settle()
    records = Counter(record.intent.name for record in all_records()[0])
    assert records["first"] == records["last"] == records["once"] > 1
    trials.check(2 * 3, (len(chosen) + 1) * 3)


@pytest.fixture
def controller(broken: Slurm) -> Iterator[Slurmctld]:
    """Which goes on afterwards."""
    made = Slurmctld(broken)
    yield made
    made.signal(signal.SIGCONT)


def test_a_controller_that_is_frozen_in_mid_submission(trials: Trials, controller: Slurmctld) -> None:
    trials.submit.done()
    before = {record.tag for record in all_records()[0]}
    controller.signal(signal.SIGSTOP)
    both = [trials.begin("submit", trials.job, "--site", trials.slurm.site) for _ in range(2)]
    end = time.monotonic() + 60
    while not all_sent(trials, before, 2):
        assert time.monotonic() < end
        time.sleep(0.1)
    both[1].kill()  # its sbatch goes on
    asked = trials.begin("submit", "--resume")
    assert asked.communicate(timeout=60)[1].count("another process is sending it at this moment") == 2
    assert asked.returncode == 3
    controller.signal(signal.SIGCONT)
    assert both[0].communicate(timeout=150)[0].strip().isdigit()
    both[1].communicate()
    trials.settle()
    trials.check(3, 3)


def all_sent(trials: Trials, before: set[str], count: int) -> bool:
    """Whether so many sbatch of new records run."""
    tags = {record.tag for record in all_records()[0]} - before
    running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return len(tags) == count and all(
        any(argv.startswith(b"sbatch") and tag.encode() in argv for argv in running) for tag in tags
    )
