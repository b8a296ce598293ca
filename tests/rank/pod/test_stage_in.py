"""The text that copies folders to a node: run twice, at once, cut short, without what images may lack."""

import os
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from pod_launching import shell_words
from running import SHELLS

from hpclaunch.rank.pod import stage_in_text

NODE = {"HPCLAUNCH_NODE": "dgx003"}
BUSYBOX = subprocess.run(["busybox", "--list"], capture_output=True, text=True).stdout.split()
NEEDED = ("cat", "cp", "find", "id", "mv", "sh", "sleep")


class Staging:
    """`tools` is all that the image has, beside its shell."""

    def __init__(self, folder: Path, shell: str):
        self.folder = folder
        self.shell = shell
        self.source, self.target, self.tools = folder / "source", folder / "target", folder / "bin"
        for made in (self.source, self.target, self.tools):
            made.mkdir()
        for name in (*NEEDED, "flock"):
            self.tool(name)
        (self.source / "a" / "b").mkdir(parents=True)
        (self.source / "a" / "b" / "file").write_text("one\n")
        (self.source / "a" / "-rf").write_text("two\n")
        (self.source / ".hidden").write_text("three\n")
        (self.source / "two  words\n").write_text("four\n")
        (self.source / "link").symlink_to("a/b/file")
        (self.source / "a" / "-rf").chmod(0o400)
        os.utime(self.source / ".hidden", (1000, 1000))

    def tool(self, name: str) -> None:
        """The shell's own kind of tools: busybox has others than coreutils, and in Debian no flock."""
        found = shutil.which("busybox" if self.shell == "busybox" and name in BUSYBOX else name)
        assert found
        (self.tools / name).symlink_to(found)

    def stand_in(self, name: str, text: str) -> None:
        (self.tools / name).unlink(missing_ok=True)
        (self.tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.tools / name).chmod(0o755)

    def command(self, *words: str) -> list[str]:
        given = words or (str(self.source), str(self.target), "imagenet")
        return [*shell_words(self.shell), "-c", stage_in_text(), "hpclaunch-stage-in", *given]

    def run(
        self, *words: str, before: tuple[str, ...] = (), **env: str
    ) -> "subprocess.CompletedProcess[str]":
        full = {"PATH": str(self.tools), **NODE, **env}
        command = [*before, *self.command(*words)]
        return subprocess.run(command, env=full, capture_output=True, text=True, timeout=60)

    def is_whole(self, times: bool = True) -> bool:
        return _seen(self.target, times) == _seen(self.source, times)


def _seen(folder: Path, times: bool) -> dict[str, tuple[int, int, str]]:
    """Modes, times in seconds, and texts."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name.startswith(".hpclaunch-staged"):
            continue
        status = path.lstat()
        text = str(path.readlink()) if path.is_symlink() else "" if path.is_dir() else path.read_text()
        when = int(status.st_mtime) if times and stat.S_ISREG(status.st_mode) else 0
        found[str(path.relative_to(folder))] = (status.st_mode, when, text)
    return found


@pytest.fixture(params=SHELLS)
def staging(request: pytest.FixtureRequest, tmp_path: Path) -> Staging:
    return Staging(tmp_path, request.param)


def test_it_is_copied_once(staging: Staging) -> None:
    first = staging.run()
    assert (first.returncode, first.stderr) == (0, "hpclaunch: stage_in on dgx003: copying imagenet\n")
    assert staging.is_whole()
    (staging.source / "later").touch()
    again = staging.run()
    assert (again.returncode, again.stderr) == (
        0,
        "hpclaunch: stage_in on dgx003: imagenet is there already\n",
    )
    assert not (staging.target / "later").exists()
    other = staging.run(str(staging.source), str(staging.target), "another one")
    assert other.returncode == 0
    assert staging.is_whole()
    assert "is there already" in staging.run().stderr


@pytest.mark.parametrize("signal_of", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_cut_short_is_copied_again(staging: Staging, signal_of: signal.Signals) -> None:
    """A half of a file is newer than the whole one."""
    staging.stand_in("cp", f"mkdir -p '{staging.target}/a'; echo o >'{staging.target}/a/-rf'; exec sleep 600")
    staging.tool("mkdir")
    half = staging.target / "a" / "-rf"
    # In a process namespace of its own, as in a pod, nothing is left of it.
    unshare = shutil.which("unshare")
    assert unshare
    inside = [unshare, "--pid", "--fork", "--kill-child", *staging.command()]
    env = {"PATH": str(staging.tools), **NODE}  # not this machine's rsync
    with subprocess.Popen(inside, env=env, stderr=subprocess.PIPE) as process:
        while not half.exists() or not half.stat().st_size:
            assert process.poll() is None
            time.sleep(0.02)
        if signal_of == signal.SIGKILL:
            process.kill()
        else:
            (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(child), signal.SIGTERM)
        assert process.wait(timeout=20) == (-9 if signal_of == signal.SIGKILL else 143)
        assert process.stderr is not None
        process.stderr.read()  # the kernel takes its time over the last of the namespace
    (staging.tools / "cp").unlink()
    staging.tool("cp")
    again = staging.run()
    assert (again.returncode, "copying" in again.stderr) == (0, True)
    assert staging.is_whole()


def test_of_two_at_once_one_copies(staging: Staging) -> None:
    log = staging.folder / "log"
    real = shutil.which("cp")
    staging.stand_in("cp", f'echo copied >>"{log}"; sleep 0.5; exec {real} "$@"')
    env = {"PATH": str(staging.tools), **NODE}
    both = [subprocess.Popen(staging.command(), env=env, stderr=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate(timeout=60)[1].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted("already" in text for text in said) == [False, True]
    assert log.read_text() == "copied\n"
    assert staging.is_whole()


def test_rsync_where_the_image_has_it(staging: Staging) -> None:
    staging.tool("rsync")
    staging.stand_in("cp", "exit 9")
    (staging.target / "a").mkdir()
    (staging.target / "a" / "-rf").write_text("t")
    result = staging.run()
    assert result.returncode == 0, result.stderr
    assert staging.is_whole()
    assert "is there already" in staging.run().stderr


def test_without_flock_it_says_so(staging: Staging) -> None:
    (staging.tools / "flock").unlink()
    result = staging.run()
    assert result.returncode == 0
    assert "no flock" in result.stderr
    assert staging.is_whole()


def test_several_folders_and_a_failure_among_them(staging: Staging) -> None:
    second = staging.folder / "second"
    second.mkdir()
    source, target = str(staging.source), str(staging.target)
    words = (
        source,
        target,
        "first",
        "/no/such",
        str(second),
        "the/missing one",
        source,
        str(second),
        "third",
    )
    result = staging.run(*words)
    assert result.returncode == 121
    assert result.stderr.splitlines()[-2:] == [
        "hpclaunch: stage_in on dgx003: there is no folder the/missing one",
        "hpclaunch: stage_in on dgx003: the/missing one was not copied: status 121",
    ]
    assert staging.is_whole()
    assert list(second.iterdir()) == []


def test_a_copy_that_fails_has_no_mark(staging: Staging) -> None:
    staging.stand_in("cp", "echo 'cp: no space left on device' >&2; exit 5")
    result = staging.run()
    assert result.returncode != 0
    assert "no space left on device" in result.stderr
    assert "imagenet was not copied: status" in result.stderr
    assert not (staging.target / ".hpclaunch-staged").exists()


@pytest.fixture
def as_another(staging: Staging) -> Staging:
    if os.geteuid() != 0:
        pytest.skip("another user needs root")
    folder = staging.folder
    while folder != Path("/tmp"):
        folder.chmod(0o755)
        folder = folder.parent
    (staging.source / "a" / "-rf").chmod(0o444)
    return staging


USER = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups")


def test_a_user_who_may_write_and_owns_nothing(as_another: Staging) -> None:
    """As an emptyDir is in a pod without root."""
    as_another.target.chmod(0o777)
    path = f"{as_another.tools}:{os.environ['PATH']}"
    result = as_another.run(before=USER, PATH=path)
    assert (result.returncode, result.stderr.count("\n")) == (0, 1), result.stderr
    assert as_another.is_whole(times=as_another.shell != "busybox")


def test_a_user_who_may_not_write(as_another: Staging) -> None:
    path = f"{as_another.tools}:{os.environ['PATH']}"
    result = as_another.run(before=USER, PATH=path)
    assert result.returncode == 121
    assert "nothing can be written to the folder that imagenet is to be copied to" in result.stderr
