"""A token for slurmrestd that ends while it is used: before a real slurmctld, which alone knows."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import waysto
from command import hpclaunch
from controller import Controller, controller
from killing import before_submissions
from waiting import until
from waysto import record_of

from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle, resume
from hpclaunch.schedulers.contract import Refused
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import Submission
from hpclaunch.values.slurmaccess import RestServer, SlurmAccess

LIFE_S = 6
HELD = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1", "--hold")


class Tokens:
    """A file with a token, and the way to a slurmrestd that takes it; `before` a submission something may
    happen."""

    def __init__(self, made: Controller, folder: Path):
        self.made, self.file = made, folder / "token"
        self.before: Callable[[], None] = lambda: None
        self.access = SlurmAccess("rest", RestServer(f"unix:{folder}/before", "v0.0.38", str(self.file)))

    def renew(self, life_s: int = 1800) -> str:
        """Writes a new one, and gives it."""
        line = self.made.run("scontrol", "token", f"lifespan={life_s}")
        new = self.file.with_suffix(".new")
        new.touch(0o600)
        new.write_text(line)
        new.replace(self.file)
        return line.strip().partition("=")[2]

    def outlive(self) -> None:
        """Returns when the token in the file has ended, as slurmctld has it."""
        env = {**self.made.env, "SLURM_JWT": self.file.read_text().strip().partition("=")[2]}
        until(lambda: subprocess.run(["squeue"], env=env, capture_output=True, check=False).returncode)

    def held(self) -> Record:
        """The record of a job that is held, not sent yet."""
        return record_of(None, HELD, "true\n", self.access)


@pytest.fixture
def tokens(slurm_possible: None, record_home: Path, tmp_path: Path) -> Iterator[Tokens]:
    key = tmp_path / "jwt.key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    conf = f"AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={key}\n"
    conf += "NodeName=n1 CPUs=2 RealMemory=1000\nPartitionName=batch Nodes=ALL Default=YES\n"
    socket = f"unix:{tmp_path}/restd"
    with controller(tmp_path / "slurm", {"slurm.conf": conf}) as made:
        slurm_conf = made.folder / "etc" / "slurm.conf"
        own = {"SLURM_JWT": "daemon"}
        found = Tokens(made, tmp_path)
        with (
            waysto.slurmrestd(tmp_path / "log", slurm_conf, socket, "rest_auth/jwt", own),
            before_submissions(tmp_path / "before", tmp_path / "restd", lambda: found.before()),
        ):
            yield found


def test_a_token_that_ends_in_mid_submission_and_while_it_is_waited(
    tokens: Tokens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Between the question whether Slurm is there and the submission.
    tokens.renew(LIFE_S)
    tokens.before = tokens.outlive
    record = tokens.held()
    with pytest.raises(SchedulerError) as caught:
        lifecycle.submit(record, Submission(), lambda _: None)
    assert not isinstance(caught.value, Refused)
    first, *more = str(caught.value).splitlines()
    assert first.startswith(f"the token in {tokens.file} ended at 20")
    assert [line.partition(":")[0] for line in more] == [
        "Write a new one there, which `scontrol token` makes",
        "The job may have arrived all the same",
    ]
    # With that token nobody can tell, with a new one anybody.
    tokens.before = lambda: None
    (outcome,) = resume.resume([record], lambda _: Submission(), lambda _: None, lambda _: None)
    assert (outcome.found, record.state().job_id) == ("unknown", None)
    assert outcome.why.startswith(f"the token in {tokens.file} ended at 20")
    tokens.renew()
    (outcome,) = resume.resume([record], lambda _: Submission(), lambda _: None, lambda _: None)
    assert outcome.found == "sent"
    jobs = tokens.made.run("squeue", "--noheader", "--states=all", "--format=%A").split()
    assert jobs == [record.state().job_id]

    # Who waits goes on as soon as there is a new one in the file.
    ended = tokens.renew(LIFE_S)
    said: list[str] = []
    renewed = False

    def pause(_: float) -> None:
        nonlocal renewed
        if said and not renewed:
            renewed = bool(tokens.renew())
            lifecycle.cancel(record, pytest.fail)
        time.sleep(0.1)

    status = lifecycle.wait(record, said.append, pause)
    assert (status.state, renewed, len(said)) == ("CANCELLED", True, 1)
    assert said[0].startswith(f"the token in {tokens.file} ended at 20")
    assert said[0].endswith("\nWaiting on.")

    # In the environment of a process there comes no other one: that is said at once.
    other = tokens.held()
    lifecycle.submit(other, Submission(), pytest.fail)
    env = {**os.environ, "SLURM_JWT": ended}
    for words in (["wait"], ["logs", "--follow"]):
        done = hpclaunch(*words, str(other.state().job_id), env=env)
        assert done.returncode == 125, done.stderr
        assert "the token in SLURM_JWT ended at 20" in done.stderr
        assert ended not in done.stderr
    monkeypatch.setenv("SLURM_JWT", ended)
    refused = tokens.held()
    with pytest.raises(Refused, match=r"^the token in SLURM_JWT ended at 20"):
        lifecycle.submit(refused, Submission(), pytest.fail)
