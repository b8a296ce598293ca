"""`hpclaunch exec` beside ranks of jobs of this machine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import hpclaunch
from waiting import until

from hpclaunch.schedulers.processes import read_stat

STRANGE = "a $b `c`\n'\"\\ é"


@pytest.fixture(params=["none", "pmix"])
def job(request: pytest.FixtureRequest, home: Path, tmp_path: Path) -> Iterator[str]:
    """Of three ranks, each with its number in a file `rank.N`, and its environment."""
    command = "cat /proc/$$/environ >env.$$; mv env.$$ begun.$$; exec sleep 300"
    described = {
        "name": "inner", "nodes": 1, "ranks_per_node": 3, "mpi": request.param, "workdir": str(tmp_path),
        "env": {"STRANGE": STRANGE}, "secrets": ["TOKEN"], "command": command,
    }  # fmt: skip
    if request.param == "none":
        described["rendezvous"] = "torch"
    (tmp_path / "job.yaml").write_text(json.dumps(described))
    environment = {**os.environ, "TOKEN": "geheim"}
    done = hpclaunch("submit", tmp_path / "job.yaml", "--site", "local", env=environment)
    assert done.returncode == 0, done.stderr
    number = done.stdout.strip()
    end = time.monotonic() + 60
    while len(list(tmp_path.glob("begun.*"))) < 3:
        assert time.monotonic() < end, hpclaunch("logs", number).stdout
        time.sleep(0.05)
    yield number
    hpclaunch("cancel", number)
    hpclaunch("wait", number)


def test_a_command_has_what_the_rank_has(job: str, tmp_path: Path) -> None:
    for rank in range(3):
        words = ["sh", "-c", "pwd; cat; cat /proc/$$/environ; exit 7"]
        done = hpclaunch("exec", job, "--rank", str(rank), "--", *words, input=b"in\n", text=False)
        assert done.returncode == 7, done.stderr
        where, read, rest = done.stdout.split(b"\n", 2)
        assert (where, read) == (os.fsencode(tmp_path), b"in")
        own: dict[str, Any] = dict(line.split("=", 1) for line in os.fsdecode(rest).split("\0")[:-1])
        assert (own["STRANGE"], own["TOKEN"]) == (STRANGE, "geheim")
        assert str(rank) == own.get("RANK", own.get("OMPI_COMM_WORLD_RANK"))
        assert not [name for name in own if name.startswith("PMIX_")]
    done = hpclaunch("exec", job, "--", "no-such-command")
    assert done.returncode == 1
    assert "no-such-command cannot be started" in done.stderr
    hpclaunch("cancel", job)
    hpclaunch("wait", job)
    done = hpclaunch("exec", job, "--", "true")
    assert done.returncode == 2
    assert "does not run" in done.stderr


@pytest.mark.parametrize(
    "command",
    ["echo $$; exec sleep 300", "sleep 300 & echo $!; wait", "echo $$; while :; do echo up; sleep 0.1; done"],
    ids=["writes no more", "its child", "goes on writing"],
)
@pytest.mark.parametrize("job", ["none"], indirect=True)
def test_a_command_ends_when_nobody_reads_any_more(job: str, command: str) -> None:
    argv = [sys.executable, "-m", "hpclaunch", "exec", job, "--", "sh", "-c", command]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        number = int(process.stdout.readline())
        assert read_stat(number)
        process.stdout.close()
        assert process.wait(60) in (-signal.SIGPIPE, -signal.SIGHUP)
    until(lambda: read_stat(number) is None)
