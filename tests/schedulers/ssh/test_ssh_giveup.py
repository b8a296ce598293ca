"""`hpclaunch forget` over SSH: the claim that counts is on the cluster."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from hpclaunch.records import secrets
from hpclaunch.records.record import Record
from hpclaunch.schedulers import giveup
from hpclaunch.schedulers.ssh import connection as connections
from hpclaunch.schedulers.ssh import twin
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import Submission
from hpclaunch.values.login import Login
from hpclaunch.values.slurmaccess import SlurmAccess

CLAIM = Path(__file__).parents[3] / "templates" / "claim.sh.j2"


@pytest.fixture
def login(login: Login) -> Iterator[Login]:
    yield login
    connections.close()


@pytest.fixture
def record(login: Login, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """A submission behind the login node, which has its folder and no Slurm."""
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    return _made(login)


def _made(login: Login) -> Record:
    return Record.create(
        site="far",
        scheduler="slurm",
        slurm=SlurmAccess(login=login),
        name="a job",
        script="#!/bin/bash\n",
        plan=b"{}",
        job_yaml="",
        site_yaml="",
        directory="/",
        argv=(),
        scheduler_version="",
    )


def starts(seen: Record) -> bool:
    """Whether a job of the record as Slurm sees it starts ranks."""
    words = ["bash", "-c", f"{CLAIM.read_text()}echo ranks", "script", str(seen.claim)]
    done = subprocess.run(words, env={"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": "7"}, stdout=subprocess.PIPE)
    assert done.returncode == 0
    return done.stdout == b"ranks\n"


def test_a_job_that_is_there_after_all_starts_no_rank(record: Record, login: Login) -> None:
    seen = twin.prepare(record, login, Submission())
    said = giveup.give_up(record, True, lambda _: None)
    assert said.endswith("that starts no rank")
    state = record.state().status
    assert state
    assert state.state == "CANCELLED"
    assert not starts(seen)
    assert twin.give_up(record, login)  # as where the command was killed, and comes again
    assert twin.bring_marks([record], login)[record.tag].claim == ""


def test_of_a_job_that_began_nothing_is_promised(record: Record, login: Login) -> None:
    seen = twin.prepare(record, login, Submission())
    assert starts(seen)
    assert "how it ended, if it began, is not known" in giveup.give_up(record, True, lambda _: None)
    state = record.state().status
    assert state
    assert state.state == "UNKNOWN"
    assert twin.bring_marks([record], login)[record.tag].claim == "7"


def test_nothing_is_promised_where_the_node_cannot_be_reached(record: Record, login: Login) -> None:
    seen = twin.prepare(record, login, Submission())
    connections.close()
    away = _made(structs.replace(login, host="nowhere.invalid"))
    with pytest.raises(SchedulerError, match="forget --unasked"):
        giveup.give_up(away, False, lambda _: None)
    said = giveup.give_up(away, True, lambda _: None)
    assert "is not known. A job of it that is there may run on, or begin" in said
    assert starts(seen)


def test_what_was_given_up_unasked_can_be_given_up_once_more(
    record: Record, login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it says itself: then its job starts no rank."""
    seen = twin.prepare(record, login, Submission())
    with monkeypatch.context() as away:
        away.setattr(
            twin,
            "connection",
            lambda _: connections.connection(structs.replace(login, host="nowhere.invalid")),
        )
        assert f"`hpclaunch forget {record.tag}` again" in giveup.give_up(record, True, lambda _: None)
    known = record.state().status
    assert known
    assert known.state == "UNKNOWN"
    assert giveup.give_up(record, True, lambda _: None).endswith("that starts no rank")
    assert not starts(seen)


def test_its_secrets_go_unless_it_began(record: Record, login: Login) -> None:
    seen = twin.prepare(record, login, Submission(secrets={"TOKEN": "s3cret"}))
    file = secrets.path_of(seen)
    cut = file.with_name(f".{file.name}.0123456789ab")  # of a connection that was lost
    cut.write_bytes(b"TOKEN=s3c")
    other = file.with_name("another")
    other.touch()
    assert file.read_bytes() == b"TOKEN=s3cret\0"
    assert giveup.give_up(record, True, lambda _: None).endswith("that starts no rank")
    assert list(file.parent.iterdir()) == [other]
    began = _made(login)
    seen = twin.prepare(began, login, Submission(secrets={"TOKEN": "s3cret"}))
    assert starts(seen)
    giveup.give_up(began, True, lambda _: None)
    assert secrets.path_of(seen).exists()  # it may start again
