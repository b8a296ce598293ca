"""Whatever a manifest is: a draft, or one clear error with its place, and nobody waits for it."""

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from watch import Watch

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.convert import convert
from hpclaunch.convert.manifests.recognise import is_manifest
from hpclaunch.convert.options import Options
from hpclaunch.convert.writing import write
from hpclaunch.spec.read import parse_job
from hpclaunch.values.errors import InputError

HERE = Path(__file__).parent
CASES = [path for path in (HERE / "manifests" / "cases").glob("*.yaml") if ".expected" not in path.name]
SEEDS = (HERE.parent / "seeds" / "manifests").glob("*.yaml")
WHOLE = [path.read_text("utf-8") for path in sorted([*CASES, *SEEDS])]
TEXTS = WHOLE + [path.read_text("utf-8") for path in sorted((HERE / "manifests" / "broken").iterdir())]
GROUPS = (HERE / "manifests" / "cases" / "pytorch-groups.yaml").read_text("utf-8")
PLACE = re.compile(r"m\.yaml(:\d+:\d+)?")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats() | st.text(max_size=8),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=6), each, max_size=3),
    max_leaves=6,
)
LINES = (
    *("a: 1", "- b", "  c: {d: [e, f]}", "&x *x", "&y", "*y", "kind: MPIJob", "apiVersion: v1", "spec:"),
    *(
        "---",
        "--",
        "? [k]: v",
        "!t x",
        "'",
        "\t",
        "{",
        "%",
        "<<: *x",
        "a: |",
        "- - -",
        "[...]",
        "\u2013 x: 1",
    ),
)


WATCH = Watch(("shfmt",))


def check(text: str) -> None:
    draft = Draft()
    problems = ()
    with WATCH as seen:
        is_manifest(text)
        try:
            convert([("m.yaml", text)], draft, Options({}, site="here"))
        except InputError as error:
            problems = error.problems
    assert seen == []
    assert all(PLACE.fullmatch(each.where) for each in problems), problems
    assert all(each.message and "\n" not in each.message for each in problems), problems
    last = text.count("\n") + 1
    for finding in draft.findings:
        assert finding.places
        assert all(place.file == "m.yaml" and place.line <= last for place in finding.places)
    if problems or draft.refused:
        return
    job = write(draft, ["m.yaml"])
    if job and not any(fact.is_open for fact in draft.facts.values()):
        parse_job(job, "job.yaml", "/")


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(LINES), max_size=8).map("\n".join))
def test_any_text(text: str) -> None:
    check(text)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A manifest with lines left out, twice, exchanged, shifted, cut, or others between."""
    found = draw(st.sampled_from(TEXTS)).split("\n")
    for _ in range(draw(st.integers(1, 5))):
        if not found:
            break
        at = draw(st.integers(0, len(found) - 1))
        how = draw(st.integers(0, 6))
        if how == 0:
            del found[at : at + draw(st.integers(1, 4))]
        elif how == 1:
            found.insert(at, found[draw(st.integers(0, len(found) - 1))])
        elif how == 2:
            other = draw(st.integers(0, len(found) - 1))
            found[at], found[other] = found[other], found[at]
        elif how == 3:
            found[at] = " " * draw(st.integers(0, 9)) + found[at].lstrip()
        elif how == 4:
            found[at] = found[at][: draw(st.integers(0, 30))]
        elif how == 5:
            found.insert(at, draw(st.sampled_from(LINES)))
        else:
            found[at] += draw(st.text(max_size=6))
    return "\n".join(found)


@settings(max_examples=400, deadline=None)
@example(GROUPS.replace("replicas: 1", "replicas: 1M"))  # more nodes than a job may have
@given(damaged())
def test_any_damage(text: str) -> None:
    check(text)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_any_value_in_any_place(data: st.DataObject) -> None:
    documents = list(yaml.safe_load_all(data.draw(st.sampled_from(WHOLE))))
    manifest = json.loads(json.dumps(data.draw(st.sampled_from(documents))))
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


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - {name: a, image: b, command: [x]}
"""
BOMB = "\n".join(
    ["a0: &a0 [x]", *(f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 9))]
)
GROWS = "".join(f"    - {{name: V{n}, value: $(V{n - 1})$(V{n - 1})}}\n" for n in range(60))
WORST = {
    "a bomb of aliases": f"{BOMB}\n{POD}",
    "an alias in itself": POD + "status: &a [*a]\n",
    "deep lists": POD + "status: " + "[" * 100_000,
    "deep objects": POD + "".join(f"{' ' * depth}spec:\n" for depth in range(1300)),
    "variables that double": "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n"
    + GROWS,
    "a shell's text of many commands": POD.replace("[x]", f'[sh, -c, "{"a && " * 50_000}mpirun b"]'),
    "brackets of a shell": POD.replace("[x]", f'[sh, -c, "{"(" * 50_000}"]'),
    "many words": POD.replace("[x]", f"[mpirun, {'-x, A=1, ' * 20_000}python]"),
    "many mounts": POD.replace(
        "command", "volumeMounts: [" + "{name: v, mountPath: /m}, " * 9000 + "], command"
    ),
    "blanks": POD + " " * 900_000 + "x",
    "dashes": POD + "-\n" * 400_000,
    "lists that never end": POD + "a: [\n" * 1900,
    "many objects": "--\n".join([POD] * 490),
}


@pytest.mark.parametrize("name", WORST)
def test_nobody_waits_and_nothing_overflows(name: str) -> None:
    check(WORST[name])
