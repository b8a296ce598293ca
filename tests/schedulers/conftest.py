"""Records in a folder of the test, and a submission through the same functions as the command line."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from apiserver import ApiServer, kubeconfig, serving
from kubernetes_jobs import MPIJOB, Ask, Make, asking
from replaced_slurm import Command

from hpclaunch.records.lookup import all_records
from hpclaunch.records.record import Record
from hpclaunch.schedulers import kubernetes_client, lifecycle, processes
from hpclaunch.schedulers.kubernetes_login import resolve
from hpclaunch.schedulers.supervisor import read_running
from hpclaunch.values.job import Submission


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
def replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """replaced("sbatch", "exit 1") is the sbatch that is found; $0.argv counts and keeps its words. There
    are no accounts unless sacct is replaced as well."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def make(name: str, body: str) -> Path:
        path = folder / name
        path.write_text(f'#!/bin/sh\necho "$*" >>"$0.argv"\n{body}\n')
        path.chmod(0o700)
        return path

    make("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
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


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A Kubernetes API server, which KUBECONFIG names."""
    with serving() as started:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "kubeconfig", started.url)))
        monkeypatch.setattr(kubernetes_client, "BACKOFF_S", 0.001)
        yield started


@pytest.fixture
def on_kubernetes(home: Path) -> Make:
    """A record of a job for the cluster of KUBECONFIG: `on_kubernetes()` an MPIJob train."""

    def make(manifest: str = MPIJOB, plan: bytes = b"{}") -> Record:
        return Record.create(
            site="here",
            scheduler="kubernetes",
            name="train",
            script=manifest,
            plan=plan,
            job_yaml="",
            site_yaml="",
            directory="/",
            argv=("submit",),
            scheduler_version="",
            cluster=resolve("adas", None, os.environ),
        )

    return make


@pytest.fixture
def ask(server: ApiServer, on_kubernetes: Make) -> Ask:
    """The status of a submitted MPIJob."""
    return asking(on_kubernetes())
