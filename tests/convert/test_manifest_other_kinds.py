"""Objects of controllers that are not read: refused by their name, with what they tell."""

from typing import Any

import pytest
import yaml
from manifest_cases import converted, job

_GPUS = {"limits": {"nvidia.com/gpu": 8}}


def _pod(image: str = "reg/train:1", **more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "image": image, "command": ["./t"], **more}]}}


_WORKERS = {"replicas": 3, "template": _pod(resources=_GPUS)}
_KINDS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("kubeflow.org/v1", "TFJob", "a TFJob", {"tfReplicaSpecs": {"Worker": _WORKERS}}),
    ("kubeflow.org/v1", "MXJob", "an MXJob", {"mxReplicaSpecs": {"Worker": _WORKERS}}),
    ("kubeflow.org/v1", "JAXJob", "a JAXJob", {"jaxReplicaSpecs": {"Worker": _WORKERS}}),
    ("batch.volcano.sh/v1alpha1", "Job", "Volcano", {"tasks": [{"name": "w", **_WORKERS}]}),
    (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        "a JobSet",
        {
            "replicatedJobs": [
                {
                    "name": "w",
                    "replicas": 1,
                    "template": {"spec": {"parallelism": 3, "template": _pod(resources=_GPUS)}},
                }
            ]
        },
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "LeaderWorkerSet",
        {"replicas": 1, "leaderWorkerTemplate": {"size": 3, "workerTemplate": _pod(resources=_GPUS)}},
    ),
    (
        "flux-framework.org/v1alpha2",
        "MiniCluster",
        "Flux",
        {"size": 3, **_pod(resources=_GPUS)["spec"]},
    ),
    (
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        "a TrainJob",
        {"trainer": {"numNodes": 3, "image": "reg/train:1", "command": ["./t"], "resourcesPerNode": _GPUS}},
    ),
]


def _object(version: str, kind: str, spec: dict[str, Any]) -> str:
    return yaml.safe_dump({"apiVersion": version, "kind": kind, "metadata": {"name": "run"}, "spec": spec})


@pytest.mark.parametrize(("version", "kind", "said", "spec"), _KINDS, ids=[each[1] for each in _KINDS])
def test_what_it_tells_is_told_and_the_kind_is_named(
    version: str, kind: str, said: str, spec: dict[str, Any]
) -> None:
    text = _object(version, kind, spec)
    draft = converted(text)
    assert said in draft.refused
    found = job(draft)
    assert {key: value for key, (value, _) in found.items()} == {
        "name": "run",
        "image": "reg/train:1",
        "nodes": 3,
        "gpus_per_node": 8,
    }
    lines = text.split("\n")
    assert "nvidia.com/gpu" in lines[found["gpus_per_node"][1] - 1]
    assert "reg/train:1" in lines[found["image"][1] - 1]


def test_parts_with_as_many_gpus_are_all_named_and_none_is_the_job() -> None:
    parts = {"Chief": {"replicas": 1, "template": _pod("reg/a:1")}, "PS": {"template": _pod("reg/b:1")}}
    draft = converted(_object("kubeflow.org/v1", "TFJob", {"tfReplicaSpecs": parts}))
    assert list(job(draft)) == ["name"]
    said = [each.what for each in draft.findings if each.kind == "left"]
    assert any("Chief: 1 pod of reg/a:1" in each for each in said)
    assert any("PS: 1 pod of reg/b:1" in each for each in said)


@pytest.mark.parametrize(
    "spec", [{}, {"tasks": 3}, {"tasks": [None]}, {"tasks": [{"template": {"spec": {"containers": {}}}}]}]
)
def test_one_without_pods_is_refused_all_the_same(spec: dict[str, Any]) -> None:
    draft = converted(_object("batch.volcano.sh/v1alpha1", "Job", spec))
    assert "Volcano" in draft.refused
    assert list(job(draft)) == ["name"]


def test_each_of_several_in_one_file_is_named_by_its_kind() -> None:
    every = [_object(version, kind, spec) for version, kind, _, spec in _KINDS]
    draft = converted("---\n".join(every))
    assert _KINDS[0][2] in draft.refused
    left = [f"{each.what}; {each.why}" for each in draft.findings if each.kind == "left"]
    for _, kind, said, _ in _KINDS:
        assert any(f"{kind} run" in each and said in each for each in left), kind
    assert not any("does not know" in each for each in left)


_VOLCANO = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: run
spec:
  minAvailable: 3
  schedulerName: volcano
  tasks:
    - replicas: 3
      name: w
      policies:
        - event: TaskCompleted
          action: CompleteJob
      template:
        spec:
          containers:
            - command: [./t]
              image: reg/train:1
              name: main
              workingDir: /home
              resources:
                limits:
                  nvidia.com/gpu: 8
          restartPolicy: OnFailure
"""


def test_one_with_the_name_of_a_kind_that_is_read_is_not_mended_by_the_types_of_that() -> None:
    draft = converted(_VOLCANO)
    assert [each.what for each in draft.findings if each.kind == "repaired"] == []
    assert {key: value for key, (value, _) in job(draft).items()} == {
        "name": "run",
        "image": "reg/train:1",
        "nodes": 3,
        "gpus_per_node": 8,
    }


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("elastic.example/v1", "ElasticJob", {"replicaSpecs": {"Worker": _WORKERS}}),
        (
            "kubeflow.org/v1beta1",
            "Experiment",
            {"trialTemplate": {"trialSpec": {"spec": {"Worker": _WORKERS}}}},
        ),
        ("batch.example/v1", "MPIJob", {"launcherTemplate": _pod("reg/a:1"), "replicas": 3, "w": _WORKERS}),
    ],
)
def test_a_kind_that_nobody_told_hpclaunch_is_a_launch_all_the_same(
    version: str, kind: str, spec: dict[str, Any]
) -> None:
    draft = converted(_object(version, kind, spec))
    assert f"{kind} of {version}" in draft.refused
    found = {key: value for key, (value, _) in job(draft).items()}
    assert found == {"name": "run", "image": "reg/train:1", "nodes": 3, "gpus_per_node": 8}


@pytest.mark.parametrize(("version", "kind"), [("apps/v1", "Deployment"), ("example.com/v1", "Certificate")])
def test_what_is_no_launch_is_none(version: str, kind: str) -> None:
    draft = converted(_object(version, kind, {"replicas": 2, "secretName": "a"}))
    assert "nothing in it starts ranks" in draft.refused
