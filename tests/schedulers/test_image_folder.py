"""A folder of images that jobs share: what `image prune` removes beside records that cannot be read, and what
a record and `doctor` know of a file there."""

import json
import os
import re
from pathlib import Path

import pytest
import yaml
from command import hpclaunch
from standin_slurm import StandIn

from hpclaunch.plan import sharedimage
from hpclaunch.records import lock
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
        self.site, self.job = folder / "site.yaml", folder / "job.yaml"
        site = {"extends": "superpod-a100", "name": "here", "slurm": {"image_folder": str(self.images)}}
        self.site.write_text(yaml.safe_dump({"version": 1, **site}))
        job = {"version": 1, "name": "a", "command": ["true"], "nodes": 1}
        image = {"ref": "nvcr.io/nvidia/mxnet:21.09-py3", "import": "shared"}
        self.job.write_text(yaml.safe_dump({**job, "image": image}))
        self.record = self.submit()

    def submit(self) -> Record:
        done = hpclaunch("submit", self.job, "--site", self.site, env=self.env)
        assert done.returncode == 0, done.stderr
        return all_records()[0][0]

    def note(self, digest: str, sha256: str) -> None:
        """What import.sh writes when it has imported the job's image."""
        said = {"image": "a", "digest": digest, "sha256": sha256, "imported": "2026-01-01"}
        (self.images / f"{NEEDED}.json").write_text(json.dumps(said) + "\n")

    def reruns(self) -> list[str]:
        """What `rerun` says of the image."""
        done = hpclaunch("rerun", self.record.tag, "--dry-run", env=self.env)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stderr.splitlines() if "image" in line]

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


@pytest.mark.parametrize("what", ["digest", "sha256"])
def test_the_record_knows_which_content_a_tag_stood_for(place: Place, what: str) -> None:
    before, after = ("sha256:" + each * 64 if what == "digest" else each * 64 for each in "12")
    place.note(**{"digest": "", "sha256": "", what: before})
    place.record = place.submit()
    image = lock.read(place.record).image
    assert image is not None
    assert {what: before, "file": str(place.images / NEEDED)} == {
        name: getattr(image, name) for name in ("digest", "sha256", "file") if getattr(image, name)
    }
    assert place.reruns() == []
    place.note(**{"digest": "", "sha256": "", what: after})  # it was removed, and the tag has moved
    (said,) = place.reruns()
    assert re.search(rf"image {what}: {before[:10]}.* -> {after[:10]}", said)


def test_what_the_first_job_imports_is_the_same_when_it_runs_again(place: Place) -> None:
    (place.images / f"{NEEDED}.json").unlink()
    place.record = place.submit()
    image = lock.read(place.record).image
    assert image is not None
    assert (image.digest, image.sha256) == (None, "")
    assert image.reason
    place.note("sha256:" + "0a" * 32, "")
    assert place.reruns() == []


def test_doctor_looks_for_the_file_that_a_job_uses(place: Place) -> None:
    def found() -> dict[str, str]:
        done = hpclaunch("doctor", "--site", place.site, "--job", place.job, "--json", env=place.env)
        return {row["subject"]: row["result"] for row in json.loads(done.stdout)}

    file = str(place.images / NEEDED)
    assert found()[file] == "ok"
    Path(file).unlink()
    checks = found()
    assert file not in checks
    assert checks["nvcr.io/nvidia/mxnet:21.09-py3"] == "not known"
