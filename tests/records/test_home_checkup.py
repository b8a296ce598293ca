"""Which file system the folder of records is on, as `hpclaunch doctor` tells it."""

import os
from pathlib import Path

import pytest

from hpclaunch.records import checkup


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands in /proc/self/mounts."""
    file = tmp_path / "mounts"
    monkeypatch.setattr(checkup, "_MOUNTS", file)
    return file


def test_the_longest_mount_point_above_a_folder_counts(tmp_path: Path, mounts: Path) -> None:
    inner = tmp_path / "a b"
    (inner / "deep").mkdir(parents=True)
    (tmp_path / "a bc").mkdir()
    escaped = str(inner).replace(" ", "\\040")
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {escaped} nfs4 rw 0 0\n")
    assert checkup._file_system(inner / "deep")[1] == "nfs4"
    assert checkup._file_system(inner)[1] == "nfs4"
    assert checkup._file_system(tmp_path / "a bc")[1] == "ext4"


@pytest.mark.parametrize("name", ["ü", "日本", b"\xff", "\u2028", "\x85", "a\\134b"])
def test_mount_points_of_any_characters(tmp_path: Path, mounts: Path, name: str | bytes) -> None:
    """The kernel escapes blanks, tabs, line breaks and backslashes alone; other bytes stand there as they
    are, also those of somebody else's mounts."""
    raw = os.fsencode(tmp_path) + b"/" + os.fsencode(name)
    os.mkdir(raw)
    shown = raw.replace(b"\\", b"\\134")
    mounts.write_bytes(b"/dev/sda / ext4 rw 0 0\nserver:/x " + shown + b" lustre rw 0 0\nodd\n")
    assert checkup._file_system(Path(os.fsdecode(raw)))[1] == "lustre"
    assert checkup._file_system(tmp_path)[1] == "ext4"
