"""Damage of the kinds that copies do to manifests is undone: what is read is what was written, and the report
says so with the lines."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_cases import converted, job

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.recognise import is_manifest
from hpclaunch.convert.manifests.text import repair
from hpclaunch.values.errors import InputError, Problem

SEEDS = Path(__file__).parent.parent / "seeds" / "manifests"
TEXTS = {path.stem: path.read_text("utf-8") for path in sorted(SEEDS.iterdir())}
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
  containers:
  - name: a
    image: b:1
    command: ["python", "x.py", "-n", "1"]
"""


def read(text: str) -> tuple[list[Any], Draft]:
    """The objects as plain data, and what was said."""
    draft = Draft()
    found = repair.objects("m.yaml", text, draft)
    return [yaml.safe_load("\n".join(line.text for line in each.lines)) for each in found], draft


def whole(text: str) -> Any:
    return yaml.safe_load(text)


def uncommented(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))


@pytest.mark.parametrize("name", TEXTS)
def test_a_whole_manifest_is_left_alone(name: str) -> None:
    found, draft = read(TEXTS[name])
    assert found == [whole(TEXTS[name])]
    assert draft.findings == []


def no_indentation(text: str) -> str:
    return re.sub(r"(?m)^ +", "", text)


def tabs(text: str) -> str:
    return re.sub(r"(?m)^ +", lambda match: "\t" * (len(match[0]) // 2), text)


def hard_spaces(text: str) -> str:
    return re.sub(r"(?m)^ +", lambda match: "\u00a0" * len(match[0]), text)


def numbered(text: str) -> str:
    return "".join(f"{number:4} {line}\n" for number, line in enumerate(text.rstrip().split("\n"), start=1))


def bullets(text: str) -> str:
    return re.sub(r"(?m)^( *)- ", "\\1\u2013 ", text)


def round_quotes(text: str) -> str:
    return re.sub(r'"([^"\n]*)"', "\u201c\\1\u201d", text)


def long_dashes(text: str) -> str:
    return re.sub(
        r"(?m)([\s\"\[])-(?=[a-z])", "\\1\u2013", re.sub(r"(?m)([\s\"])--(?=[a-z])", "\\1\u2014", text)
    )


def fenced(text: str) -> str:
    return f"```yaml\n{text}```\n"


def marked_up(text: str) -> str:
    return "".join(
        f"<pre>{line}</pre>\n" for line in text.rstrip().replace("<", "&lt;").replace(">", "&gt;").split("\n")
    )


DAMAGES = [no_indentation, tabs, hard_spaces, numbered, bullets, round_quotes, long_dashes, fenced, marked_up]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_damage_is_undone_and_said(damage: Any, name: str) -> None:
    text = uncommented(TEXTS[name])
    broken = damage(text)
    found, draft = read(broken)
    assert found == [whole(text)]
    if broken != text:
        assert [each.kind for each in draft.findings if each.kind == "repaired"]
    assert all(place.line for each in draft.findings for place in each.places)


@st.composite
def shifted(draw: st.DrawFn) -> tuple[str, str]:
    """A manifest some of whose lines, each with what is in it, stand one to three columns to the right or the
    left."""
    text = uncommented(draw(st.sampled_from(sorted(TEXTS.values()))))
    found = text.rstrip("\n").split("\n")
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(found) - 1))
        by = draw(st.integers(-3, 3))
        column = len(found[start]) - len(found[start].lstrip())
        end = start + 1
        while end < len(found) and len(found[end]) - len(found[end].lstrip()) > column:
            end += 1
        for index in range(start, end):
            bare = found[index].lstrip(" ")
            found[index] = " " * max(0, len(found[index]) - len(bare) + by) + bare
    return text, "\n".join(found) + "\n"


@settings(max_examples=100, deadline=None)
@given(shifted())
def test_lines_that_slipped_are_put_back_or_refused_with_their_place(both: tuple[str, str]) -> None:
    """Where YAML still reads another object of the text, that is what it says. Else it is the one that was
    meant, or one error with its place."""
    text, broken = both
    problems: tuple[Problem, ...] = ()
    try:
        found, draft = read(broken)
    except InputError as error:
        problems = error.problems
    if problems:
        assert all(re.fullmatch(r"m\.yaml:\d+:\d+", each.where) for each in problems)
        return
    as_it_stands = None
    with suppress(yaml.YAMLError):
        as_it_stands = whole(broken)
    assert found in ([whole(text)], [as_it_stands]) or any(each.kind == "repaired" for each in draft.findings)


def counted() -> tuple[int, int]:
    """How many of all single slips of a line with what is in it come back as they were."""
    good = total = 0
    for text in map(uncommented, TEXTS.values()):
        found = text.rstrip("\n").split("\n")
        for start in range(3, len(found), 4):
            for by in (-2, 1):
                lines = list(found)
                bare = lines[start].lstrip(" ")
                lines[start] = " " * max(0, len(lines[start]) - len(bare) + by) + bare
                broken = "\n".join(lines) + "\n"
                if broken == text:
                    continue
                total += 1
                with suppress(InputError):
                    good += read(broken)[0] == [whole(text)]
    return good, total


def test_most_single_slips_come_back_as_they_were() -> None:
    good, total = counted()
    assert good >= 0.98 * total, f"{good} of {total}"


TWO = POD + "---\n" + POD.replace("name: a", "name: c")


@pytest.mark.parametrize("between", ["--\n", "\u2014\n", "- - -\n".replace(" ", ""), "\n", "----\n"])
def test_a_cut_line_between_two_objects(between: str) -> None:
    found, _ = read(TWO.replace("---\n", between))
    assert found == list(yaml.safe_load_all(TWO))


def test_two_repairs_that_are_possible_are_said() -> None:
    """`securityContext` without its column is the container's or the pod's."""
    text = no_indentation(POD) + "securityContext:\nrunAsUser: 5\n"
    found, draft = read(text)
    assert found[0]["spec"]["containers"][0]["securityContext"] == {"runAsUser": 5}
    said = [each for each in draft.findings if "securityContext" in each.what]
    assert [each.why for each in said] == ["the API allows it below spec as well: the nearest was taken"]
    assert [each.places[0].line for each in said] == [10]


REFUSED = {
    "apiVersion: v1\nkind: Pod\nspec: {containers: [}\n": "m.yaml:3:21",
    "apiVersion: v1\nkind: Widget\n spec:\n a: b\n  c: d\n": "m.yaml:3:",
    "apiVersion: v1\nkind: Pod\nspec: *nothing\n": "m.yaml:3:7",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Values.name }}}\n": "m.yaml:3:18",
    "- apiVersion: v1\n  kind: Pod\n": "m.yaml:1:1",
    "apiVersion: v1\nkind: Pod\nspec: &a [*a]\n": "m.yaml:3:7",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_repaired_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InputError) as raised:
        read(text)
    assert raised.value.problems[0].where.startswith(REFUSED[text])


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_damaged_manifests_are_recognised(damage: Any, name: str) -> None:
    assert is_manifest(damage(TEXTS[name]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#!/bin/bash\nkubectl apply -f - <<E\napiVersion: v1\nkind: Pod\nE\n",
        "set -e\ncat <<E | kubectl apply -f -\napiVersion: v1\nkind: Pod\nE\n",
        "version: 1\nname: x\ncommand: [a]\n",
        "#SBATCH -N 2\nsrun x\n",
    ],
)
def test_other_texts_are_no_manifests(text: str) -> None:
    assert not is_manifest(text)


def test_the_items_of_a_list_stand_where_kubectl_puts_them() -> None:
    item = "- apiVersion: v1\n  kind: {}\n  metadata: {{name: {}}}\n  spec: {{}}\n"
    text = (
        "apiVersion: v1\nitems:\n"
        + item.format("Pod", "one")
        + item.format("Service", "two")
        + "kind: List\n"
    )
    found = repair.objects("m.yaml", text, Draft())
    assert [each.name for each in found] == ["Pod one", "Service two"]


@pytest.mark.parametrize(
    ("text", "twice"), [("flat below the pods", []), ("all flat", []), ("one too many", ["replicas"])]
)
def test_keys_that_belong_to_several_parents_stand_twice_in_none(text: str, twice: list[str]) -> None:
    pods = "    {}:\n{}replicas: 2\n{}template:\n{}  spec:\n{}    containers:\n{}    - {name: a, image: b}\n"
    deep = "    " if text == "flat below the pods" else "      "
    body = "".join(pods.replace("{}", pod, 1).replace("{}", deep) for pod in ("Launcher", "Worker"))
    head = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata:\n  name: w\nspec:\n  mpiReplicaSpecs:\n"
    body += "      replicas: 3\n" if text == "one too many" else ""
    found, draft = read(no_indentation(head + body) if text == "all flat" else head + body)
    pods_read = found[0]["spec"]["mpiReplicaSpecs"]
    assert [len(pods_read[pod]["template"]["spec"]["containers"]) for pod in ("Launcher", "Worker")] == [1, 1]
    said = [each.what for each in draft.findings if each.kind == "defect"]
    assert said == [f"the key {name} stands twice" for name in twice]


@pytest.mark.parametrize(
    ("fields", "is_one"),
    [("{name: a, image: b:1}", True), ("{name: a, image: b:1, image: c:1}", False), ("{name: a}", False)],
)
def test_one_container_where_a_list_of_them_belongs_is_read_as_one(fields: str, is_one: bool) -> None:
    draft = Draft()
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
    (found,) = repair.objects("m.yaml", f"{head}  containers: {fields}\n", draft)
    containers = found.root.get("spec", "containers")
    assert containers is not None
    assert [each.get("image") is not None for each in containers.items()] == ([True] if is_one else [])
    said = [each.what for each in draft.findings if each.kind == "repaired"]
    assert said == (["containers without a list"] if is_one else [])


def test_rules_of_the_job_that_stand_in_its_pod_move_no_pod_to_where_nobody_reads_it() -> None:
    rules = "      ttlSecondsAfterFinished: 60\n      backoffLimit: 2\n      completions: 1\n"
    text = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: tide}\nspec:\n  template:\n    spec:\n"
        f"{rules}      containers:\n      - {{name: c, image: 'reg.io/tide:1', command: [./tide]}}\n"
    )
    draft = converted(text)
    assert (draft.refused, job(draft)["image"][0], job(draft)["command"][0]) == (
        "",
        "reg.io/tide:1",
        ["./tide"],
    )
