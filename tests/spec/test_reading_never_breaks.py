"""Whatever the file holds, reading gives a document or an InputError with places, never another exception."""

import json
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from hpclaunch.spec.read import parse_job, parse_node_type, read_job, read_site
from hpclaunch.values.errors import InputError

SCALARS = st.sampled_from(
    """
a|1|no|''|~|08|1:30|*a|&a x|&a|!x y|!!str 1|<<|[|{}|? x|é|'/a:/b'|x:/y|slurm|dgx[1-3]|dgx[1|0-3|3-1|22.05
0000:07:00.0|local|-|\t|1e999|"\\0"|"\\ud800"|>-
""".strip()
    .replace("\n", "|")
    .split("|")
)
_KEYS = """
name command version image nodes ranks_per_node mpi time env inherit secrets mounts container bind cpus smt
sites account sbatch scheduler node_types type hosts count slurm pyxis volumes path extends numa node socket
threads gpus hcas pci variants names when default distances << A 1A UID
"""
KEYS = st.sampled_from(_KEYS.split())
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.lists(st.tuples(KEYS, inner), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=12,
)
DOCUMENTS = st.lists(st.tuples(KEYS, TREES), max_size=6).map(
    lambda pairs: "".join(f"{key}: {value}\n" for key, value in pairs)
)
READERS = (lambda text: parse_job(text, "f", "/"), lambda text: parse_node_type(text, "f"))


def accepts_or_explains(reader, given) -> None:
    try:
        reader(given)
        return
    except InputError as error:
        problems = error.problems
    assert problems
    assert all(problem.message for problem in problems)
    assert all(str(problem).isprintable() for problem in problems)  # on one line each
    cut_short = "more problems" in problems[-1].message
    assert all(problem.where or ": " in problem.message for problem in problems[: -1 if cut_short else None])


@settings(max_examples=300)
@given(DOCUMENTS)
def test_documents_made_of_our_keys(text):
    for reader in READERS:
        accepts_or_explains(reader, text)


@given(DOCUMENTS)
def test_sites_made_of_our_keys(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("site") / "site.yaml"
    file.write_text(text)
    accepts_or_explains(read_site, str(file))


@given(st.text(st.characters(blacklist_categories=["Cs"])))
def test_any_text(text):
    for reader in READERS:
        accepts_or_explains(reader, text)


@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory, data):
    file = tmp_path_factory.mktemp("job") / "job.yaml"
    file.write_bytes(data)
    accepts_or_explains(read_job, file)


@given(st.lists(st.tuples(KEYS, st.text(max_size=10)).map("=".join) | st.text(max_size=20), max_size=3))
def test_any_set(sets):
    accepts_or_explains(lambda texts: parse_job("name: a\ncommand: x\n", "f", "/", texts), sets)


@given(
    st.sampled_from(["env", "sites", "groups", "metrics", "sweep: {list: [{", "sweep: {grid: {", "bind", ""]),
    st.text(st.characters(blacklist_categories=["Cs"]), min_size=1) | st.just("A\nB"),
)
def test_any_name_in_any_map(place, name):
    before, _, after = place.partition(": ")
    entry = f"{json.dumps(name)}: [1]"
    inner = f"{after}{entry}" + {"l": "}]}", "g": "}}"}.get(after[1:2], "") if after else f"{{{entry}}}"
    more = f"{before}: {inner}" if place else entry
    accepts_or_explains(lambda text: parse_job(text, "f", "/"), f"name: a\ncommand: [x]\n{more}\n")


WITHOUT_LIBYAML = """
import sys
sys.modules["yaml._yaml"] = None
from hpclaunch.spec.read import parse_job
from hpclaunch.values.errors import InputError
import yaml
assert not yaml.__with_libyaml__
job = parse_job("name: 1.10\\ncommand: &c [echo, no, 1:30]\\nenv: {A: ''}\\n", "f", "/")
assert (job.value.name, job.value.command, job.value.env) == ("1.10", ("echo", "no", "1:30"), {"A": ""})
assert job.locate(("env", "A")) == "f:3:10"
for text in ["[" * 5000, "name: !x y\\ncommand: z\\n", "a:\\n\\t- b"]:
    try:
        parse_job(text, "f", "/")
    except InputError as error:
        print(error)
"""


def test_reading_works_where_pyyaml_has_no_c_loader():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBYAML], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    deep, tag, tab = done.stdout.splitlines()
    assert deep == "f: nested more than 24 levels deep"
    assert tag.startswith("f:1:7: the YAML tag '!x'")
    assert tab.startswith("f:2:1: a tab in the indentation")
