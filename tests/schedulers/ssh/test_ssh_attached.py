"""What watches over a command on the login node, run here: it ends that one process when nothing comes. And
what becomes of a command here whose output nobody reads any more."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from waiting import until

from hpclaunch.schedulers.processes import read_stat
from hpclaunch.schedulers.ssh.attached import _WATCH
from hpclaunch.values.login import Login

ATTACH = """\
import sys, msgspec
from hpclaunch.schedulers.ssh.connection import connection
from hpclaunch.values.login import Login
there = connection(msgspec.json.decode(sys.argv[1], type=Login))
there.run("true", 60)
sys.exit(there.attach(sys.argv[2], False))
"""
# A command there with a secret, until its words lie there: then this process ends, or does not hear that.
UNHEARD = """\
import os, sys, msgspec
from hpclaunch.schedulers.contract import Busy
from hpclaunch.schedulers.ssh import attached, twin
from hpclaunch.schedulers.ssh.remote_commands import RemoteCommands
from hpclaunch.values.login import Login
put = twin.put
def unheard(login, target, *rest):
    put(login, target, *rest)
    assert b"s3cret" in open(target, "rb").read()
    print("put", flush=True)
    if sys.argv[2] == "0":
        raise Busy("the connection broke")
    os.kill(os.getpid(), int(sys.argv[2]))
twin.put = unheard
login = msgspec.json.decode(sys.argv[1], type=Login)
attached.run_watched(RemoteCommands(login, None), ["true"], {"TOKEN": "s3cret"}, False)
"""


@pytest.fixture
def command() -> Iterator["subprocess.Popen[bytes]"]:
    """Something that runs, and ends at a hangup."""
    with subprocess.Popen(["sleep", "300"]) as process:
        yield process
        process.kill()


def watch(folder: Path, silence: str) -> "subprocess.Popen[bytes]":
    argv = ["/bin/bash", "-p", "-c", _WATCH, "watch", str(folder), silence]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"hpclaunch-ready\n"
    assert (folder / "watched").exists()
    return process


def note(folder: Path, process: "subprocess.Popen[bytes]", later: int = 0) -> None:
    stat = read_stat(process.pid)
    assert stat
    (folder / "process").write_text(f"{process.pid} {stat.started + later}\n")


@pytest.mark.parametrize("silent", [True, False])
def test_its_process_ends_with_what_is_heard(
    tmp_path: Path, command: "subprocess.Popen[bytes]", silent: bool
) -> None:
    folder = tmp_path / "a b'"
    folder.mkdir()
    with watch(folder, "1" if silent else "300") as watching:
        assert watching.stdin
        watching.stdin.write(b"\n\n")
        watching.stdin.flush()
        note(folder, command)
        if not silent:
            watching.stdin.close()
        assert command.wait(60) == -1
        assert watching.wait(60) == 0
    assert not folder.exists()


def test_a_later_process_with_its_number_stays(tmp_path: Path, command: "subprocess.Popen[bytes]") -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    with watch(folder, "300") as watching:
        note(folder, command, later=-1)
        watching.communicate(timeout=60)
    assert not folder.exists()
    assert command.poll() is None


@pytest.mark.parametrize("stdin", [subprocess.DEVNULL, subprocess.PIPE], ids=["no input", "an open input"])
def test_it_ends_when_nobody_reads_though_it_writes_nothing_more(login: Login, stdin: int) -> None:
    argv = [sys.executable, "-c", ATTACH, msgspec.json.encode(login).decode(), "echo up; exec sleep 300"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=stdin, stdout=pipe, stderr=pipe) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"up\n"
        process.stdout.close()
        assert b"BrokenPipeError" in process.stderr.read()
        assert process.wait(60) == 1


@pytest.mark.parametrize("number", [0, signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_secret_stays_there_whenever_it_is_broken_off(login: Login, number: int) -> None:
    argv = [sys.executable, "-c", UNHEARD, msgspec.json.encode(login).decode(), str(int(number))]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    assert done.stdout == b"put\n", done.stderr
    assert done.returncode
    folder = Path(login.home) / "attached"
    until(lambda: not list(folder.iterdir()))


@pytest.mark.parametrize("output", ["1>&-", ">/dev/null"])
def test_an_output_that_is_no_pipe_is_no_reason_to_end(login: Login, output: str) -> None:
    argv = ["/bin/sh", "-c", f'exec "$@" {output}', "sh", sys.executable, "-c", ATTACH]
    argv += [msgspec.json.encode(login).decode(), "sleep 1; exit 7"]
    assert subprocess.run(argv, stdin=subprocess.DEVNULL, timeout=120).returncode == 7
