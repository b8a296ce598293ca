"""Records in a folder of the test, and a submission through the same functions as the command line."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hpclaunch.records.lookup import all_records
from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle, processes
from hpclaunch.schedulers.supervisor import read_running
from hpclaunch.values.job import Submission

Make = Callable[..., Record]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home 50%j"
    monkeypatch.setenv("HPCLAUNCH_HOME", str(folder))
    return folder


@pytest.fixture
def record(home: Path) -> Make:
    """A record for a script: `record("exit 7", scheduler="slurm")`."""

    def make(script: str, scheduler: str = "local", slurm_conf: str | None = None) -> Record:
        return Record.create(
            site="here",
            scheduler=scheduler,
            name="a job",
            script=f"#!/bin/bash -p\n{script}\n",
            plan=b"{}",
            job_yaml="",
            site_yaml="",
            directory="/",
            argv=("submit",),
            scheduler_version="",
            slurm_conf=slurm_conf,
        )

    return make


@pytest.fixture
def local(record: Make) -> Iterator[Callable[..., Record]]:
    """Starts a local job; what a failed test left running is ended."""

    def start(script: str, **submission: object) -> Record:
        made = record(script)
        lifecycle.submit(made, Submission(**submission), pytest.fail)  # type: ignore[arg-type]
        return made

    yield start
    for left in all_records()[0]:
        running = read_running(left.folder)
        if running and processes.is_running(running.supervisor):
            lifecycle.cancel(left, pytest.fail)
            lifecycle.wait(left, print)
