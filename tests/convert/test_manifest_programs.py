"""Manifests whose pods run several programs: which one is the job's is asked, and not one of them taken."""

from typing import Any

import pytest
import yaml
from manifest_cases import converted

from hpclaunch.convert.draft import Draft


def _container(image: str, command: list[str], gpus: int) -> dict[str, Any]:
    limits = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
    container = {"name": "pytorch", "image": image, "command": command, "resources": limits}
    return {"template": {"spec": {"containers": [container]}}}


def _manifest(kind: str, replicas: dict[str, Any]) -> Draft:
    version = "v2beta1" if kind == "MPIJob" else "v1"
    key = "mpiReplicaSpecs" if kind == "MPIJob" else "pytorchReplicaSpecs"
    return converted(
        yaml.safe_dump(
            {
                "apiVersion": f"kubeflow.org/{version}",
                "kind": kind,
                "metadata": {"name": "two"},
                "spec": {key: replicas},
            },
            sort_keys=False,
        )
    )


def _open(draft: Draft) -> set[str]:
    return {str(key[0]) for key, fact in draft.facts.items() if fact.is_open}


def _pytorch(image: str, command: list[str], gpus: int) -> Draft:
    worker = {"replicas": 2, **_container(image, command, gpus)}
    return _manifest("PyTorchJob", {"Master": _container("a:1", ["./a"], 8), "Worker": worker})


@pytest.mark.parametrize(
    ("image", "command", "gpus", "key"),
    [
        ("b:1", ["./a"], 8, "image"),
        ("a:1", ["./b"], 8, "command"),
        ("a:1", ["./a"], 4, "gpus_per_node"),
        ("a:1", ["./a"], 0, "gpus_per_node"),
    ],
)
def test_what_differs_between_master_and_worker_is_asked(
    image: str, command: list[str], gpus: int, key: str
) -> None:
    draft = _pytorch(image, command, gpus)
    assert _open(draft) == {key}
    assert [each.kind for each in draft.findings if each.key == key] == ["question"]


def test_a_worker_like_its_master_is_asked_nothing() -> None:
    assert not _open(_pytorch("a:1", ["./a"], 8))


def test_an_mpirun_of_several_programs_is_asked_for_each() -> None:
    words = ["mpirun", "-n", "8", "./a", ":", "-n", "8", "./b"]
    workers = {"replicas": 2, **_container("a:1", ["sleep", "inf"], 8)}
    draft = _manifest("MPIJob", {"Launcher": _container("a:1", words, 0), "Worker": workers})
    assert _open(draft) == {"nodes", "ranks_per_node", "command"}
    assert not [each for each in draft.findings if each.kind == "defect"]
