"""Whatever the text is, it gives a Launch or one clear error with its place."""

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rendered import CLUSTER, JOB, render

from hpclaunch.readback.kubernetes.reader import read
from hpclaunch.values.errors import InputError

PLACE = re.compile(r"manifest(:\d+:\d+)?")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats() | st.text(max_size=8),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=6), each, max_size=3),
    max_leaves=6,
)
LINES = (
    *("a: 1", "- b", "  c: {d: [e, f]}", "&x *x", "&y", "*y", "kind: MPIJob"),
    *("---", "? [k]: v", "!t x", "'", "\t", "{", "%"),
)


def check(text: str) -> None:
    try:
        read(text)
    except InputError as error:
        problems = error.problems
    else:
        problems = ()
    assert all(PLACE.fullmatch(each.where) for each in problems), problems
    assert all(each.message and "\n" not in each.message for each in problems), problems


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(LINES), max_size=6).map("\n".join))
def test_any_text(text: str) -> None:
    check(text)


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """An MPIJob, a Job of several ranks, and one of one rank."""
    one = {**JOB, "nodes": 1}
    single = {**one, "gpus_per_node": 1, "ranks_per_node": 1, "mpi": "none"}
    folder = tmp_path_factory.mktemp("fuzz")
    return [yaml.safe_load(render(folder, job, CLUSTER)[0]) for job in (JOB, one, single)]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_value_in_any_place_of_a_manifest(manifests: list[Any], data: st.DataObject) -> None:
    manifest = json.loads(json.dumps(data.draw(st.sampled_from(manifests))))
    at = manifest
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        below = at[key]
        if not (isinstance(below, (dict, list)) and below) or not data.draw(st.integers(0, 4)):
            break
        at = below
    at[key] = data.draw(VALUES)
    check(yaml.safe_dump(manifest, allow_unicode=True))


POD = "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a}]}\n"
BILLION = "\n".join(
    ["a0: &a0 [x]", *(f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 9))]
)
WRONG = {
    POD.replace("name: a", "name: 1"): "manifest:3:28: spec.containers[0].name: Expected `str`, got `int`",
    POD.replace("name: a", "name: a, tty: yes, env: [{name: B, value: on}]"): "put it in quotes",
    POD.replace("[{name: a}]", "[]"): "manifest:3:7: a pod has no container",
    POD + "---\n" + POD: "manifest:5:1: a second object that starts ranks",
    "a: &a [*a]": "manifest:1:4: too deep",
    BILLION: "too deep, or too much",
    "[" * 200_000: "nested more than 64 levels deep",
    "kind: Job\nkind: Job": "manifest:2:1: the key 'kind' stands twice",
    "kind: !!python/name:os.system x": "manifest:1:7: a tag",
    "<<: {kind: Job}": "manifest:1:1: a merge key",
    "- a": "manifest:1:1: a manifest begins with apiVersion and kind",
    "": "manifest: nothing: nothing here that starts ranks",
    "apiVersion: v1\nkind: Secret": "manifest:1:1: Secret v1: nothing here that starts ranks",
    "apiVersion: kubeflow.org/v3\nkind: MPIJob": "MPIJob kubeflow.org/v3: nothing here",
    "apiVersion: batch/v1\nkind: Job": "manifest:1:1: Object missing required field `spec`",
    (
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nspec:\n"
        "  mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: a}]}}}}"
    ): "manifest:4:20: an MPIJob without a worker",
}


@pytest.mark.parametrize(("text", "said"), WRONG.items(), ids=range(len(WRONG)))
def test_what_is_said(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert said in str(caught.value)


def test_a_file_is_named() -> None:
    with pytest.raises(InputError, match=r"job\.yaml:2:1: not YAML"):
        read("a: [", "job.yaml")
