"""Pods that run what their image says, without a command of their own."""

import pytest
from manifest_cases import converted

_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: tide}
spec:
  NUMBER
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - {name: pytorch, image: "reg.io/tide:1", resources: {limits: {nvidia.com/gpu: 4}}}
"""


@pytest.mark.parametrize(("number", "is_said"), [('nprocPerNode: "4"', True), ("runPolicy: {}", False)])
def test_a_number_for_torchrun_is_said_to_be_no_number_of_what_the_image_starts(
    number: str, is_said: bool
) -> None:
    draft = converted(_JOB.replace("NUMBER", number))
    (todo,) = (each.todo for each in draft.findings if each.kind == "question" and each.key == "command")
    said = [each in todo for each in ("is for a torchrun that the image may start", "ranks_per_node: 1")]
    assert said == [is_said, is_said]
