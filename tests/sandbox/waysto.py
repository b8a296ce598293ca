"""slurmrestd and pyslurm as tests have them beside a real Slurm."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import standin_pyslurm
from realslurm import Slurm

from hpclaunch.records.record import Record
from hpclaunch.sandbox.packages import find
from hpclaunch.schedulers.ways import choose, inprocess
from hpclaunch.values.slurmaccess import SlurmAccess


@contextmanager
def slurmrestd(
    log: Path, slurm_conf: Path, address: str, how: str, env: Mapping[str, str], accounts: bool = False
) -> Iterator[None]:
    """A slurmrestd that listens on `address` (unix:/PATH, HOST:PORT); `how` is its -a. As root, and as the
    user of slurmctld, which it refuses elsewhere: there is no other user here. `accounts`: it serves their
    API too."""
    own = {"SLURMRESTD_SECURITY": "disable_user_check", "SLURM_CONF": str(slurm_conf), **env}
    if not find("slurmrestd"):
        pytest.skip(
            "there is no slurmrestd: apt-get install --no-install-recommends slurmrestd slurm-wlm-jwt-plugin"
        )
    apis = "openapi/v0.0.36,openapi/v0.0.37,openapi/v0.0.38" + (",openapi/dbv0.0.38" if accounts else "")
    argv = [find("slurmrestd"), "-a", how, "-s", apis, address]
    with log.open("wb") as out:
        server = subprocess.Popen(argv, env={**os.environ, **own}, stdout=out, stderr=out)
    try:
        end = time.monotonic() + 20
        while not _answers(address):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        yield
        assert server.poll() is None, log.read_text()  # it did not crash over what it was asked for
    finally:
        server.terminate()
        server.wait(20)


def _answers(address: str) -> bool:
    with contextlib.suppress(OSError):
        if address.startswith("unix:"):
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(address.removeprefix("unix:"))
        else:
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port))).close()
        return True
    return False


def install_standin(folder: Path, version: str) -> Path:
    """The stand-in for pyslurm, as pip would have installed it; the folder for sys.path."""
    package, facts = folder / "pyslurm", folder / f"pyslurm-{version}.dist-info"
    package.mkdir(parents=True)
    facts.mkdir()
    shutil.copy(standin_pyslurm.__file__, package / "__init__.py")
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pyslurm\nVersion: {version}\n")
    return folder


@contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """With the packages of `folder`, and no pyslurm from before: as in a process of its own."""
    _unload()
    if folder is not None:
        sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if folder is not None:
            sys.path.remove(str(folder))
        _unload()


def _unload() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyslurm"]:
        del sys.modules[name]
    inprocess._loaded_for = None
    choose.choice.cache_clear()
    choose.pyslurm_obstacle.cache_clear()


@contextmanager
def losing_answers(path: Path, server: Path) -> Iterator[str]:
    """The url of a socket before another server's, which passes all on but for the answers to submissions:
    there the connection ends."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                with listener.accept()[0] as client, socket.socket(socket.AF_UNIX) as behind:
                    behind.connect(str(server))
                    asked = _message(client)
                    behind.sendall(asked)
                    answer = _message(behind)
                    if not asked.startswith(b"POST"):
                        client.sendall(answer)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"unix:{path}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _message(connection: socket.socket) -> bytes:
    """One message of HTTP, whose length it says itself."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(1 << 16)
    head, _, rest = found.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    while length and len(rest) < int(length[1]):
        rest += connection.recv(1 << 16)
    return head + b"\r\n\r\n" + rest


def record_of(slurm_conf: str | None, options: tuple[str, ...], script: str, access: SlurmAccess) -> Record:
    """The record of a script with these options on its #SBATCH lines, and in its plan."""
    lines = "".join(f"#SBATCH {option}\n" for option in options)
    plan = {"target": {"sbatch": [{"text": option} for option in options]}}
    return Record.create(
        site="lab",
        scheduler="slurm",
        name="a job",
        script=f"#!/bin/bash -p\n{lines}{script}",
        plan=json.dumps(plan).encode(),
        job_yaml="",
        site_yaml="",
        directory="/",
        argv=("submit",),
        scheduler_version="",
        slurm_conf=slurm_conf,
        slurm=access,
    )


def facts(slurm: Slurm, record: Record) -> dict[str, str]:
    """What the controller knows of a job, but for its number, its moments and its own folder."""
    text = slurm.run("scontrol", "--oneliner", "show", "job", str(record.state().job_id)).stdout
    text = text.replace(str(record.folder), "RECORD").replace(record.tag, "TAG")
    found = dict(re.findall(r"(\S+?)=(.*?)(?= \S+?=|$)", text.strip()))
    moments = {name for name in found if name.endswith("Time") or name in ("LastSchedEval", "Scheduler")}
    # Who sent it; a line for people, since slurmrestd has no script's path; and names with the job's number
    # in them, which are where its log is.
    other = {"JobId", "Priority", "Command", "AllocNode:Sid", "StdOut", "StdErr"}
    return {name: value for name, value in found.items() if name not in moments | other}
