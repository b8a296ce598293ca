"""Images that are imported once for a cluster, by jobs and by `hpclaunch image`, under the real Slurm."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from beside import Place, noting
from command import hpclaunch
from realslurm import Slurm

from hpclaunch.sandbox.recorded import pyxis

IMAGE = "nvcr.io/nvidia/mxnet:21.09-py3"
URI = "docker://nvcr.io#nvidia/mxnet:21.09-py3"
NAME = "nvcr.io+nvidia+mxnet+21.09-py3-fc04b35907695c3d.sqsh"


@pytest.fixture(scope="module")
def place(start_slurm: Callable[..., Slurm], tmp_path_factory: pytest.TempPathFactory) -> Place:
    slurm = start_slurm("--nodes", "2", "--node-type", "dgx-a100", "--name", "images")
    return Place(slurm, tmp_path_factory.mktemp("images"))


def image(place: Place, *words: str) -> "subprocess.CompletedProcess[str]":
    return hpclaunch("image", *words, "--site", place.site, env=place.env)


def prune(place: Place, *words: str) -> list[tuple[str, bool, str]]:
    found: list[dict[str, Any]] = json.loads(image(place, "prune", "--json", *words).stdout)
    return [(each["image"]["name"], each["removed"], each["why"]) for each in found]


def test_an_image_is_imported_once_for_all_jobs_and_stays_while_one_uses_it(
    place: Place, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    tmp_path.chmod(0o777)
    waits = f"until [ -e {gate} ]; do sleep 0.1; done"
    job = {"image": {"ref": IMAGE, "import": "shared"}, "command": waits, "gpus_per_node": 1}
    numbers = [place.submit(tmp_path, job) for _ in range(2)]
    end = time.monotonic() + 90
    file = place.folder / "images" / NAME
    while not file.exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    time.sleep(1.1)  # the last use is a whole second
    (kept,) = prune(place, "--older-than", "0s")
    assert kept in [(NAME, False, f"job {number} uses it") for number in numbers]
    assert file.exists()
    gate.touch()
    both = [place.wait(number, tmp_path / "notes") for number in numbers]
    assert [each.status for each in both] == [0, 0], [each.log for each in both]
    assert (place.folder / "imported").read_text().splitlines() == [URI]
    assert file.read_text() == f"{URI}\n"
    given = [options for (_, _), options in pyxis(place.slurm.folder, both[0].job).items()]
    assert [options[0].value for options in given] == [str(file)] * 2

    # What the command calls the image is what jobs call it: nothing is imported again.
    done = image(place, "import", f"docker://{IMAGE}")
    assert (done.returncode, done.stdout) == (0, f"{file}\n"), done.stderr
    assert (place.folder / "imported").read_text().splitlines() == [URI]
    assert prune(place) == []
    time.sleep(1.1)
    assert prune(place, "--older-than", "0s", "--dry-run") == [(NAME, False, "it would be removed")]
    assert file.exists()
    assert prune(place, "--older-than", "0s") == [(NAME, True, "")]
    assert not file.exists()


@pytest.mark.parametrize("where", ["node", "here"])
def test_two_imports_at_the_same_moment_are_one(place: Place, where: str, tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    text = place.site.read_text().replace("image_folder:", f"image_import: {where}\n  image_folder:")
    site.write_text(text)
    reference = f"docker://own/{where}:1"
    argv = [sys.executable, "-m", "hpclaunch", "image", "import", reference, "--site", str(site)]
    running = [subprocess.Popen(argv, env=place.env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    files = {each.communicate(timeout=120)[0].strip() for each in running}
    assert [each.returncode for each in running] == [0, 0]
    (file,) = files
    assert Path(file).read_text() == f"{reference}\n"
    imported = (place.folder / "imported").read_text().splitlines()
    assert imported.count(reference) == 1
    listed = {each["image"]: each for each in json.loads(image(place, "list", "--json").stdout)}
    assert listed[reference]["bytes"] == Path(file).stat().st_size
    if where == "node":
        steps = place.slurm.run("squeue", "--noheader", "--states=all", "--format=%j").stdout
        assert "hpclaunch-image" in steps.split()


def test_an_import_that_fails_ends_the_job_and_the_command(place: Place, tmp_path: Path) -> None:
    note = noting(tmp_path)
    job = {
        "image": {"ref": "refused:1", "import": str(place.folder / "images")},
        "command": note("command"),
        "after": [{"run": note("after"), "where": "host", "per": "job"}],
    }
    done = place.wait(place.submit(tmp_path, job), tmp_path / "notes")
    assert done.status == 121
    assert "enroot could not import docker://refused:1: status 9" in done.log
    assert done.order() == ["after"]
    tried = image(place, "import", "refused:1")
    assert tried.returncode == 3
    assert "enroot could not import docker://refused:1: status 9" in tried.stderr
    left = [path for path in (place.folder / "images").glob("*refused*") if path.stat().st_size]
    assert left == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import", "podman://a"], "podman:// images are not taken"),
        (["import", "a.sqsh"], "squashfs file already"),
        (["prune", "--older-than", "soon"], "--older-than"),
        (["list", "--folder", "here"], "no absolute path"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_done(place: Place, words: list[str], said: str) -> None:
    done = image(place, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["alike", "hetjob"])
def test_groups_start_when_their_image_is_imported(place: Place, tmp_path: Path, kind: str) -> None:
    reference = f"groups/{kind}:1"
    act = {"nodes": 1, **({"gpus_per_node": 4} if kind == "hetjob" else {})}
    job = {
        "image": {"ref": reference, "import": "shared"},
        "world": "separate",
        "command": "true",
        "groups": {"learn": {"nodes": 1}, "act": act},
    }
    done = place.wait(place.submit(tmp_path, {**job, "nodes": 1}), tmp_path / "notes")
    assert done.status == 0, done.log
    assert (place.folder / "imported").read_text().splitlines().count(f"docker://{reference}") == 1
    (file,) = (place.folder / "images").glob(f"groups+{kind}*.sqsh")
    second = [done.job + 1] if kind == "hetjob" else []
    given = [
        option[0].value
        for number in (done.job, *second)
        for option in pyxis(place.slurm.folder, number).values()
    ]
    assert given == [str(file)] * 2
    refused = {**job, "nodes": 1, "image": {"ref": "refused:2", "import": "shared"}}
    failed = place.wait(place.submit(tmp_path, refused), tmp_path / "notes")
    assert failed.status == 121
    assert "enroot could not import docker://refused:2: status 9" in failed.log
    assert not pyxis(place.slurm.folder, failed.job)
