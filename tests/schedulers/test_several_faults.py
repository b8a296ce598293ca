"""A submission of several files that is killed, or whose disk fails, anywhere: nothing is there, or each job
runs once, after those that it waits for. Slurm is the stand-in of test_resume_faults.py."""

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml
from breaking import ERRORS, Command, is_on_records, leaves_something, sampled
from standin_slurm import StandIn
from stepping import Steps

from hpclaunch.records.lookup import all_records
from hpclaunch.records.record import Record
from hpclaunch.schedulers.resume import is_open

KILLS, FAILURES, DOUBLES = 50, 30, 12
# The last one waits for two of the others; of the files in `depends_on` one is given and one is found.
JOBS = {"a": {}, "b": {}, "c": {}, "d": {"depends_on": ["b.yaml", {"job": "c.yaml", "when": "afterany"}]}}
GIVEN = ("d", "a", "b")


class Trial:
    """One submission of several files, with a home and a cluster of its own."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self.home = folder / "home"
        self.cluster = StandIn(folder / "cluster")
        self.environ = {**self.cluster.environ, "HPCLAUNCH_HOME": str(self.home), "TOKEN": "hidden-value"}
        for name, keys in JOBS.items():
            job = {"version": 1, "name": name, "command": ["true"], "secrets": ["TOKEN"], **keys}
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(job))
        files = [folder / f"{name}.yaml" for name in GIVEN]
        self.submit = Command(["submit", *files, "--site", "superpod-a100"], folder, self.environ, True)
        self.resume = Command(["submit", "--resume"], folder, self.environ)

    def records(self, monkeypatch: pytest.MonkeyPatch) -> list[Record]:
        monkeypatch.setenv("HPCLAUNCH_HOME", str(self.home))
        records, problems = all_records()
        assert not problems
        return records

    def settle(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Resumes until everything is known: a command that outlived its hpclaunch may still send."""
        said = ""
        for _ in range(50):
            if not any(is_open(record) for record in self.records(monkeypatch)):
                return
            status, _, said = self.resume.done()
            assert "Traceback" not in said, said
            assert status in (0, 3), said
        raise AssertionError(said)

    def check(self, monkeypatch: pytest.MonkeyPatch) -> str:
        """Holds the records against what ran; says what it came to."""
        records = self.records(monkeypatch)
        jobs = self.cluster.jobs()
        ran = self.cluster.run_all()
        assert not list(self.home.glob("jobs/*/.set-*"))
        if not records:
            assert (jobs, ran) == ({}, [])
            return "nothing"
        ids = {record.intent.name: record.state().job_id for record in records}
        assert len(records) == len(JOBS) == len(ids)
        if None in ids.values():  # the disk failed, and it said that these are not submitted
            there = {name: job_id for name, job_id in ids.items() if job_id}
            assert sorted(ran) == sorted(int(job_id) for job_id in there.values())
            for record in records:
                known = record.state().status
                assert record.state().job_id or (known and known.state == "FAILED")
            return "some"
        assert sorted(ran) == sorted(jobs) == sorted(int(str(job_id)) for job_id in ids.values())
        (waits,) = [word for word in jobs[int(str(ids["d"]))] if word.startswith("--dependency=")]
        assert sorted(waits.removeprefix("--dependency=").split(",")) == [
            f"afterany:{ids['c']}",
            f"afterok:{ids['b']}",
        ]
        assert not any((self.home / "secrets").iterdir())
        return "all"


@pytest.fixture
def trials(tmp_path: Path) -> Iterator[Trial]:
    """One trial after the other."""
    return (Trial(tmp_path / str(number)) for number in range(10**6))


@pytest.fixture
def whole(trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of the calls that leave something, of a trial that nothing broke."""
    trial = next(trials)
    steps = trial.submit.broken(counts=leaves_something)
    assert steps.status == 0, trial.submit.read("err")
    assert len(trial.submit.read("out").split()) == len(GIVEN)
    assert trial.check(monkeypatch) == "all"
    return len(steps.calls)


def test_a_kill_at_any_call_leaves_every_job_once_or_none(
    whole: int, trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    for number in sampled(whole, KILLS):
        trial = next(trials)
        trial.submit.broken(kill_at=number, counts=leaves_something)
        trial.settle(monkeypatch)
        try:
            seen.add(trial.check(monkeypatch))
        except AssertionError as error:
            raise AssertionError(f"killed at call {number} of {whole}: {error}") from error
    assert seen == {"nothing", "all"}


def test_a_second_kill_while_it_is_resumed_changes_nothing(
    whole: int, trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    for index, first in enumerate(sampled(whole, DOUBLES)):
        trial = next(trials)
        trial.submit.broken(kill_at=first, counts=leaves_something)
        trial.resume.broken(kill_at=index * 37 % 80, counts=leaves_something)
        trial.settle(monkeypatch)
        try:
            assert trial.check(monkeypatch) in ("nothing", "all")
        except AssertionError as error:
            raise AssertionError(f"killed at call {first}: {error}") from error


def test_a_disk_that_fails_at_any_call_sends_none_twice_and_says_what_is_not_sent(
    trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(trial: Trial, number: int | None, error: int = 0) -> Steps:
        counts = partial(is_on_records, home=trial.home)  # the threads' other calls come in any order
        return trial.submit.broken(fail_at=number, error=error, counts=counts)

    count = len(broken(next(trials), None).calls)
    for index in sampled(count, FAILURES):
        error = ERRORS[index % 3]  # they differ in what is advised alone
        trial = next(trials)
        steps = broken(trial, index, error)
        if index >= len(steps.calls):
            continue  # it came to fewer calls this time
        out, said = trial.submit.read("out"), trial.submit.read("err")
        where = f"{os.strerror(error)} at call {index}, {steps.calls[index]}: {said}"
        assert "Traceback" not in said, where
        assert steps.status == 0 or said, where
        trial.settle(monkeypatch)
        try:
            found = trial.check(monkeypatch)
        except AssertionError as trouble:
            raise AssertionError(f"{where}: {trouble}") from trouble
        if steps.status == 0:
            assert (found, len(out.split())) == ("all", len(GIVEN)), where


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_what_it_had_not_come_to_is_named_and_sent_in_order(
    trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch, when: str, number: int
) -> None:
    """Killed by its own sbatch, before or after that took the job: others of it go on at that moment."""
    trial = next(trials)
    trial.cluster.kills_its_parent(when, number)
    assert trial.submit.done()[0] != 0
    open_ones = [record.tag for record in trial.records(monkeypatch) if is_open(record)]
    assert open_ones
    listed = Command(["list"], trial.submit.folder, trial.environ).done()[1]
    named = re.findall(r"UNKNOWN .*submit --resume (\S+?)`", listed)
    assert set(named) <= set(open_ones)
    assert len(trial.records(monkeypatch)) == len(JOBS)
    trial.settle(monkeypatch)
    assert trial.check(monkeypatch) == "all"


def test_those_that_were_not_begun_stay_certain(
    trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also long after Slurm forgets jobs that were cancelled before they began, whoever looked for them or
    came too early."""
    trial = next(trials)
    gate = trial.cluster.folder / "gate"
    gate.touch()
    trial.cluster.kills_its_parent("before", 1)
    trial.submit.done()
    (waits,) = [record for record in trial.records(monkeypatch) if record.intent.name == "d"]
    os.utime(waits.folder / "intent.json", (0, 0))
    look = Command(["submit", "--resume", "--dry-run"], trial.submit.folder, trial.environ)
    for _ in range(2):
        assert f"{waits.tag}): it is not there" in look.done()[2]
    alone = Command(["submit", "--resume", waits.tag], trial.submit.folder, trial.environ)
    status, out, said = alone.done()
    assert (status, out) == (3, "")
    assert "it waits for" in said
    gate.unlink()
    trial.settle(monkeypatch)
    assert trial.check(monkeypatch) == "all"
