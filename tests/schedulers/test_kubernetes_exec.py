"""`hpclaunch exec` on Kubernetes: whole commands over a real websocket, with processes of this machine in
place of the pods'."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apiobjects import ended, pod, running
from apiserver import ApiServer
from command import hpclaunch

from hpclaunch.rank import wrapper_text

SITE = """\
version: 1
name: here
scheduler: kubernetes
node_types: [{type: dgx-a100, count: 4}]
kubernetes: {namespace: adas, mpi_operator: "0.8.0", mpi: %s}
"""
JOB = "version: 1\nname: train\nimage: registry.example/x:1\ncommand: [./run.sh]\nnodes: 2\ntime: 30m\n"
STRANGE = "a $b `c`\n\t'\"\\ é $(d) \\n"
WORDS = ["a b", "$c", ":", "", "=", "--", "it's\n", "é", "%20&x"]
# What the container's own environment has, and the ranks have not.
CONTAINER = {"PATH": os.environ["PATH"], "OF_THE_CONTAINER": "1"}


class Running:
    """An MPIJob with two workers of 8 ranks each, of which rank 11 is a process here."""

    def __init__(self, folder: Path, server: ApiServer, mpi: str):
        self.server = server
        (folder / "site.yaml").write_text(SITE % mpi)
        (folder / "job.yaml").write_text(JOB)
        done = hpclaunch("submit", folder / "job.yaml", "--site", folder / "site.yaml")
        assert done.returncode == 0, done.stderr
        for name in ("launcher-x7k2p", "worker-0", "worker-1"):
            pod(server, name, running())
            server.containers[f"train-{name}"] = {**CONTAINER, "POD": name}
        number, size, local = "PMI_RANK", "PMI_SIZE", ("MPI_LOCALRANKID", "MPI_LOCALNRANKS")
        if mpi == "openmpi":
            number, size = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
            local = ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")
        started = {
            number: "11",
            size: "16",
            **dict(zip(local, "38", strict=True)),
            "PATH": os.environ["PATH"],
        }
        self.environment = {**started, "STRANGE": STRANGE, "EMPTY": "", "UID": "5"}
        settings = [f"from={'openmpi' if mpi == 'openmpi' else 'hydra'}", f"cwd={folder}"]
        wrapper = ["/bin/sh", "-c", wrapper_text(settings), "hpclaunch-rank", *settings, "--"]
        wrapper += [f"STRANGE={STRANGE}", "EMPTY=", "UID=5", "--"]
        mark = folder / "begun"
        self.processes = [
            # A rank of a smaller world has the number too.
            subprocess.Popen(["sleep", "300"], env={**started, size: "12"}, cwd="/"),
            subprocess.Popen(
                [*wrapper, "=sh", "=-c", f"=touch {mark}; exec sleep 300"],
                env={**started, "PMIX_RANK": "11"},
                cwd="/",
                start_new_session=True,
            ),
        ]
        while not mark.exists():
            time.sleep(0.02)

    def close(self) -> None:
        os.killpg(self.processes[1].pid, signal.SIGKILL)
        self.processes[0].kill()
        for each in self.processes:
            each.wait()


@pytest.fixture
def job(request: pytest.FixtureRequest, server: ApiServer, home: Path, tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path, server, getattr(request, "param", "openmpi"))
    yield made
    made.close()


def run(*words: str, **more: Any) -> "subprocess.CompletedProcess[Any]":
    return hpclaunch("exec", "train", *words, **more)


@pytest.mark.parametrize("job", ["openmpi", "intel"], indirect=True)
def test_a_command_is_where_the_rank_is_and_has_what_it_has(job: Running, tmp_path: Path) -> None:
    words = 'shift; for word; do printf "%s\\0" "$word"; done'
    script = f"pwd; {words}; cat /proc/$$/environ"
    done = run("--rank", "11", "--", "sh", "-c", script, "x", "y", *WORDS, text=False)
    assert done.returncode == 0, done.stderr
    where, rest = done.stdout.split(b"\n", 1)
    assert where == os.fsencode(tmp_path)
    *found, _ = rest.split(b"\0")
    assert [os.fsdecode(word) for word in found[: len(WORDS)]] == WORDS
    own = dict(line.split("=", 1) for line in map(os.fsdecode, found[len(WORDS) :]))
    shells = {"PWD", "OLDPWD", "SHLVL", "_", "UID"}
    assert {name: value for name, value in own.items() if name not in shells} == {
        name: value
        for name, value in job.environment.items()
        if name not in shells and not name.startswith("PMI_")
    }


def test_the_rank_says_which_worker(job: Running) -> None:
    done = run("--rank", "3", "--", "true")
    assert (done.returncode, done.stdout) == (121, "")
    assert "OMPI_COMM_WORLD_RANK=3 does not run here" in done.stderr
    assert [one.path.split("/")[-2] for one in job.server.asked("GET", "/exec")] == ["train-worker-0"]
    done = run("--launcher", "--", "sh", "-c", "echo $POD $OF_THE_CONTAINER")
    assert (done.returncode, done.stdout) == (0, "launcher-x7k2p 1\n"), done.stderr


def test_input_goes_in_and_the_exit_status_comes_back(job: Running) -> None:
    def here(script: str, **more: Any) -> "subprocess.CompletedProcess[Any]":
        return run("--rank", "11", "--", "sh", "-c", script, **more)

    done = here("cat; echo wrong >&2; exit 7", input="from here\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, "from here\n", "wrong\n")
    many = os.urandom(3_000_000)
    assert here("cat", input=many, text=False).stdout == many
    assert here("kill -9 $$").returncode == 137
    assert here("read line || echo nothing", stdin=subprocess.DEVNULL).stdout == "nothing\n"
    assert run("--rank", "11", "--", "no-such-command").returncode == 127


def test_older_clusters_cannot_end_the_input_and_that_is_said(job: Running) -> None:
    job.server.protocol = "v4.channel.k8s.io"
    done = run("--rank", "11", "--", "head", "-n1", input="one\ntwo\n")
    assert (done.returncode, done.stdout) == (0, "one\n")
    done = run("--rank", "11", "--", "cat", stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with subprocess.Popen(
        [sys.executable, "-m", "hpclaunch", "exec", "train", "--rank", "11", "--", "cat"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as waits:
        assert waits.stdin
        assert waits.stderr
        waits.stdin.close()
        assert "may wait for more" in waits.stderr.readline()
        waits.send_signal(signal.SIGINT)
        assert waits.wait(60) == 130


def test_on_a_terminal_the_command_has_one_and_follows_its_size(job: Running) -> None:
    seen = b""
    script = "test -t 0 && test -t 1 && stty size; read x; stty size; exec cat"

    def read(descriptor: int) -> bytes:
        nonlocal seen
        before, data = seen, os.read(descriptor, 1024)
        seen += data
        if b"24 80\r\n" in seen and b"24 80" not in before:
            fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 132, 0, 0))
            os.write(descriptor, b"\r")
        if b"50 132\r\n" in seen and b"50 132" not in before:
            os.write(descriptor, b"\x03")  # for the command, and not for hpclaunch
        return data

    command = [sys.executable, "-m", "hpclaunch", "exec", "train", "--rank", "11", "--", "sh", "-c", script]
    status = pty.spawn(command, read, lambda descriptor: b"")
    assert b"50 132\r\n" in seen, seen
    assert os.waitstatus_to_exitcode(status) == 130, seen


def test_what_cannot_be_is_said(job: Running) -> None:
    def refused(*words: str) -> str:
        done = run(*words)
        assert done.stdout == ""
        assert done.returncode not in (0, 121)
        assert "Traceback" not in done.stderr
        return done.stderr

    server = job.server
    assert "has the ranks 0 to 15, and no 16" in refused("--rank", "16", "--", "true")
    assert "must be UTF-8" in refused("--", os.fsdecode(b"\xff"))
    server.forbidden.add(("get", "pods/exec"))
    assert "Role hpclaunch-exec" in refused("--", "true")
    server.forbidden.clear()
    (worker,) = [each for each in server.of("pods") if each["metadata"]["name"] == "train-worker-1"]
    del server.containers["train-worker-1"]
    assert "container worker of the pod train-worker-1" in refused("--rank", "8", "--", "true")
    worker["status"]["containerStatuses"][0]["state"] = ended(1)
    assert "train-worker-1 of job train does not run" in refused("--rank", "8", "--", "true")
    server.objects.pop(("pods", "adas", "train-worker-1"))
    assert "has no pod of worker 1 now" in refused("--rank", "8", "--", "true")
    server.containers["train-worker-0"]["PATH"] = "/nowhere"
    assert "cannot be run in the pod: OCI runtime" in refused("--launcher", "--", "no-such-command")
