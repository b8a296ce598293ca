"""Where `render` and `submit` put their result."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "hpclaunch"]


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text("name: é\ncommand: [echo, 'Grüße']\n".replace("é", "e"), encoding="utf-8")
    return path


def render(job: Path, output: str, **env: str) -> "subprocess.CompletedProcess[bytes]":
    argv = [*COMMAND, "render", str(job), "--site", "superpod-a100", *(["-o", output] if output else [])]
    return subprocess.run(argv, env={**os.environ, **env}, capture_output=True, timeout=60)


def test_a_file_a_link_and_standard_output_get_the_same_bytes(job: Path, tmp_path: Path) -> None:
    printed = render(job, "", PYTHONIOENCODING="latin-1", LC_ALL="C").stdout
    assert "Grüße".encode() in printed
    real = tmp_path / "real.sh"
    real.write_text("old")
    (tmp_path / "link.sh").symlink_to("real.sh")
    assert render(job, str(tmp_path / "link.sh")).returncode == 0
    assert (tmp_path / "link.sh").is_symlink()
    assert real.read_bytes() == printed
    assert os.access(real, os.X_OK)


def test_what_is_no_file_is_written_to_and_stays(job: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert render(job, str(pipe)).returncode == 0
        assert reader.stdout
        assert reader.stdout.read().startswith(b"#!/bin/bash -p\n")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_cannot_be_written_is_named_and_nothing_is_left(job: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    for output in (str(tmp_path), str(tmp_path / "no" / "such" / "folder.sh"), "/dev/full"):
        done = render(job, output)
        assert done.returncode == 2
        assert done.stderr.decode().count("\n") == 1
        assert output in done.stderr.decode()
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("closed", [">&-", ">/dev/full"])
def test_an_id_that_standard_output_does_not_take_is_said(job: Path, tmp_path: Path, closed: str) -> None:
    """Else a script would take the job for lost, and submit it again."""
    env = {**os.environ, "HPCLAUNCH_HOME": str(tmp_path / "home")}
    script = f'exec "$@" {closed}'
    argv = ["sh", "-c", script, "sh", *COMMAND, "submit", str(job), "--local", "--wait"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "its id is 1" in done.stderr
    assert "Traceback" not in done.stderr
