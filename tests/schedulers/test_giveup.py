"""`hpclaunch forget`: jobs of which nobody can tell what became, with commands that stand in for Slurm's."""

import json
import os
from pathlib import Path

import pytest
import yaml
from command import hpclaunch
from standin_slurm import StandIn

from hpclaunch.records import secrets
from hpclaunch.records.lookup import all_records
from hpclaunch.records.record import Record
from hpclaunch.values.job import JobStatus

AWAY = "#!/bin/sh\necho 'error: Unable to contact slurm controller (connect failure)' >&2; exit 1\n"


class Place:
    """A home and a cluster."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.cluster = StandIn(folder / "cluster")
        self.env = {**os.environ, **self.cluster.environ, "HPCLAUNCH_HOME": str(folder / "home")}
        self.env.pop("SLURM_CONF", None)
        self.job = folder / "job.yaml"
        self.job.write_text(yaml.safe_dump({"version": 1, "name": "once", "command": ["true"]}))

    def run(self, *words: str | Path) -> tuple[int, str, str]:
        done = hpclaunch(*words, env=self.env)
        return done.returncode, done.stdout, done.stderr

    def states(self, *words: str) -> list[str]:
        return [row["state"] for row in json.loads(self.run("list", "--json", *words)[1])]

    def replace(self, name: str, text: str) -> None:
        (self.cluster.folder / "bin" / name).write_text(text)

    def broken_off(self) -> Record:
        """A submission whose job arrived, which nobody saw."""
        self.cluster.kills_its_parent("after", 1)
        assert self.run("submit", self.job, "--site", "superpod-a100")[0] < 0
        (record,) = all_records()[0]
        return record


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    return Place(tmp_path)


def test_what_is_given_up_is_not_listed_not_sent_and_starts_no_rank(place: Place) -> None:
    record = place.broken_off()
    place.replace("squeue", "#!/bin/sh\n")
    assert f"`hpclaunch forget {record.tag}`" in place.run("list")[1]
    assert place.run("forget", record.tag)[:2] == (0, "")
    assert (place.states(), place.states("--all")) == ([], ["CANCELLED"])
    assert "no submission is open" in place.run("submit", "--resume")[2]
    status, out, said = place.run("submit", "--resume", record.tag)
    assert (status, out) == (3, "")
    assert f"hpclaunch rerun {record.tag}" in said
    assert len(place.cluster.jobs()) == 1
    assert place.cluster.run_all() == []  # it was there after all
    assert place.run("forget", record.tag)[0] == 2


def test_what_the_scheduler_knows_is_not_given_up(place: Place) -> None:
    record = place.broken_off()
    status, _, said = place.run("forget", record.tag)
    assert status == 2
    assert "PENDING: hpclaunch cancel" in said
    assert place.states() == ["PENDING"]
    assert place.cluster.run_all() == [1]


def test_a_cluster_that_is_gone_is_no_reason_to_hear_of_its_jobs_for_ever(place: Place) -> None:
    record = place.broken_off()
    place.replace("squeue", AWAY)
    status, _, said = place.run("forget", record.tag)
    assert status == 3
    assert "hpclaunch forget --unasked" in said
    assert place.states() == ["UNKNOWN"]
    assert place.run("forget", "--unasked", record.tag)[0] == 0
    assert place.states() == []


def test_nor_is_that_one_of_them_ran_when_it_was_last_asked(place: Place) -> None:
    record = place.broken_off()
    assert place.cluster.run_all() == [1]
    assert place.states() == ["PENDING"]
    place.replace("squeue", AWAY)
    status, _, said = place.run("forget", "--unasked", record.tag)
    assert status == 0
    assert f"`hpclaunch forget {record.tag}` again" in said
    assert (place.states(), place.states("--all")) == ([], ["UNKNOWN"])


def test_of_a_job_that_began_it_is_only_said_that_nobody_knows_its_end(place: Place) -> None:
    place.run("submit", place.job, "--site", "superpod-a100")
    assert place.cluster.run_all() == [1]
    place.replace("squeue", "#!/bin/sh\n")
    assert place.states() == ["UNKNOWN"]
    assert place.run("forget", "1")[0] == 0
    assert (place.states(), place.states("--all")) == ([], ["UNKNOWN"])
    (record,) = all_records()[0]
    assert record.claimed_by() == "1"


def test_what_is_given_up_unasked_and_is_there_is_found_again(place: Place) -> None:
    """Its folder of marks cannot be reached either, as behind a login node: its claim is not taken."""
    record = place.broken_off()
    squeue = (place.cluster.folder / "bin" / "squeue").read_text()
    place.replace("squeue", AWAY)
    assert place.run("forget", "--unasked", record.tag)[0] == 0
    record.claim.unlink()
    record.give_up(JobStatus("UNKNOWN", "given up"))
    status, out, said = place.run("submit", "--resume", record.tag)
    assert (status, out) == (3, "")
    assert "nobody can tell" in said
    assert "rerun" not in said
    place.replace("squeue", squeue)
    assert place.states("--all") == ["PENDING"]
    record.give_up(JobStatus("UNKNOWN", "given up"))
    status, out, said = place.run("submit", "--resume", record.tag)
    assert (status, out) == (0, "1\n"), said
    assert "rerun" not in said
    assert place.states() == ["PENDING"]
    assert place.cluster.run_all() == [1]


def test_what_began_and_is_given_up_is_not_said_to_be_none(place: Place) -> None:
    record = place.broken_off()
    assert place.cluster.run_all() == [1]
    place.replace("squeue", "#!/bin/sh\n")
    assert place.run("forget", record.tag)[0] == 0
    status, out, said = place.run("submit", "--resume", record.tag)
    assert (status, out) == (3, "")
    assert "began as job 1" in said
    assert "rerun" not in said
    assert (place.states(), place.states("--all")) == ([], ["UNKNOWN"])


def test_where_one_is_not_known_none_is_given_up(place: Place) -> None:
    record = place.broken_off()
    place.replace("squeue", "#!/bin/sh\n")
    status, _, said = place.run("forget", record.tag, "nosuch")
    assert status == 2
    assert "nosuch" in said
    assert place.states() == ["UNKNOWN"]


def with_a_secret(place: Place) -> Record:
    job = {"version": 1, "name": "once", "command": ["true"], "secrets": ["TOKEN"]}
    place.job.write_text(yaml.safe_dump(job))
    place.env["TOKEN"] = "s3cret"
    record = place.broken_off()
    assert secrets.path_of(record).read_bytes() == b"TOKEN=s3cret\0"
    place.replace("squeue", "#!/bin/sh\n")
    return record


def test_the_secrets_of_what_is_given_up_go(place: Place) -> None:
    record = with_a_secret(place)
    left = secrets.path_of(record).with_name(f".{record.tag}.cut")
    left.touch()
    assert place.run("forget", record.tag)[0] == 0
    assert list(left.parent.iterdir()) == []


def test_those_of_a_job_that_began_are_told_of(place: Place) -> None:
    record = with_a_secret(place)
    record.claim.symlink_to("1")
    assert str(secrets.path_of(record)) in place.run("forget", record.tag)[2]
    assert secrets.path_of(record).exists()
