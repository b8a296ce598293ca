"""`hpclaunch image prune` beside records that cannot be read: what a job may need stays."""

import json
import os
from pathlib import Path

import pytest
import yaml
from command import hpclaunch
from standin_slurm import StandIn

from hpclaunch.plan import sharedimage
from hpclaunch.records.lookup import all_records
from hpclaunch.records.record import Record
from hpclaunch.values.job import JobStatus

OTHER, NEEDED = "a.sqsh", sharedimage.file_name("nvcr.io/nvidia/mxnet:21.09-py3")


class Place:
    """A cluster with two images in its folder, of which a job that waits needs one."""

    def __init__(self, folder: Path):
        cluster = StandIn(folder / "cluster")
        self.env = {**os.environ, **cluster.environ, "HPCLAUNCH_HOME": str(folder / "home")}
        self.env.pop("SLURM_CONF", None)
        self.images = folder / "images"
        self.images.mkdir()
        said = {"image": "docker://a", "digest": "", "sha256": "0" * 64, "imported": "2026-01-01T00:00:00Z"}
        for name in (OTHER, NEEDED):
            (self.images / name).write_text("content")
            (self.images / f"{name}.json").write_text(json.dumps(said) + "\n")
            os.utime(self.images / name, (0, 0))
        self.site = folder / "site.yaml"
        site = {"extends": "superpod-a100", "name": "here", "slurm": {"image_folder": str(self.images)}}
        self.site.write_text(yaml.safe_dump({"version": 1, **site}))
        job = {"version": 1, "name": "a", "command": ["true"], "nodes": 1}
        image = {"ref": "nvcr.io/nvidia/mxnet:21.09-py3", "import": "shared"}
        (folder / "job.yaml").write_text(yaml.safe_dump({**job, "image": image}))
        done = hpclaunch("submit", folder / "job.yaml", "--site", self.site, env=self.env)
        assert done.returncode == 0, done.stderr
        ((self.record,), _) = all_records()

    def prune(self, *words: str) -> dict[str, str]:
        """Name -> why it stays, "" for one that is gone."""
        words = ("image", "prune", "--site", str(self.site), "--older-than", "1d", "--json", *words)
        found = json.loads(hpclaunch(*words, env=self.env).stdout)
        for each in found:
            assert each["removed"] == (not (self.images / each["image"]["name"]).exists())
        return {each["image"]["name"]: each["why"] for each in found}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    return Place(tmp_path)


def cut(record: Record, name: str) -> None:
    """As a disk that was full leaves a file."""
    path = record.folder / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def test_what_no_job_needs_is_removed(place: Place) -> None:
    assert place.prune() == {OTHER: "", NEEDED: "job 1 uses it"}


@pytest.mark.parametrize("name", ["plan.json", "intent.json"])
def test_while_a_record_cannot_be_read_nothing_is_removed(place: Place, name: str) -> None:
    cut(place.record, name)
    for words in ((), ("--dry-run",)):
        found = place.prune(*words)
        assert set(found) == {OTHER, NEEDED}
        for why in found.values():
            assert str(place.record.folder) in why


def test_the_plan_of_a_job_that_has_ended_is_no_matter(place: Place) -> None:
    cut(place.record, "plan.json")
    place.record.update(JobStatus("COMPLETED", "", 0))
    assert place.prune() == {OTHER: "", NEEDED: ""}


def test_of_a_job_whose_state_cannot_be_read_the_image_stays(place: Place) -> None:
    cut(place.record, "state.json")
    assert place.prune() == {OTHER: "", NEEDED: f"job {place.record.tag} uses it"}
