"""The import of an image to a file that all nodes see, and its removal, under the shells that nodes have."""

import hashlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from running import SHELLS
from waiting import until

from hpclaunch.rank import beside

# Stands in for enroot: notes what it imports, and takes as long as the file `slow` is there.
ENROOT = """\
#!/bin/sh
here=$(dirname "$0")
case $1 in
  digest) [ -e "$here/digest" ] && cat "$here/digest" ;;
  import)
    [ "$2" = --output ] && [ "$4" = -- ] && [ ! -e "$3" ] || exit 64
    echo "$5" >>"$here/imported"
    echo half >"$3"
    while [ -e "$here/slow" ]; do sleep 0.05; done
    [ ! -e "$here/refuses" ] || exit 9
    echo "whole $5" >"$3"
    ;;
  *) exit 64 ;;
esac
"""
# Fails where `loses` is there, as on a broken disk. What it takes before the image has its name is `synced`.
SYNC = """\
#!/bin/sh
here=$(dirname "$0")
[ ! -e "$here/loses" ] || exit 1
[ ! -e "$here/../shared images/a.sqsh" ] && cat "$@" >>"$here/synced"
"""
URI = "docker://nvcr.io#nvidia/mxnet:21.09-py3"


class Cluster:
    """A shared folder, and a node with enroot."""

    def __init__(self, folder: Path, shell: list[str]):
        self.shell = shell
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name, text in (("enroot", ENROOT), ("sync", SYNC)):
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)
        self.images = folder / "shared images"
        self.file = self.images / "a.sqsh"
        self.env = {"PATH": f"{self.bin}:{os.environ['PATH']}"}

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*self.shell, "-c", beside.text("import"), "hpclaunch-import", str(self.file), URI],
            env=self.env,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def bring(self) -> tuple[int, str]:
        done = self.start()
        said = done.communicate(timeout=30)[1]
        return done.returncode, said

    def imported(self) -> int:
        path = self.bin / "imported"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def names(self) -> list[str]:
        """What is in the folder, but for the marks of use and locks, which hold nothing."""
        found = [path for path in self.images.iterdir() if path.stat().st_size or "part" in path.name]
        return sorted(path.name for path in found)

    def ask(self, *words: str) -> str:
        done = subprocess.run(
            [*self.shell, "-c", beside.text("images"), "hpclaunch-images", words[0], self.images, *words[1:]],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        assert not done.stderr
        return done.stdout


@pytest.fixture(params=SHELLS)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, SHELLS[request.param])


def test_imports_at_the_same_moment_are_one(cluster: Cluster) -> None:
    (cluster.bin / "slow").touch()
    started = [cluster.start() for _ in range(5)]
    until(cluster.imported)
    (cluster.bin / "slow").unlink()
    said = [each.communicate(timeout=30)[1] for each in started]
    assert [each.returncode for each in started] == [0] * 5, said
    assert cluster.imported() == 1
    assert cluster.file.read_text() == f"whole {URI}\n"
    assert cluster.names() == ["a.sqsh", "a.sqsh.json"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_import_that_is_killed_leaves_no_file_and_no_lock(cluster: Cluster, number: int) -> None:
    (cluster.bin / "slow").touch()
    first = cluster.start()
    until(cluster.imported)
    os.killpg(first.pid, number)
    first.communicate(timeout=30)
    assert not cluster.file.exists()
    (cluster.bin / "slow").unlink()
    assert cluster.bring() == (0, "")
    assert cluster.file.read_text() == f"whole {URI}\n"
    assert cluster.names() == ["a.sqsh", "a.sqsh.json"]


def test_an_import_that_fails_leaves_nothing(cluster: Cluster) -> None:
    (cluster.bin / "refuses").touch()
    status, said = cluster.bring()
    assert (status, said) == (121, f"hpclaunch: enroot could not import {URI}: status 9\n")
    assert cluster.names() == []


def test_a_file_has_its_name_when_the_disk_has_all_of_it(cluster: Cluster) -> None:
    (cluster.bin / "loses").touch()
    status, said = cluster.bring()
    assert (status, said) == (
        121,
        f"hpclaunch: the disk of {cluster.images} may not have all of the image\n",
    )
    assert cluster.names() == []
    (cluster.bin / "loses").unlink()
    assert cluster.bring() == (0, "")
    beside_it = cluster.file.with_name("a.sqsh.json").read_text()
    assert (cluster.bin / "synced").read_text() == cluster.file.read_text() + beside_it


@pytest.mark.parametrize("told", ["sha256:" + "0a" * 32, "sha256:0a", 'sha256:"' + "0" * 63, None])
def test_what_is_known_of_a_file_stands_beside_it(cluster: Cluster, told: str | None) -> None:
    if told is not None:
        (cluster.bin / "digest").write_text(told + "\n")
    assert cluster.bring() == (0, "")
    size, used, name, said = cluster.ask("list").split(" ", 3)
    known = json.loads(said)
    sound = told is not None and len(told) == 71 and '"' not in told
    own = hashlib.sha256(cluster.file.read_bytes()).hexdigest()
    assert (known["digest"], known["sha256"]) == ((told, "") if sound else ("", own))
    assert (int(size), name, known["image"]) == (cluster.file.stat().st_size, "a.sqsh", URI)
    assert abs(int(used) - time.time()) < 3600


def test_who_asks_for_an_image_keeps_it(cluster: Cluster) -> None:
    cluster.bring()
    old = time.time() - 1000
    for path in cluster.images.iterdir():
        os.utime(path, (old, old))
    assert cluster.bring() == (0, "")
    assert cluster.imported() == 1
    assert cluster.ask("remove", "a.sqsh", str(int(old) + 500)) == "it is in use again\n"
    assert cluster.file.read_text() == f"whole {URI}\n"
    assert cluster.ask("remove", "a.sqsh", str(int(time.time()) + 1)) == "removed\n"
    assert cluster.ask("list") == ""
    assert cluster.names() == []
    assert cluster.bring() == (0, "")
    assert cluster.imported() == 2


def test_a_folder_that_was_never_made_has_no_images(cluster: Cluster) -> None:
    assert cluster.ask("list") == ""
