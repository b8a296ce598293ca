"""Where the values of pods came from, in the cases that have another reason than the usual."""

from pathlib import Path

import command
import pytest

JOB = """\
version: 1
name: j
command: [x]
image: a/b
"""
SITE = """\
version: 1
name: s
scheduler: kubernetes
node_types:
  - {type: dgx-a100, count: 4}
kubernetes:
  mpi_operator: "0.8.0"
  rdma: {mlx5_0: shared_ib0}
volumes:
  ram: {empty_dir: {memory: true, size: 16Gi}}
"""


def origins(folder: Path, more: str) -> dict[str, tuple[str, str]]:
    (folder / "job.yaml").write_text(JOB + more)
    (folder / "site.yaml").write_text(SITE)
    return command.origins("job.yaml", "--site", "./site.yaml", cwd=folder)


def test_one_node_has_nothing_of_the_operator(tmp_path: Path) -> None:
    assert origins(tmp_path, "")["object"] == ("Job (batch/v1)", "one node")
    assert origins(tmp_path, "nodes: 2\n")["object"][1] == "./site.yaml:7"


@pytest.mark.parametrize(("ranks", "there"), [("ranks_per_node: 1\n", False), ("", True)])
def test_one_rank_of_one_pod_is_started_by_no_mpi(tmp_path: Path, ranks: str, there: bool) -> None:
    assert ("MPI of the image" in origins(tmp_path, ranks)) == there


def test_without_gpus_ranks_are_what_counts(tmp_path: Path) -> None:
    found = origins(tmp_path, "gpus_per_node: 0\nranks_per_node: 3\n")
    assert found["pod: cpu"] == ("3", "job.yaml:6")
    assert found["pod: memory"][1] == "job.yaml:6"
    assert "a CPU for each rank" in origins(tmp_path, "gpus_per_node: 0\n")["pod: cpu"][1]


def test_memory_that_the_job_mounts_is_not_shared_memory(tmp_path: Path) -> None:
    found = origins(tmp_path, "mounts: ['ram:/fast']\n")
    assert found["pod: /dev/shm"][0] != "16Gi"
    assert "pod: /dev/shm" not in origins(tmp_path, "mounts: ['ram:/dev/shm']\n")


def test_the_user_of_the_containers(tmp_path: Path) -> None:
    assert "user" not in origins(tmp_path, "")  # the image's own
    assert origins(tmp_path, "nodes: 2\n")["user"] == ("0", "root, which sshd or container.remap_root needs")
    assert origins(tmp_path, "sites:\n  s:\n    user: 7\n")["user"] == ("7", "job.yaml:7")
