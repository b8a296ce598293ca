"""Objects within a List, and within an AppWrapper, which a queue takes as a whole."""

import pytest
from manifest_cases import converted, job

_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: inner}
spec:
  nprocPerNode: "2"
  pytorchReplicaSpecs:
    Master: {template: {spec: {containers: [EACH]}}}
    Worker: {replicas: 3, template: {spec: {containers: [EACH]}}}
""".replace(
    "EACH",
    '{name: pytorch, image: "r/x:1", command: [torchrun, t.py], resources: {limits: {nvidia.com/gpu: 2}}}',
)
_HEAD = """\
apiVersion: workload.codeflare.dev/VERSION
kind: AppWrapper
metadata: {name: outer, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
"""


@pytest.mark.parametrize(
    ("version", "before"),
    [
        ("v1beta2", "  components:\n  - podSets: []\n    template:\n"),
        ("v1beta1", "  resources:\n    GenericItems:\n    - replicas: 1\n      generictemplate:\n"),
    ],
)
def test_what_it_wraps_is_converted_as_if_it_stood_alone(version: str, before: str) -> None:
    deep = " " * (len(before.split("\n")[-2]) - len(before.split("\n")[-2].lstrip()) + 2)
    draft = converted(
        _HEAD.replace("VERSION", version) + before + "".join(f"{deep}{line}\n" for line in _JOB.splitlines())
    )
    assert not draft.refused
    assert {key: value for key, (value, _) in job(draft).items()} == {
        key: value for key, (value, _) in job(converted(_JOB)).items()
    }
    said = {each.what: each.todo for each in draft.findings}
    assert said["AppWrapper outer"].endswith("sites.NAME.queue: team")


@pytest.mark.parametrize("spec", ["  components: []\n", "  components: 3\n", "  resources: {}\n"])
def test_one_that_wraps_nothing_is_refused(spec: str) -> None:
    assert converted(_HEAD + spec).refused


def test_what_is_said_of_fields_is_the_same_within_a_list() -> None:
    alone = _JOB.replace("Worker: {", "Worker: {restartPolicy: Never, ")
    alone = alone.replace("template: {spec: {", "template: {spec: {setHostnameAsFQDN: true, ")
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + alone.replace("\n", "\n  ")
    said, of_item = (
        sorted((each.kind, each.what.replace("items[0].", "")) for each in converted(text).findings)
        for text in (alone, listed)
    )
    assert ("replaced", "restartPolicy: Never") in said
    assert of_item == said
