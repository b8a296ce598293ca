"""Records that cannot be read, as where a file server has lost its files for a while: no command takes that
for an answer. Slurm is a stand-in."""

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from breaking import Command, sampled
from standin_slurm import StandIn
from stepping import Call, every

AWAY = "#!/bin/sh\necho 'error: Unable to contact slurm controller (connect failure)' >&2; exit 1\n"
CALLS = 6  # of each command; all of them with HPCLAUNCH_TEST_FAULTS=all

Make = Callable[..., Command]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def command(tmp_path: Path, home: Path) -> Make:
    """command("status", "1"), where Slurm has the jobs 1 and 2."""
    environ = {**StandIn(tmp_path / "cluster").environ, "HPCLAUNCH_HOME": str(home)}

    def make(*words: str | Path) -> Command:
        return Command(words, tmp_path, environ)

    job = tmp_path / "job.yaml"
    job.write_text(yaml.safe_dump({"version": 1, "name": "once", "command": ["true"]}))
    for number in ("1", "2"):
        assert make("submit", job, "--site", "superpod-a100").done() == (0, f"{number}\n", "")
    return make


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("status", "1"),
        ("logs", "1"),
        ("cancel", "1"),
        ("results", "1"),
        ("submit", "--resume"),
        ("forget", "1"),
        ("rerun", "1", "--dry-run"),
        ("compare", "1", "2"),
        ("exec", "1", "--", "true"),
    ],
    ids=lambda words: words[0],
)
def test_a_call_that_fails_is_said_or_changes_no_answer(
    command: Make, home: Path, words: tuple[str, ...]
) -> None:
    def counts(call: Call) -> bool:
        return str(home) in call.path

    asked, kept = command(*words), home.with_name("kept")
    shutil.copytree(home, kept, symlinks=True)
    whole = asked.broken(counts=counts, begins=every)
    answer = (whole.status, asked.read("out"))
    for index in sampled(len(whole.calls), CALLS):
        shutil.rmtree(home)
        shutil.copytree(kept, home, symlinks=True)
        steps = asked.broken(fail_at=index, error=errno.ESTALE, counts=counts, begins=every)
        said = asked.read("err")
        where = f"{index}, {steps.calls[index]}: {said}"
        assert "Traceback" not in said, where
        assert (steps.status, asked.read("out")) == answer or said, where


def test_a_folder_of_records_that_is_none_is_not_one_without_records(command: Make, home: Path) -> None:
    shutil.rmtree(home)
    status, out, said = command("status", "1").done()
    assert (status, out) == (2, "")
    assert f"there is no folder {home}" in said
    home.write_text("")
    for words in (("list",), ("submit", "--resume"), ("status", "1")):
        status, out, said = command(*words).done()
        assert (status, out) == (1, ""), words
        assert "Not a directory" in said


@pytest.mark.parametrize("name", ["intent.json", "state.json"])
def test_resume_does_not_say_that_none_is_open_where_it_cannot_know(
    command: Make, home: Path, name: str
) -> None:
    first, _ = sorted(home.glob("jobs/*/*/intent.json"))
    (first.parent / name).write_text("{")
    status, out, said = command("submit", "--resume").done()
    assert (status, out) == (1, "")
    assert str(first.parent / name) in said
    assert "no submission is open" not in said


def test_an_end_that_is_known_stands_while_the_scheduler_cannot_be_asked(command: Make, home: Path) -> None:
    squeue = home.with_name("cluster") / "bin" / "squeue"
    (tag,) = [path.parent.name for path in home.glob("jobs/*/*/state.json") if '"1"' in path.read_text()]
    row = f"1|FAILED|1792|n1|N/A|N/A|N/A|NonZeroExitCode|hpclaunch:{tag}|/w|\n"
    for text in (f"#!/bin/sh\nprintf '{row}'\n", AWAY):
        squeue.write_text(text)
        status, out, said = command("wait", "1").done()
        assert (status, out) == (7, ""), said
        status, out, said = command("status", "1", "--json").done()
        assert (status, json.loads(out)["exit_code"]) == (0, 7), said
    assert "this was known before" in said
    assert command("status", "2").done()[0] == 3


def test_a_job_that_is_not_found_may_be_in_a_record_that_cannot_be_read(command: Make, home: Path) -> None:
    status, _, said = command("status", "3").done()
    assert status == 2
    assert "cannot be read" not in said
    (site,) = home.glob("jobs/*")
    shutil.rmtree(site / "ids")
    for path in site.glob("*/intent.json"):
        path.write_text("{")
    status, _, said = command("status", "1").done()
    assert status == 2
    assert f"it may be one of the 2 records that cannot be read: the record's {site}" in said
    shutil.rmtree(next(site.glob("*/intent.json")).parent)
    said = command("status", "1").done()[2]
    assert f"it may be the record that cannot be read: the record's {site}" in said


def test_a_task_of_a_job_that_several_sites_have_is_not_said_to_be_unknown(command: Make, home: Path) -> None:
    (site,) = home.glob("jobs/*")
    shutil.copytree(site, site.with_name("other"))
    for name in ("1", "1_0"):
        status, _, said = command("status", name).done()
        assert status == 2
        assert "several sites have a job 1: say " in said


def test_a_full_disk_is_told_from_a_folder_that_nodes_do_not_see(command: Make, home: Path) -> None:
    again = command("submit", home.with_name("job.yaml"), "--site", "superpod-a100")
    for error, advice in ((errno.ENOSPC, f"Make room in {home}, or set"), (errno.EROFS, "Set")):
        again.broken(fail_at=0, error=error, begins=lambda call: "/.new-" in call.path)
        assert f"\nhpclaunch: {advice} HPCLAUNCH_HOME" in again.read("err")


def test_a_site_without_a_name_is_not_this_machine(command: Make, home: Path) -> None:
    for words in (("submit", home.with_name("job.yaml")), ("rerun", "1")):
        status, out, said = command(*words, "--site", "").done()
        assert (status, out) == (2, ""), words
        assert "no site is named ''" in said
    assert len(list(home.glob("jobs/*/*/intent.json"))) == 2
