"""A job that its command had not come to, and that waits for another which has ended, or may have."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from replaced_slurm import Command, again, calls

from hpclaunch.records import files, sending, sets
from hpclaunch.records.record import Record, new_tag
from hpclaunch.schedulers.resume import resume
from hpclaunch.values.job import JobStatus, State, Submission

Pair = Callable[[str], tuple[Record, Record]]


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: Command) -> Pair:
    """Two records of one command, of which the second waits for the first."""
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    replaced("squeue", "true")
    replaced("scontrol", "echo 'MinJobAge = 300 sec'")

    def made(when: str) -> tuple[Record, Record]:
        tags = new_tag(), new_tag()
        with ThreadPoolExecutor() as pool, sets.new(files.home() / "jobs" / "here", tags[0], pool) as new:
            both = [
                Record.create(
                    site="here",
                    scheduler="slurm",
                    name=name,
                    script="#!/bin/bash\n",
                    plan=b"{}",
                    job_yaml="",
                    site_yaml="",
                    directory="/",
                    argv=(),
                    scheduler_version="",
                    tag=tag,
                    among=sets.Among(tags[0], waits_for),
                    take=new.take,
                )
                for name, tag, waits_for in (("first", tags[0], ()), ("second", tags[1], ((tags[0], when),)))
            ]
            new.commit()
            assert all(sending.is_held(record) for record in both)
        return both[0], both[1]

    return made


@pytest.mark.parametrize(
    ("when", "state", "found"),
    [
        ("afterok", "COMPLETED", "sent"),
        ("afterany", "COMPLETED", "sent"),
        ("afterany", "FAILED", "sent"),
        ("afterok", "FAILED", "refused"),
        ("afterok", "CANCELLED", "refused"),
    ],
)
def test_where_the_other_one_has_ended(
    pair: Pair, replaced: Command, when: str, state: State, found: str
) -> None:
    first, second = pair(when)
    sbatch = replaced("sbatch", "echo 8")
    first.submitted("7")
    first.update(JobStatus(state))
    outcome = again(second)
    assert outcome.found == found
    if found == "sent":
        assert "--dependency" not in calls(sbatch)[0]
    else:
        assert calls(sbatch) == []
        assert outcome.status == 3
        known = second.state().status
        assert known
        assert known.state == "FAILED"
        assert f"it waits for first (here/{first.tag}), which ended as {state}" in known.reason


@pytest.mark.parametrize("when", ["afterok", "afterany"])
def test_where_the_other_one_is_not_sent_either(pair: Pair, replaced: Command, when: str) -> None:
    first, second = pair(when)
    sbatch = replaced("sbatch", "echo 8")
    outcome = again(second)
    assert (outcome.found, outcome.status) == ("absent", 3)
    assert "which is not known to be submitted" in outcome.why
    assert calls(sbatch) == []
    assert again(first).found == "sent"
    replaced("squeue", f"echo '8|PENDING|0||N/A|N/A|N/A|None|{first.tag}|'")
    replaced("sbatch", "echo 9")
    assert again(second).found == "sent"
    assert f"--dependency={when}:8" in calls(sbatch)[-1]


@pytest.mark.parametrize(("when", "found"), [("afterok", "absent"), ("afterany", "sent")])
def test_where_nobody_knows_how_the_other_one_ended(
    pair: Pair, replaced: Command, when: str, found: str
) -> None:
    first, second = pair(when)
    replaced("sbatch", "echo 8")
    first.submitted("7")
    first.claim.symlink_to("7")  # it ran, and Slurm has forgotten it
    assert again(second).found == found


def test_where_the_other_one_was_refused(pair: Pair, replaced: Command) -> None:
    first, second = pair("afterany")
    sbatch = replaced("sbatch", "echo 'sbatch: error: invalid partition specified: x' >&2; exit 1")
    assert again(first).found == "refused"
    outcome = again(second)
    assert (outcome.found, outcome.status) == ("refused", 3)
    assert "was never submitted" in outcome.why
    assert len(calls(sbatch)) == 1


def test_a_damaged_record_of_the_other_one_stops_nothing_else(
    pair: Pair, replaced: Command, record: Callable[..., Record]
) -> None:
    first, second = pair("afterok")
    alone = record("true", "slurm")
    sbatch = replaced("sbatch", "echo 8")
    (first.folder / "state.json").write_text('{"job_id": ')
    outcomes = resume([first, second, alone], lambda _: Submission(), lambda _: None, lambda _: None)
    assert {each.record.tag: each.found for each in outcomes} == {
        first.tag: "unknown",
        second.tag: "absent",
        alone.tag: "sent",
    }
    assert all("state.json" in each.why for each in outcomes if each.found != "sent")
    assert len(calls(sbatch)) == 1
