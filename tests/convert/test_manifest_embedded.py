"""The manifest of ranks that stands as a text in another object."""

import pytest
from manifest_cases import converted

_TEXT = """\
      apiVersion: kubeflow.org/v2beta1
      kind: MPIJob
      metadata: {name: inner}
"""
_ARGO = f"""\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: flow}}
spec:
  templates:
  - name: t
    resource:
     manifest: |
{_TEXT}"""
_MAP = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: flow}}\ndata:\n  job.yaml: |\n{_TEXT}"
_POD = (
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: 'r/x:1'}]}\n"
)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (_ARGO, "spec.templates[0].resource.manifest of Workflow flow"),
        (_MAP, "data.job.yaml of ConfigMap flow"),
        (_MAP + _POD, "data.job.yaml of ConfigMap flow"),
    ],
)
def test_it_is_said_where_it_stands(text: str, where: str) -> None:
    said = [each for each in converted(text).findings if each.what.startswith("the manifest of")]
    assert [each.what for each in said] == [f"the manifest of an MPIJob in {where}"]


def test_of_another_text_nothing_is_said() -> None:
    text = _MAP.replace("MPIJob", "Service") + _POD
    assert not [each for each in converted(text).findings if each.what.startswith("the manifest of")]


_BOARD = """\
apiVersion: batch/v1
kind: Job
metadata: {name: count}
spec: {template: {spec: {containers: [{name: c, image: "reg/count:1", command: [count, --all]}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: board}
data:
  board.json: |
    {"legend": "late: {{ shard }}"}
"""


def test_a_place_behind_other_words_of_a_quoted_text_is_no_template() -> None:
    draft = converted(_BOARD)
    assert not [each for each in draft.findings if "shard" in each.what or "template" in each.why]
