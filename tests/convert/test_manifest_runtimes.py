"""A TrainJob and the runtime that it names, in one file or each alone."""

from typing import Any

import yaml
from manifest_cases import converted

_VERSION = "trainer.kubeflow.org/v1alpha1"
_GPUS = {"limits": {"nvidia.com/gpu": 4}}


def _train_job(**trainer: Any) -> dict[str, Any]:
    return {
        "apiVersion": _VERSION,
        "kind": "TrainJob",
        "metadata": {"name": "waves"},
        "spec": {"runtimeRef": {"name": "tidal"}, "trainer": {"command": ["./tide"], **trainer}},
    }


def _runtime(name: str = "tidal", kind: str = "ClusterTrainingRuntime") -> dict[str, Any]:
    def replicated(job: str, image: str) -> dict[str, Any]:
        pod = {"spec": {"containers": [{"name": job, "image": image}]}}
        return {"name": job, "template": {"spec": {"template": pod}}}

    jobs = [replicated("bring", "reg/bring:1"), replicated("node", "reg/tide:7")]
    spec = {"mlPolicy": {"numNodes": 6}, "template": {"spec": {"replicatedJobs": jobs}}}
    return {"apiVersion": _VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _facts(*objects: dict[str, Any]) -> tuple[dict[str, Any], str]:
    draft = converted(yaml.safe_dump_all(objects, sort_keys=False))
    said = " ".join(f"{each.kind}: {each.what}: {each.why}" for each in draft.findings)
    return {key[0]: fact.value for key, fact in draft.facts.items()}, said


def test_a_train_job_behind_its_runtime_is_the_launch() -> None:
    facts, said = _facts(_runtime(), _train_job(numNodes=2, resourcesPerNode=_GPUS))
    assert (facts["name"], facts["nodes"], facts["gpus_per_node"]) == ("waves", 2, 4)
    assert facts["image"] == "reg/tide:7"
    assert "no line tells how many" not in said
    assert "ClusterTrainingRuntime tidal" in said
    assert "it starts nothing alone" in said


def test_what_the_train_job_does_not_say_its_runtime_does() -> None:
    facts, _ = _facts(_train_job(), _runtime())
    assert (facts["nodes"], facts["image"]) == (6, "reg/tide:7")
    facts, _ = _facts(_train_job(numNodes=2, image="reg/own:1"), _runtime())
    assert (facts["nodes"], facts["image"]) == (2, "reg/own:1")


def test_nodes_are_not_determined_where_the_runtime_is_not_given() -> None:
    for others in ((), (_runtime("other"),), (_runtime(kind="TrainingRuntime"),)):
        facts, said = _facts(_train_job(image="reg/own:1"), *others)
        assert "nodes" not in facts
        assert "question: nodes: no line tells how many: trainer" in said


def test_a_runtime_alone_tells_its_own_number() -> None:
    runtime = _runtime()
    node = runtime["spec"]["template"]["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]
    node["spec"]["containers"][0]["resources"] = _GPUS
    facts, said = _facts(runtime)
    assert (facts["nodes"], facts["gpus_per_node"], facts["image"]) == (6, 4, "reg/tide:7")
    assert "no line tells how many" not in said
