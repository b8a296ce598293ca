"""The examples on both sides: the programs that they call are the recorder, in the made-up image."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from both_sides import EVERYTHING, Place, in_pods, submit, under_slurm
from differences import between

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
# What the examples call by name, and from their working folders.
ON_PATH = ("python", "caffe", "all_reduce_perf_mpi", "nvidia-smi", "git", "make", "ls", "sleep")
IN_FOLDER = ("run_and_time.sh", "build/all_reduce_perf")
# Names of examples that Kubernetes does not take.
CALLED = {
    "16gpu-tensorflow-benchmark-imagenet": "job-16gpu-tensorflow-benchmark-imagenet",
    "horovod-new_test": "horovod-new-test",
}
# How many processes of a rank are the recorder, where its command starts several.
SEVERAL = {"mofed-test-pod": 2, "nv-nccl": 5}
# The first needs MPI itself, below; the second has steps, each of which would be taken for the job's command;
# the others have groups with sizes of their own, and a sweep with `max_running`, which Kubernetes refuses.
OTHERS = ("hello-mpi", "resnet50-trials", "train-and-evaluate", "lr-search")
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml") if path.stem not in OTHERS)


@pytest.fixture(scope="module")
def programs(place: Place) -> Path:
    """The image with all of them: its folder for what the examples call their working folders."""
    recorder, folders = place.image / "bin" / "recorder", place.image / "folders"
    for name in ON_PATH:
        shutil.copy(recorder, place.image / "bin" / name)
    nccl_tests = place.image / "workdir" / "nccl-tests"
    workdirs = [job.get("workdir", "") for job in map(_read, NAMES)]
    for folder in (nccl_tests, *(folders / workdir.lstrip("/") for workdir in workdirs if workdir)):
        for name in IN_FOLDER:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(recorder, folder / name)
    return folders


@pytest.mark.parametrize("name", NAMES)
def test_examples(place: Place, programs: Path, name: str) -> None:
    job = _read(name)
    nodes = min(job.get("nodes", 1), 2)
    changes = ["--set", f"nodes={nodes}", "--set", "time=5"]
    if job["image"].endswith(".sqsh"):  # which Kubernetes refuses
        changes += ["--set", "image=made/up:1"]
    if "workdir" in job:
        changes += ["--set", f"workdir={programs}{job['workdir']}"]
    both = submit(place, EXAMPLES / f"{name}.yaml", changes)
    here = under_slurm(place, both)
    gpus = job.get("gpus_per_node", 8)
    ranks = job.get("ranks_per_node", max(gpus, 1)) * nodes
    assert (here.status, len(here.ranks)) == (0, ranks), here.said
    assert {len(rank.ran) for rank in here.ranks} == {SEVERAL.get(name, 1)}
    there = in_pods(place, both, here.given)
    assert between(here, there, {*job.get("env", ())}, CALLED.get(name, name)) == [], there.said


def test_hello_mpi_adds_up_on_both_sides(place: Place) -> None:
    shutil.copytree(EXAMPLES / "hello-mpi", place.image / "workdir" / "hello-mpi")
    both = submit(
        place, EXAMPLES / "hello-mpi.yaml", ["--set", "image=made/up:1", "--set", "ranks_per_node=2"]
    )
    here, there = under_slurm(place, both), in_pods(place, both, EVERYTHING)
    assert (here.status, there.status) == (0, 0), there.said
    ours, theirs = _said(here.said), _said(there.said)
    assert sorted(ours) == list(range(4))
    assert ours == theirs


def _read(name: str) -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))
    return job


def _said(text: str) -> dict[int, dict[str, Any]]:
    """Rank -> the parts of its line that the scheduler does not choose. mpirun writes whose a line is before
    it, and in it after each 4,096 bytes (ORTE_IOF_BASE_MSG_MAX)."""
    lines = re.sub(r"\[1,\d+\]<stdout>:", "", text).splitlines()
    said = (json.loads(line) for line in lines if line.startswith('{"hello"'))
    parts = ("hello", "size", "local_rank", "UCX_NET_DEVICES", "NCCL_IB_HCA", "argv", "cwd", "mpi")
    return {line["rank"]: {part: line.get(part) for part in parts} for line in said}
