"""Submissions to a real Slurm that are killed at system calls, or whose controller is killed, started again
or frozen meanwhile: what Slurm says ran is one job for each, and its ranks ran once."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from breaking import Command, sampled
from realslurm import Slurm

from hpclaunch.records.lookup import all_records
from hpclaunch.sandbox.packages import find

KILLS, SETS = 24, 8


class Trials:
    """Submissions of one file, whose rank writes the number of its job."""

    def __init__(self, slurm: Slurm, folder: Path):
        self.slurm, self.folder, self.ran = slurm, folder, folder / "ran"
        self.home = folder / "home"
        self.environ = {"HPCLAUNCH_HOME": str(self.home), "SLURM_CONF": str(slurm.slurm_conf), "TOKEN": "x"}
        self.job = self.write("once")
        self.submit = Command(["submit", self.job, "--site", slurm.site], folder, self.environ)

    def write(self, name: str, **keys: object) -> Path:
        """The file of a job of that name with one rank."""
        path = self.folder / f"{name}.yaml"
        job = {"version": 1, "name": name, "nodes": 1, "ranks_per_node": 1, "time": 5, "secrets": ["TOKEN"]}
        path.write_text(yaml.safe_dump({**job, "command": f"echo $SLURM_JOB_ID >>{self.ran}", **keys}))
        return path

    def forget_abandoned(self) -> None:
        """Removes what a killed submission left of a record that it had not made, as a day later another one
        does: until then each looks at all of them, and has so many more calls."""
        for left in self.home.glob("jobs/*/.new-*"):
            shutil.rmtree(left)

    def begin(self, *words: str | Path) -> "subprocess.Popen[str]":
        """The command, as a process of its own."""
        argv = [sys.executable, "-m", "hpclaunch", *map(str, words)]
        env = {**os.environ, **self.environ}
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, env=env, stdout=pipe, stderr=pipe, text=True)

    def settle(self, *tags: str) -> str:
        """Resumes until everything is known; all that was said."""
        end = time.monotonic() + 150
        heard = ""
        while True:
            resumed = self.begin("submit", "--resume", *tags)
            said = resumed.communicate(timeout=150)[1]
            heard += said
            assert "Traceback" not in said
            if resumed.returncode == 0:
                return heard
            assert "nobody can tell" in said
            assert time.monotonic() < end, said
            time.sleep(0.5)

    def check(self, least: int, most: int, may_be_killed: bool = False) -> None:
        """One job of Slurm's for each record, and one run of its rank. `may_be_killed`: a controller that
        lost its state ends jobs that it does not know; such a one has begun, and is not sent again."""
        records, problems = all_records()
        assert not problems
        assert least <= len(records) <= most
        ids = [str(record.state().job_id) for record in records]
        for job_id in ids:
            assert self.slurm.wait(int(job_id)) == 0, job_id
        ran = Counter(self.ran.read_text().split())
        assert ran <= Counter(ids)
        listed = self.slurm.run("squeue", "--noheader", "--states=all", "--Format=JobID:0|,comment:0").stdout
        jobs = dict(line.split("|", 1) for line in listed.splitlines())
        for record in records:
            mine = [job_id for job_id, comment in jobs.items() if record.tag in comment]
            if may_be_killed and not mine:
                assert record.claimed_by() == record.state().job_id
            else:
                assert mine == [record.state().job_id]
                assert ran[mine[0]]


@pytest.fixture(scope="module")
def broken(start_slurm: Callable[..., Slurm]) -> Slurm:
    """Two nodes whose controller may be killed: no other test gets them."""
    return start_slurm("--nodes", "2", "--node-type", "dgx-a100", "--name", "broken")


@pytest.fixture
def trials(broken: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trials:
    made = Trials(broken, tmp_path)
    monkeypatch.setenv("HPCLAUNCH_HOME", str(made.home))
    return made


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


def process(slurm: Slurm, *words: str) -> int:
    """The number of the process of this sandbox with these words, as this machine counts."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            argv = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if all(any(word in argument for argument in argv) for word in words):
            return int(path.parent.name)
    raise AssertionError(f"no process {words} of {slurm.folder}")


@pytest.fixture
def frozen(broken: Slurm) -> Iterator[Callable[[int], None]]:
    """frozen(SIGSTOP) stops the controller, and SIGCONT lets it go on."""
    controller = process(broken, "slurmctld", str(broken.slurm_conf))
    yield lambda number: os.kill(controller, number)
    os.kill(controller, signal.SIGCONT)


def test_a_controller_that_is_frozen_in_mid_submission(trials: Trials, frozen: Callable[[int], None]) -> None:
    trials.submit.done()
    before = {record.tag for record in all_records()[0]}
    frozen(signal.SIGSTOP)
    both = [trials.begin("submit", trials.job, "--site", trials.slurm.site) for _ in range(2)]
    end = time.monotonic() + 60
    while not all_sent(trials, before, 2):
        assert time.monotonic() < end
        time.sleep(0.1)
    both[1].kill()  # its sbatch goes on
    asked = trials.begin("submit", "--resume")
    assert asked.communicate(timeout=60)[1].count("another process is sending it at this moment") == 2
    assert asked.returncode == 3
    frozen(signal.SIGCONT)
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


def test_a_controller_that_is_killed_and_started_again(trials: Trials) -> None:
    slurm = trials.slurm
    conf = str(slurm.slurm_conf)
    first = process(slurm, "hpclaunch.sandbox.supervisor", str(slurm.folder))
    controller = process(slurm, "slurmctld", conf)
    begun = [trials.begin("submit", trials.job, "--site", slurm.site) for _ in range(2)]
    trials.submit.done()
    os.kill(controller, signal.SIGKILL)  # what it took last is not in its state
    begun.append(trials.begin("submit", trials.job, "--site", slurm.site))
    time.sleep(2)
    # As a child of that process: it ends with the sandbox.
    inside = ("nsenter", f"--target={first}", f"--pid=/proc/{first}/ns/pid_for_children", "--mount", "--uts")
    subprocess.Popen([*inside, find("slurmctld"), "-f", conf]).wait(timeout=60)
    for each in begun:
        out, said = each.communicate(timeout=150)
        assert (each.returncode == 0) == out.strip().isdigit(), said
    # It may have lost jobs that it had just taken, and have given their ids again.
    trials.settle(*(record.tag for record in all_records()[0]))
    trials.check(4, 4, may_be_killed=True)
