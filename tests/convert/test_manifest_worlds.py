"""WORLD_SIZE that a manifest gives by hand, beside the pods that it has."""

import pytest
from manifest_cases import converted

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.report.conversion import text

_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: first}
spec:
  completions: PODS
  parallelism: PODS
  completionMode: Indexed
  template:
    spec:
      containers:
      - name: c
        image: reg/x:1
        command: COMMAND
        env:
        - {name: RANK, value: "0"}
        - {name: WORLD_SIZE, GIVEN}
        resources: {limits: {nvidia.com/gpu: 8}}
"""


def _converted(given: str, pods: int = 1, command: str = "[python, t.py]") -> Draft:
    return converted(_JOB.replace("PODS", str(pods)).replace("GIVEN", given).replace("COMMAND", command))


@pytest.mark.parametrize(
    ("given", "pods", "asked"),
    [
        ("value: '4'", 1, "nodes"),  # three more pods are somewhere else
        ("value: '1'", 4, "nodes"),  # each is a launch of its own
        ("value: '8'", 1, "ranks_per_node"),  # the program starts one for each GPU
        ("value: '32'", 4, "ranks_per_node"),
        ("value: 'HOW_MANY'", 1, "nodes"),  # what fills it in makes such a Job for each rank
    ],
)
def test_a_world_that_the_pods_do_not_come_to_is_asked_about(given: str, pods: int, asked: str) -> None:
    facts = _converted(given, pods).facts
    assert {key for (key, *_), fact in facts.items() if fact.is_open} == {asked}
    assert given.split("'")[1] in facts[(asked,)].question


@pytest.mark.parametrize(
    ("given", "pods", "command"),
    [
        ("value: '1'", 1, "[python, t.py]"),
        ("value: '4'", 4, "[python, t.py]"),
        ("valueFrom: {configMapKeyRef: {name: m, key: k}}", 4, "[python, t.py]"),
        ("value: many", 4, "[python, t.py]"),
        ("value: many", 1, "[sh, -c, 'export WORLD_SIZE=1; python t.py']"),
        ("value: '4'", 1, "[torchrun, --nproc_per_node=8, t.py]"),
        ("value: '4'", 1, "[sh, -c, 'export WORLD_SIZE=1; python t.py']"),
    ],
)
def test_a_world_that_agrees_or_that_another_one_makes_asks_nothing(
    given: str, pods: int, command: str
) -> None:
    facts = _converted(given, pods, command).facts
    assert not [key for key in ("nodes", "ranks_per_node") if facts[(key,)].is_open]


def test_a_world_of_a_pod_that_its_ranks_are_not_is_told_in_the_report() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: ubuntu, "
    pod += 'command: [python, t.py], env: [{name: WORLD_SIZE, value: "8"}]}]}\n'
    assert "(WORLD_SIZE was 8)" in text(convert(classified({"a.yaml": pod}), Options({})))
