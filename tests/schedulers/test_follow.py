"""Following a log that another process writes."""

import io
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from hpclaunch.schedulers.follow import LogReader, copy, copying_pause

WRITER = """
import random, sys, time
numbers = random.Random(7)
with open(sys.argv[1], "wb", buffering=0) as file:
    for _ in range(200):
        file.write(numbers.randbytes(numbers.randrange(0, 3000)))
        if numbers.random() < 0.2:
            time.sleep(0.002)
"""


def written() -> bytes:
    numbers = random.Random(7)
    data = b""
    for _ in range(200):
        data += numbers.randbytes(numbers.randrange(0, 3000))
        numbers.random()
    return data


def test_no_byte_is_lost_or_repeated_while_the_file_grows(tmp_path: Path) -> None:
    path, out = tmp_path / "log", io.BytesIO()
    reader = LogReader(path)
    copy(reader, out)
    with subprocess.Popen([sys.executable, "-c", WRITER, path]) as writer:
        while writer.poll() is None:
            copy(reader, out)
    copy(reader, out)
    assert out.getvalue() == written()


def test_a_log_that_begins_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    path, out = tmp_path / "log", io.BytesIO()
    reader = LogReader(path)
    path.write_bytes(b"first run, long\n")
    copy(reader, out)
    path.write_bytes(b"second\n")  # the same file, cut: Slurm when a job is requeued
    copy(reader, out)
    replacement = tmp_path / "new"
    replacement.write_bytes(b"third, in another file\n")
    os.replace(replacement, path)
    copy(reader, out)
    copy(reader, out)
    assert out.getvalue() == b"first run, long\nsecond\nthird, in another file\n"


class Clock:
    """Time that passes only in sleep; whoever sleeps finds a new line in the log."""

    def __init__(self, log: Path):
        self.log = log
        self.now = 0.0
        self.slept = 0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1
        with self.log.open("a") as log:
            log.write(f"line {self.slept}\n")


def test_a_pause_prints_what_comes_meanwhile_and_is_not_shorter_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "log", io.BytesIO()
    path.write_bytes(b"here\n")
    clock = Clock(path)
    monkeypatch.setattr("hpclaunch.schedulers.follow.time", clock)
    copying_pause(LogReader(path), out, lambda: None, 0.05)(5.0)
    assert clock.now == pytest.approx(5.0)
    assert clock.slept > 1
    assert out.getvalue() == path.read_bytes()


FOLLOWER = """
import sys
from pathlib import Path
from hpclaunch.schedulers.follow import LogReader, copying_pause
try:
    copying_pause(LogReader(Path(sys.argv[1])), sys.stdout.buffer, lambda: None, 0.05)(600)
except BrokenPipeError:
    sys.exit(5)
"""


def test_a_log_that_stays_as_it_is_ends_with_its_last_reader(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"here\n")
    with subprocess.Popen([sys.executable, "-c", FOLLOWER, path], stdout=subprocess.PIPE) as follower:
        try:
            assert follower.stdout
            assert follower.stdout.readline() == b"here\n"
            follower.stdout.close()
            assert follower.wait(120) == 5
        finally:
            follower.kill()
