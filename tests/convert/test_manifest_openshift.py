"""A Template of OpenShift: its objects with the values of its parameters, as `oc process` makes them."""

from typing import Any

import pytest
import yaml
from manifest_cases import converted, job

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_OBJECTS = """\
- apiVersion: v1
  kind: Service
  metadata: {name: "${NAME}"}
- apiVersion: kubeflow.org/v1
  kind: PyTorchJob
  metadata: {name: "${NAME}-fit"}
  spec:
    pytorchReplicaSpecs:
      Worker:
        restartPolicy: Never
        replicas: ${{NODES}}
        template:
          spec:
            setHostnameAsFQDN: true
            containers:
            - name: pytorch
              image: reg/fit:${TAG}
              command: [sh, -c, 'cd ${HOME}; python fit.py ${STEPS} ${EXTRA}']
              env: [{name: OUT, value: "/out/${NAME}/${RUN}"}]
              resources: {limits: {nvidia.com/gpu: 2}}
"""


def _template(parameters: str, version: str = "template.openshift.io/v1") -> str:
    head = f"apiVersion: {version}\nkind: Template\nmetadata: {{name: t}}\nlabels: {{team: a}}\n"
    return f"{head}parameters:\n{parameters}objects:\n{_OBJECTS}"


def _parameters(**values: str) -> str:
    told = {"NAME": "sky", "NODES": "3", "TAG": "v7", "STEPS": "--steps=5", "RUN": "one"} | values
    return "".join(f'- {{name: {name}, value: "{value}"}}\n' for name, value in told.items())


def _facts(text: str) -> dict[str, Any]:
    return {key: value for key, (value, _) in job(converted(text)).items()}


@pytest.mark.parametrize("version", ["template.openshift.io/v1", "v1"])
def test_values_of_parameters_stand_in_the_job(version):
    facts = _facts(_template(_parameters() + "- name: EXTRA\n", version))
    assert (facts["name"], facts["nodes"], facts["image"]) == ("sky-fit", 3, "reg/fit:v7")
    assert (facts["env.OUT"], facts["gpus_per_node"]) == ("/out/sky/one", 2)
    assert "--steps=5" in str(facts["command"])
    assert "${HOME}" in str(facts["command"])  # it is none of its parameters
    assert "EXTRA" not in str(facts["command"])  # neither required nor told: oc puts in nothing


@pytest.mark.parametrize(
    "untold", ["{name: TAG, required: true}", "{name: TAG, generate: expression, from: '[a-z]{3}'}"]
)
def test_what_nobody_told_is_asked_for(untold):
    found = converted(_template(f"- {untold}\n" + _parameters(TAG="").replace("TAG", "OTHER")))
    asked = [each for each in found.findings if each.kind == "question" and each.key == "image"]
    assert len(asked) == 1
    assert "--env TAG=VALUE" in asked[0].todo
    assert not [each for each in found.findings if "envsubst" in f"{each.why} {each.todo}"]


def test_a_value_of_the_operator_counts_over_the_templates():
    text = _template(_parameters() + "- name: EXTRA\n")
    found = convert(classified({"t.yaml": text}), Options({"NODES": "5", "TAG": "v8"}))
    made = yaml.safe_load(found.job)
    assert (made["nodes"], made["image"]) == (5, "reg/fit:v8")


def test_a_secret_among_parameters_stays_out():
    text = _template(_parameters() + '- {name: DB_PASSWORD, value: "otter-in-june"}\n')
    text = text.replace("${STEPS}", "--key ${DB_PASSWORD}")
    found = convert(classified({"t.yaml": text}), Options({}))
    assert "otter-in-june" not in found.job + str(found.findings)
    assert any(each.key == "command" and each.kind == "question" for each in found.findings)


def test_a_field_that_the_api_has_is_not_called_strange():
    said = {each.what.rpartition(".")[2]: each.kind for each in converted(_template(_parameters())).findings}
    assert said["setHostnameAsFQDN: true"] == "left"
    assert said["restartPolicy: Never"] == "replaced"


@pytest.mark.parametrize("objects", ["objects: []\n", "objects: 3\n", ""])
def test_a_template_without_a_job_is_refused(objects):
    assert converted(f"apiVersion: v1\nkind: Template\nmetadata: {{name: t}}\n{objects}").refused
