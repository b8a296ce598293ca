"""`hpclaunch explain` for a Kubernetes site: what the pods are given, and which line set it."""

from pathlib import Path

import pytest
from command import origins

JOB = """\
version: 1
name: Train_A
image: nvcr.io/nvidia/tensorflow:20.03-tf2-py3
command: [python, main.py]
nodes: 2
mpi: pmix
mounts: ["imagenet:/data:ro"]
sites:
  pods: {namespace: theirs}
"""
SITE = """\
version: 1
name: pods
scheduler: kubernetes
node_types:
  - type: dgx-a100
    count: 4
    allocatable: {cpu: 200}
kubernetes:
  mpi_operator: "0.8.0"
  rdma: {mlx5_0: shared_ib0}
volumes:
  imagenet: {claim: data-pvc}
"""


@pytest.fixture
def rows(tmp_path: Path) -> dict[str, tuple[str, str]]:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "site.yaml").write_text(SITE)
    return origins("job.yaml", "--site", "./site.yaml", cwd=tmp_path)


def place(text: str, words: str, file: str) -> str:
    (number,) = [at for at, line in enumerate(text.splitlines(), 1) if words in line]
    return f"{file}:{number}"


@pytest.mark.parametrize(
    ("what", "value", "words"),
    [
        ("object", "MPIJob (kubeflow.org/v2beta1), workers reached by ssh", "mpi_operator"),
        ("pod: cpu", "200", "allocatable"),
        ("pod: rdma/shared_ib0", "1", "rdma:"),
    ],
)
def test_what_the_site_sets_is_named_with_its_line(rows, what, value, words):
    assert rows[what][0] == value
    assert rows[what][1].endswith(place(SITE, words, "site.yaml"))


def test_what_the_job_sets_is_named_with_its_line(rows):
    assert rows["namespace"] == ("theirs", place(JOB, "namespace:", "job.yaml"))
    assert rows["object's name"][0] == "train-a"
    assert rows["mounts[0]"][0] == "imagenet:/data:ro"


def test_what_nobody_set_says_how_it_came(rows):
    assert rows["pod: nvidia.com/gpu"] == ("8", "default: all of the node's GPUs")
    assert rows["pod: /dev/shm"][1] == "half of the pod's memory"
