"""A launcher of an MPIJob that starts ranks more than once: a job starts them once."""

from typing import Any

import pytest
import yaml
from manifest_cases import converted

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_MPIJOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: a}
spec:
  slotsPerWorker: 4
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers: [{image: reg/x:1, name: l, command: [/bin/bash, -c], args: ['ARGS']}]
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{image: reg/x:1, name: w, resources: {limits: {nvidia.com/gpu: 4}}}]
"""


# On two workers with four slots each: eight ranks, in any words.
_AS_MANY = ["-np 8", "-n 8", "--np 8", "-npernode 4", "--map-by ppr:4:node", ""]
_OTHERS = ["-np 4 -H a-worker-1", "-n 16", "-npernode 2", "-np 3"]


@pytest.mark.parametrize("first", ["-np 8", "-N 4"])
@pytest.mark.parametrize("second", [*_AS_MANY, *_OTHERS])
def test_a_second_mpirun_is_no_step_of_the_launchers_pod(first, second):
    other = " ".join(f"/usr/bin/mpirun {second} ./b".split())
    text = _MPIJOB.replace("ARGS", f"mpirun {first} ./a; {other}")
    found = convert(classified({"a.yaml": text}), Options({}))
    its = [each for each in found.findings if each.what.endswith(other)]
    assert [each.kind for each in its] == ["left"]
    assert "ranks of its own" in its[0].why
    assert "after:" not in found.job
    asked = [each for each in found.findings if each.kind == "question" and "start ranks" in each.what]
    assert len(asked) == (second in _OTHERS)


@pytest.mark.parametrize("kind", ["Pod", "PyTorchJob"])
@pytest.mark.parametrize("first", [0, 1])
def test_the_container_with_gpus_is_the_job_and_the_one_beside_it_is_named(kind: str, first: int) -> None:
    both = [
        {"name": "rxdm", "image": "reg/daemon:1", "resources": {"limits": {"nvidia.com/gpu": 0}}},
        {"name": "train", "image": "reg/train:1", "resources": {"limits": {"nvidia.com/gpu": 4}}},
    ]
    pod = {"containers": both if first else both[::-1]}
    given: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "spec": pod}
    if kind == "PyTorchJob":
        replicas = {"Worker": {"replicas": 2, "template": {"spec": pod}}}
        given |= {"apiVersion": "kubeflow.org/v1", "spec": {"pytorchReplicaSpecs": replicas}}
    draft = converted(yaml.safe_dump(given))
    assert draft.facts["image",].value == "reg/train:1"
    assert draft.facts["gpus_per_node",].value == 4
    assert any(each.kind == "left" and "rxdm" in each.what for each in draft.findings)


def test_a_sidecar_among_the_init_containers_is_no_setup_step() -> None:
    first = [
        {"name": "ship", "image": "reg/x:1", "restartPolicy": "Always", "command": ["./ship"]},
        {"name": "prepare", "image": "reg/x:1", "command": ["./prepare"]},
    ]
    ranks = [{"name": "a", "image": "reg/x:1", "resources": {"limits": {"nvidia.com/gpu": "many"}}}]
    pod = {"initContainers": first, "containers": ranks}
    given = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pod}
    draft = converted(yaml.safe_dump(given))
    assert [fact.value["run"] for key, fact in draft.facts.items() if key[0] == "setup"] == [["./prepare"]]
    (its,) = [each for each in draft.findings if "ship" in each.what]
    assert (its.kind, "sidecar" in its.why) == ("left", True)
    (asked,) = [each for each in draft.findings if each.key == "gpus_per_node" and each.kind == "question"]
    assert asked.what == "nvidia.com/gpu: many"
