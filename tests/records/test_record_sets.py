"""Where records are, and those of several jobs, which appear together."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from hpclaunch.records import files, sending, sets
from hpclaunch.records.lookup import all_records, find
from hpclaunch.records.record import Record, new_tag
from hpclaunch.values.errors import InputError

FORK = get_context("fork")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def make(tag: str = "", among: sets.Among = sets.ALONE, take: sets.Take = sets.take_alone) -> Record:
    return Record.create(
        site="alpha",
        scheduler="slurm",
        name="train",
        script="#!/bin/bash\ntrue\n",
        plan=b'{"plan": 1}',
        job_yaml="name: train\n",
        site_yaml="name: alpha\n",
        directory="/",
        argv=(),
        scheduler_version="slurm 22.05.8",
        tag=tag,
        among=among,
        take=take,
    )


def test_a_home_that_would_be_another_one_elsewhere_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HPCLAUNCH_HOME", "home")
    with pytest.raises(InputError, match=f"give the whole path, {tmp_path}/home"):
        make()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HPCLAUNCH_HOME", "~/home")
    assert make().folder.is_relative_to(tmp_path / "home")
    monkeypatch.delenv("HPCLAUNCH_HOME")
    for state, found in (("state", ".local/state"), (str(tmp_path / "state"), "state")):
        monkeypatch.setenv("XDG_STATE_HOME", state)
        assert make().folder.is_relative_to(tmp_path / found / "hpclaunch")


def killed_after_the_new_name(first: str, second: str) -> None:
    """A set whose records are written and have not taken their places."""
    with ThreadPoolExecutor() as pool, sets.new(files.home() / "jobs" / "alpha", first, pool) as new:
        for tag in (first, second):
            make(tag, sets.Among(first), new.take)
        files.rename = lambda source, target: (os.rename(source, target), os._exit(0))  # type: ignore[assignment]
        new.commit()


def test_records_of_a_killed_command_take_their_places_when_they_are_looked_for(home: Path) -> None:
    first, second = new_tag(), new_tag()
    for look in (lambda: find(second).tag == second, lambda: len(all_records()[0]) == 2):
        shutil.rmtree(home, ignore_errors=True)
        process = FORK.Process(target=killed_after_the_new_name, args=(first, second))
        process.start()
        process.join()
        assert list(home.glob("jobs/alpha/.set-*"))
        assert look()
        assert not list(home.glob("jobs/alpha/.*"))
        for tag in (first, second):
            assert find(tag).script.read_text() == "#!/bin/bash\ntrue\n"
            assert not sending.is_held(find(tag))
            assert not sending.has_begun(find(tag))
