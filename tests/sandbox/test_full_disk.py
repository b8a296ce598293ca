"""Submissions from a disk that is full, under a real Slurm: each says so or was sent, and with room again
each that began is one job, or known to be none."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from breaking import Command
from realslurm import Slurm

from hpclaunch.records.lookup import all_records

PAGE = os.sysconf("SC_PAGESIZE")


class Disk:
    """A file system of its own, whose room can be set to what is used and so much more."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        self._mount("-t", "tmpfs", "tmpfs")

    def room(self, pages: int | None = None, inodes: int | None = None) -> None:
        """Leaves room for so many pages and inodes; None is as many as one likes."""
        seen = os.statvfs(self.folder)
        size = 2**26 if pages is None else (seen.f_blocks - seen.f_bfree + pages) * PAGE
        most = 10_000 if inodes is None else seen.f_files - seen.f_ffree + inodes
        self._mount("-o", f"remount,size={size},nr_inodes={most}")

    def used(self) -> tuple[int, int]:
        """Pages and inodes."""
        seen = os.statvfs(self.folder)
        return seen.f_blocks - seen.f_bfree, seen.f_files - seen.f_ffree

    def _mount(self, *words: str) -> None:
        subprocess.run(["mount", *words, str(self.folder)], check=True)


@pytest.fixture
def disk(slurm_possible: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    try:
        made = Disk(tmp_path / "home")
    except subprocess.CalledProcessError:
        pytest.skip("no file system can be mounted here")
    monkeypatch.setenv("HPCLAUNCH_HOME", str(made.folder))
    yield made
    subprocess.run(["umount", "--lazy", str(made.folder)], check=True)


@pytest.fixture
def slurm(disk: Disk, start_slurm: Callable[..., Slurm]) -> Slurm:
    """One node, which sees the disk since it was started later."""
    return start_slurm("--nodes", "1", "--node-type", "dgx-a100", "--name", "full")


def test_with_room_for_a_part_of_a_submission(slurm: Slurm, disk: Disk, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    job = tmp_path / "job.yaml"
    spec = {"name": "full", "nodes": 1, "ranks_per_node": 1, "gpus_per_node": 0, "time": 5}
    spec |= {"secrets": ["TOKEN"], "command": f"echo $SLURM_JOB_ID >>{ran}"}
    # Nothing runs before the disk has room again: Slurm could not write a log.
    job.write_text(yaml.safe_dump({**spec, "sites": {"full": {"sbatch": ["--hold"]}}}))
    environ = {"HPCLAUNCH_HOME": str(disk.folder), "SLURM_CONF": str(slurm.slurm_conf), "TOKEN": "x"}
    submit = Command(["submit", job, "--site", slurm.site], tmp_path, environ)

    before = disk.used()
    assert submit.done()[0] == 0
    pages, inodes = (after - then for after, then in zip(disk.used(), before, strict=True))
    limits: list[Callable[[], None]] = [
        *(lambda room=room: disk.room(pages=room) for room in range(pages + 1)),
        *(lambda room=room: disk.room(inodes=room) for room in range(inodes + 1)),
    ]
    sent = 1
    for limit in limits:
        limit()
        status, out, said = submit.done()
        disk.room()
        assert "Traceback" not in said
        assert (status == 0) == out.strip().isdigit(), said
        assert status == 0 or "No space left on device" in said
        sent += status == 0
    assert sent > 2  # the whole of a submission fits twice

    resume = Command(["submit", "--resume"], tmp_path, environ)
    status, _, said = resume.done()
    assert status == 0, said
    records, problems = all_records()
    assert not problems
    ids = [record.state().job_id for record in records if record.state().job_id]
    assert len(ids) >= sent
    assert all(record.state().status is not None for record in records if not record.state().job_id)
    slurm.run("scontrol", "release", ",".join(map(str, ids)))
    for job_id in ids:
        assert slurm.wait(int(str(job_id))) == 0
    assert sorted(ran.read_text().split()) == sorted(map(str, ids))
    listed = slurm.run("squeue", "--noheader", "--states=all", "--name=full", "--format=%i").stdout
    assert sorted(listed.split()) == sorted(map(str, ids))
