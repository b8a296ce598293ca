"""The launcher's text alone: what it waits for, and what it says. kubectl exec and mpirun have stand-ins."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from pod_launching import shell_words
from running import SHELLS

from hpclaunch.rank.pod import launcher_text

# A host's pod is there when its file is; each call leaves a trace.
AGENT = """#!/bin/sh
here=${0%/*}
echo "$2" >>"$here/asked-$1"
[ -e "$here/up-$1" ] || { echo "Error from server: pods $1 not found" >&2; exit 1; }
[ "$2" = true ] || printf '127.0.0.1\\tlocalhost\\n10.1.2.3\\t%s\\n' "$1"
"""
# For a host whose pod comes while it is waited for.
LATE = AGENT.replace(
    '[ -e "$here/up-$1" ] ||', '[ -e "$here/asked-twice-$1" ] || { :>"$here/asked-twice-$1"; false; } ||'
)
MPIRUN = """#!/bin/sh
printf '%s\\n' "$HPCLAUNCH_MASTER" "$@"
"""


class Launcher:
    def __init__(self, folder: Path, shell: list[str], hosts: list[str]):
        self.folder = folder
        self.shell = shell
        self.script("kubexec.sh", AGENT)
        self.script("mpirun", MPIRUN)
        (folder / "hostfile").write_text("# made\n\n" + "".join(f"{host} slots=8\n" for host in hosts))
        for host in hosts:
            (folder / f"up-{host}").touch()

    def script(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def command(self, *settings: str, words: tuple[str, ...] = ("mpirun", "-np", "2")) -> list[str]:
        return [*self.shell, "-c", launcher_text(settings), "launcher", *settings, "--", *words]

    def run(
        self, *settings: str, words: tuple[str, ...] = ("mpirun", "-np", "2"), **more: str
    ) -> "subprocess.CompletedProcess[str]":
        env = {"PATH": f"{self.folder}:{os.environ['PATH']}", "HOME": "/", **more}
        command = self.command(*settings, words=words)
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, cwd="/usr")


@pytest.fixture(params=SHELLS)
def launcher(request: pytest.FixtureRequest, tmp_path: Path) -> Launcher:
    return Launcher(tmp_path, shell_words(request.param), [f"job-worker-{number}" for number in range(70)])


def settings(launcher: Launcher, *more: str) -> tuple[str, ...]:
    return ("mpi=openmpi", f"hosts={launcher.folder}/hostfile", *more)


def test_every_worker_is_asked_and_then_mpirun_starts(launcher: Launcher) -> None:
    result = launcher.run(*settings(launcher, "wait=30"), A="1")
    assert result.returncode == 0, result.stderr
    master, *words = result.stdout.splitlines()
    assert master == "10.1.2.3"
    assert len(list(launcher.folder.glob("asked-job-worker-*"))) == 70
    assert words[-2:] == ["-np", "2"]
    assert words[words.index("-wdir") + 1] == "/usr"
    carried = {words[at + 1] for at, word in enumerate(words) if word == "-x"}
    assert carried == {"HPCLAUNCH_MASTER", "PATH", "A"}


def test_workers_that_come_late_are_waited_for(launcher: Launcher) -> None:
    launcher.script("kubexec.sh", LATE)
    result = launcher.run(*settings(launcher, "wait=30"))
    assert (result.returncode, result.stdout.splitlines()[0]) == (0, "10.1.2.3")


def test_those_that_never_come_are_named_in_one_line(launcher: Launcher) -> None:
    for number in (3, 40, 41, 69):
        (launcher.folder / f"up-job-worker-{number}").unlink()
    result = launcher.run(*settings(launcher, "wait=1"))
    assert (result.returncode, result.stdout) == (121, "")
    assert result.stderr == (
        "hpclaunch: launcher: after 1 s these workers take no connection: job-worker-3 job-worker-40 "
        "job-worker-41 and 1 more (Error from server: pods job-worker-3 not found)\n"
    )


def test_it_can_be_ended_while_it_waits(launcher: Launcher) -> None:
    """As the first process of a container a shell ignores what it does not expect."""
    (launcher.folder / "up-job-worker-0").unlink()
    command = launcher.command(*settings(launcher, "wait=600"))
    env = {"PATH": f"{launcher.folder}:{os.environ['PATH']}"}
    with subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", *command], env=env) as process:
        while not (launcher.folder / "asked-job-worker-0").exists():
            assert process.poll() is None
            time.sleep(0.02)
        child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(child[0]), signal.SIGTERM)
        assert process.wait(timeout=60) == 143


def test_the_words_own_folder_stays(launcher: Launcher) -> None:
    words = ("mpirun", "-wdir", "/opt", "/bin/sh", "-c", "exit")
    result = launcher.run(*settings(launcher), words=words)
    assert result.stdout.splitlines().count("-wdir") == 1
    # What a rank's own command has is another matter.
    words = ("mpirun", "/bin/sh", "-c", "exit", "-wdir", "/opt")
    result = launcher.run(*settings(launcher), words=words)
    assert result.stdout.splitlines().count("-wdir") == 2


@pytest.mark.parametrize(
    ("given", "words", "said"),
    [
        (("mpi=intel",), ("mpiexec.none",), "the image has no mpiexec.none (mpi: intel)"),
        (("mpi=openmpi", "hosts=/no/such"), ("mpirun",), "there is no hostfile /no/such"),
        (("mpi=openmpi", "hosts=/dev/null"), ("mpirun",), "the hostfile /dev/null names no worker"),
        (("mpi=openmpi", "colour=red"), ("mpirun",), "does not know the setting colour=red"),
        (("mpi=openmpi", "hosts={}/hostfile", "ssh=22", "kit=/none"), ("mpirun",), "the image has no ssh"),
    ],
)
def test_what_is_missing_is_said(
    launcher: Launcher, given: tuple[str, ...], words: tuple[str, ...], said: str
) -> None:
    result = launcher.run(*(setting.format(launcher.folder) for setting in given), words=words)
    assert (result.returncode, result.stdout) == (121, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
