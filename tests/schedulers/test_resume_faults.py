"""A submission that is killed, or whose disk fails, at any system call from the opening of its intent to its
end: exactly one run comes of it, or it said that there is none. Slurm is a stand-in here, which takes jobs in
one step; tests/sandbox/test_exactly_once_faults.py does the same, at fewer calls, under a real one."""

import errno
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from breaking import ALL, ERRORS, Command, leaves_something, on_records, sampled
from standin_slurm import StandIn
from stepping import Call

from hpclaunch.records.lookup import all_records
from hpclaunch.records.record import Record
from hpclaunch.schedulers import retry
from hpclaunch.schedulers.resume import is_open

KILLS, FAILURES, DOUBLES = 200, 40, 20
TOKEN = "hidden-value"


class Trial:
    """One submission of its own, with a home and a cluster of its own."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self.home = folder / "home"
        self.cluster = StandIn(folder / "cluster")
        self.environ = {**self.cluster.environ, "HPCLAUNCH_HOME": str(self.home), "TOKEN": TOKEN}
        job = folder / "job.yaml"
        job.write_text(
            yaml.safe_dump({"version": 1, "name": "once", "command": ["true"], "secrets": ["TOKEN"]})
        )
        self.submit = Command(["submit", job, "--site", "superpod-a100"], folder, self.environ)
        self.resume = Command(["submit", "--resume"], folder, self.environ)

    def records(self, monkeypatch: pytest.MonkeyPatch) -> list[Record]:
        monkeypatch.setenv("HPCLAUNCH_HOME", str(self.home))
        records, problems = all_records()
        assert not problems
        return records

    def settle(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Resumes until everything is known: a command that outlived its hpclaunch may still send."""
        if not any(is_open(record) for record in self.records(monkeypatch)):
            return
        for _ in range(50):
            status, _, said = self.resume.done()
            assert "Traceback" not in said, said
            if "nobody can tell" not in said:
                assert status in (0, 3), said
                return
        raise AssertionError(said)

    def check(self, monkeypatch: pytest.MonkeyPatch) -> str:
        """Holds the records against what ran; says what it came to."""
        records = self.records(monkeypatch)
        ran = self.cluster.run_all()
        if not records:
            assert (self.cluster.jobs(), ran) == ({}, [])
            return "nothing"
        (record,) = records
        job_id = record.state().job_id
        if job_id is None:
            assert (self.cluster.jobs(), ran) == ({}, [])
            assert record.state().status is not None
            return "refused"
        assert ran == [int(job_id)]
        assert not any((self.home / "secrets").iterdir())
        return "one"


@pytest.fixture
def trials(tmp_path: Path) -> Iterator[Trial]:
    """One trial after the other."""

    def made() -> Iterator[Trial]:
        number = 0
        while True:
            number += 1
            yield Trial(tmp_path / str(number))

    return made()


@pytest.fixture
def whole(trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch) -> "tuple[Trial, list[int], int]":
    """A trial that nothing broke, its calls that reach the records, and the number of those that leave
    something."""
    trial = next(trials)
    steps = trial.submit.broken()
    assert steps.status == 0, trial.submit.read("err")
    assert trial.check(monkeypatch) == "one"
    return trial, on_records(steps, trial.home), sum(map(leaves_something, steps.calls))


def test_a_kill_at_any_call_leaves_one_run_or_no_intent(
    whole: "tuple[Trial, list[int], int]", trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    for number in sampled(whole[2], KILLS):
        trial = next(trials)
        trial.submit.broken(kill_at=number, counts=leaves_something)
        trial.settle(monkeypatch)
        try:
            seen.add(trial.check(monkeypatch))
        except AssertionError as error:
            raise AssertionError(f"killed at call {number} of {whole[2]}: {error}") from error
    assert seen == {"nothing", "one"}


def test_a_second_kill_while_it_is_resumed_changes_nothing(
    whole: "tuple[Trial, list[int], int]", trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = random.Random(6)
    for _ in range(whole[2] if ALL else DOUBLES):
        trial = next(trials)
        first, second = chosen.randrange(whole[2]), chosen.randrange(30)
        trial.submit.broken(kill_at=first, counts=leaves_something)
        trial.resume.broken(kill_at=second, counts=leaves_something)
        trial.settle(monkeypatch)
        try:
            trial.check(monkeypatch)
        except AssertionError as error:
            raise AssertionError(f"killed at calls {first} and {second}: {error}") from error


def test_a_disk_that_fails_at_any_call_leaves_one_run_or_says_that_there_is_none(
    whole: "tuple[Trial, list[int], int]", trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = whole[1]
    seen = set()
    for index in sampled(len(calls), FAILURES):
        for error in ERRORS if ALL else ERRORS[index % 3 :][:1]:
            trial = next(trials)
            steps = trial.submit.broken(fail_at=calls[index], error=error)
            if calls[index] >= len(steps.calls):
                continue  # it came to fewer calls this time
            out, said = trial.submit.read("out"), trial.submit.read("err")
            where = f"{os.strerror(error)} at call {calls[index]}, {steps.calls[calls[index]]}: {said}"
            assert "Traceback" not in said, where
            told = bool(out) or "the job is submitted" in said
            assert (steps.status == 0) == told, where
            assert steps.status == 0 or said, where
            trial.settle(monkeypatch)
            try:
                found = trial.check(monkeypatch)
            except AssertionError as broken:
                raise AssertionError(f"{where}: {broken}") from broken
            assert found == "one" or not told, where
            seen.add((told, found))
    assert {(True, "one"), (False, "nothing")} <= seen


def test_an_answer_of_sbatch_that_cannot_be_read_is_not_taken_for_a_refusal(
    trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_of_answer(call: Call) -> bool:
        return call.name == "read" and call.path.startswith("pipe:")

    calls = next(trials).submit.broken().calls
    failed = 0
    for number in (number for number, call in enumerate(calls) if is_of_answer(call)):
        trial = next(trials)
        calls = trial.submit.broken(fail_at=number, error=errno.EIO).calls
        if number >= len(calls) or not is_of_answer(calls[number]):
            continue  # it came to other calls this time
        failed += 1
        said = trial.submit.read("err")
        assert "Traceback" not in said
        trial.settle(monkeypatch)
        assert trial.check(monkeypatch) == "one", said
    assert failed


@pytest.mark.parametrize("when", ["before", "after"])
def test_sbatch_itself_is_killed(trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    trial = next(trials)
    marker = trial.cluster.folder / f"dies-{when}"
    marker.touch()
    if when == "before":  # and lives when it is tried again
        sbatch = trial.cluster.folder / "bin" / "sbatch"
        sbatch.write_text(sbatch.read_text().replace("|| kill", f"|| ! rm '{marker}' || kill"))
    status, out, said = trial.submit.done()
    assert (status, out) == (0, "1\n"), said
    assert trial.check(monkeypatch) == "one"


def test_two_submissions_of_a_file_are_two_jobs(
    trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = next(trials)
    with ThreadPoolExecutor() as pool:
        argv = [sys.executable, "-m", "hpclaunch", *map(str, trial.submit.words)]
        env = {**os.environ, **trial.environ}
        both = [
            pool.submit(subprocess.run, argv, env=env, capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
    ids = [each.result().stdout for each in both]
    assert sorted(ids) == ["1\n", "2\n"]
    assert sorted(trial.cluster.run_all()) == [1, 2]
    assert {record.state().job_id for record in trial.records(monkeypatch)} == {"1", "2"}


@pytest.mark.parametrize("years", [-40, 40])
def test_a_clock_that_jumps_changes_nothing(
    whole: "tuple[Trial, list[int], int]",
    trials: Iterator[Trial],
    monkeypatch: pytest.MonkeyPatch,
    years: int,
) -> None:
    real = time.time
    for number in sampled(whole[2], 4):
        trial = next(trials)
        trial.submit.broken(kill_at=number, counts=leaves_something)
        with monkeypatch.context() as patch:  # for the processes that are forked off
            patch.setattr(time, "time", lambda: real() + years * 31_557_600)
            trial.settle(monkeypatch)
        trial.check(monkeypatch)


def test_a_dry_run_sends_nothing_and_neither_does_a_shell_without_the_secret(
    trials: Iterator[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = next(trials)
    (trial.cluster.folder / "dies-before").touch()
    monkeypatch.setattr(retry, "PAUSES_S", ())
    assert trial.submit.done()[0] == 3
    (record,) = trial.records(monkeypatch)
    (record.folder / "state.json").unlink()  # as if hpclaunch too had been killed there
    (trial.cluster.folder / "dies-before").unlink()

    def resumed(environ: dict[str, str], *words: str) -> tuple[int, str, str]:
        return Command(["submit", "--resume", *words], trial.submit.folder, environ).done()

    status, out, said = resumed(trial.environ, "--dry-run")
    assert (status, out) == (0, "")
    assert "it is not there" in said
    bare = {name: value for name, value in trial.environ.items() if name != "TOKEN"}
    status, out, said = resumed(bare, record.tag)
    assert (status, out) == (2, "")
    assert "TOKEN is not set in this shell" in said
    assert trial.cluster.jobs() == {}
    status, out, said = resumed(trial.environ, record.tag)
    assert (status, out) == (0, "1\n"), said
    assert trial.check(monkeypatch) == "one"
