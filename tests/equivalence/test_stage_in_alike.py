"""A folder that is copied near is the same under Slurm, and by the init container of a manifest in a pod; so
is what becomes of a source that is not there."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from both_sides import Place, submit, under_slurm
from kubelet_expansion import expand
from pods_here import Container, Pods


@pytest.fixture
def job(place: Place, tmp_path: Path) -> Path:
    """A job that lists what was copied for it."""
    source = tmp_path / "source"
    (source / "a" / "b").mkdir(parents=True)
    (source / "a" / "b" / "two  words").write_text("one\n")
    (source / ".hidden").write_text("two\n")
    (source / "link").symlink_to("a/b")
    file = tmp_path / "job.yaml"
    full = {
        "name": "near",
        "image": "made/up:1",
        "command": ["/bin/true"],
        "gpus_per_node": 1,
        "ranks_per_node": 1,
        "stage_in": [f"{source}:{tmp_path / 'target'}"],
        "setup": [{"run": ["/bin/ls", "-R", str(tmp_path / "target")]}],
        "time": 5,
    }
    file.write_text(yaml.safe_dump({"version": 1, **full}))
    return file


def copied_in_a_pod(manifest: Mapping[str, Any], scratch: Path, target: Path) -> tuple[int, str]:
    """As the kubelet runs the init container of a worker; it makes the folder to copy to."""
    pod = manifest["spec"]["template"]["spec"]
    (container,) = pod["initContainers"]
    volumes = {each["name"]: each for each in pod["volumes"]}
    mounts = []
    for mount in container["volumeMounts"]:
        host = volumes[mount["name"]]["hostPath"]
        if host["type"] == "DirectoryOrCreate":
            assert Path(host["path"]) == target
            target.mkdir()
        mounts.append((Path(host["path"]), mount["mountPath"]))
    with Pods(scratch) as pods:
        argv = [expand(word, {}) for word in (*container["command"], *container["args"])]
        env = {"PATH": "/usr/bin:/bin", "HPCLAUNCH_NODE": "dgx1"}
        pods.start(1, Container("near-x7k2p", argv, env, "/", mounts))
        return pods.wait("near-x7k2p"), pods.logs()


def tree(folder: Path) -> dict[str, str]:
    """What is there, but for the marks of the copying."""
    return {
        str(
            path.relative_to(folder)
        ): f"{path.lstat().st_mode:o} {path.read_text() if path.is_file() else ''}"
        for path in folder.rglob("*")
        if not path.name.startswith(".hpclaunch-staged")
    }


def test_what_is_copied(place: Place, job: Path, tmp_path: Path) -> None:
    both = submit(place, job)
    here = under_slurm(place, both)
    assert here.status == 0, here.said
    assert "two  words" in here.said
    target = tmp_path / "target"
    on_slurm = tree(target)
    assert on_slurm == tree(tmp_path / "source")
    shutil.rmtree(target)
    (tmp_path / "pods").mkdir()
    status, said = copied_in_a_pod(both.manifest, tmp_path / "pods", target)
    assert status == 0, said
    assert tree(target) == on_slurm


def test_a_source_that_is_not_there(place: Place, job: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "source")
    both = submit(place, job)
    here = under_slurm(place, both)
    # The kubelet would not start such a pod; that the folder is gone by then is the text's to say.
    (tmp_path / "pods").mkdir()
    (tmp_path / "target").rmdir()
    manifest = yaml.safe_load(yaml.safe_dump(both.manifest))
    volume = manifest["spec"]["template"]["spec"]["volumes"][0]
    assert volume["hostPath"] == {"path": str(tmp_path / "source"), "type": "Directory"}
    (tmp_path / "source").touch()
    status, said = copied_in_a_pod(manifest, tmp_path / "pods", tmp_path / "target")
    assert (here.status, status) == (121, 121), here.said + said
    line = f"hpclaunch: stage_in on dgx1: there is no folder {tmp_path / 'source'}"
    assert line in here.said
    assert line in said
