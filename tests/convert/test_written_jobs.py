"""What is put into a draft is what the reader of job files gets; what it would refuse is asked or said."""

import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.draft import Draft, Key, dotted, sayable
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.writing import write
from hpclaunch.spec.job import Job
from hpclaunch.spec.read import parse_job
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError
from hpclaunch.values.words import LONGEST

HERE = [Place("run.sub", 3), Place("a #b\n.sh", 1, 2)]
TEXT = st.text(max_size=12) | st.text(
    st.sampled_from("\n\n  \t\r:#-'\"\\|>%@&*!?{}[],=~\x85\u2028\ufeff\x7f\x00\ud800é0.1_ab")
)
NAMES = st.sampled_from(["A", "NCCL_DEBUG", "PWD", "1x", "a b", "", "ä", "hl_x", "null", "yes"]) | TEXT
STEP = st.fixed_dictionaries(
    {"run": TEXT | st.lists(TEXT, max_size=3)},
    optional={"where": st.sampled_from(["host", "container", "moon"]), "optional": st.booleans()},
)
FACTS: dict[Key, st.SearchStrategy[Any]] = {
    ("name",): st.sampled_from(["job", "bad name"]) | TEXT,
    ("command",): TEXT | st.lists(TEXT, max_size=5),
    ("image",): st.sampled_from(["nvcr.io/x:1", "none", "a b"]) | TEXT,
    ("image", "import"): st.just("shared"),
    ("workdir",): TEXT,
    ("nodes",): st.integers(-1, 3) | st.sampled_from(["2", "many", 10**7]),
    ("ranks_per_node",): st.integers(1, 3),
    ("mpi",): st.sampled_from(["pmix", "openmpi"]),
    ("time",): st.sampled_from(["30", "00:70:00", "UNLIMITED", "soon", "0"]),
    ("trials",): st.integers(1, 9) | st.sampled_from([0, 300]),
    ("trials", "keep_going"): st.booleans(),
    ("trials", "seed"): st.sampled_from(["SEED", "a b"]),
    ("bind", "cpus"): st.lists(st.sampled_from(["0-3", "8", "x"]), max_size=3),
    ("container", "remap_root"): st.booleans(),
    ("sites", "here", "account"): TEXT,
}
LISTS = {
    "mounts": st.sampled_from(["a:/b", "/x:/y:ro", "ab", "a:b"]) | TEXT,
    "inherit": NAMES,
    "secrets": NAMES,
    "setup": STEP,
}


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """Facts and questions in any order."""
    draft = Draft()
    for key in draw(st.lists(st.sampled_from([*FACTS]), unique=True)):
        if draw(st.integers(0, 5)) == 0:
            draft.ask(key, draw(TEXT), HERE, "a variable")
        else:
            draft.put(key, draw(FACTS[key]), HERE, "a line")
    for name in draw(st.lists(NAMES, unique=True, max_size=4)):
        if draw(st.integers(0, 3)) == 0:
            draft.ask(("env", name), draw(TEXT), HERE, "export")
        else:
            draft.put(("env", name), draw(TEXT), HERE, "export")
    for name, values in LISTS.items():
        for each in draw(st.lists(values, max_size=3)):
            draft.add(name, each, HERE, "a line")
    return draft


def problems(text: str, sets: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What the reader of job files says, whole."""
    try:
        parse_job(text, "job.yaml", "/", sets)
    except InputError as error:
        return tuple(problem.message for problem in error.problems)
    return ()


@settings(max_examples=300, deadline=None)
@given(drafts())
def test_a_file_is_well_but_for_its_questions(draft: Draft) -> None:
    given_facts = dict(draft.facts)
    text = write(draft, ["run.sub", "a #b\n.sh"])
    assert text
    open_keys = [key for key, fact in draft.facts.items() if fact.is_open]
    said = problems(text)
    assert len(said) == len(open_keys)
    assert all("is still open" in message for message in said)
    found = {each.key for each in draft.findings if each.kind in ("question", "left")}
    gone = [key for key in given_facts if key not in draft.facts]
    assert {sayable(dotted(key)) for key in open_keys} <= found
    asked = {each.key for each in draft.findings if each.kind == "question"}
    assert asked == {sayable(dotted(key)) for key in open_keys}
    left = {each.what for each in draft.findings if each.kind == "left"}
    moved = {("image",), ("trials",)}  # to their long forms
    for key in [key for key in gone if key not in moved]:  # said, or there once already
        values = [fact.value for other, fact in given_facts.items() if other[0] == key[0]]
        assert sayable(dotted(key)) in left or values.count(given_facts[key].value) > 1


@pytest.mark.parametrize("asked_first", [True, False])
@pytest.mark.parametrize("lines", [1, 2])
def test_a_secret_is_not_asked_for_as_a_variable_too(asked_first: bool, lines: int) -> None:
    draft = Draft()
    if asked_first:
        draft.ask(("env", "A"), "what it is", HERE, "export")
    for _ in range(lines):
        draft.add("secrets", "A", HERE, "a line")
    if not asked_first:
        draft.ask(("env", "A"), "what it is", HERE, "export")
    said = problems(write(draft, ["run.sub"], ("name=x", "command=[./x]")))
    assert said == ()
    assert [each.why for each in draft.findings if each.what == "env.A"]


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["A", "B", "NULL", "no"]), TEXT), st.lists(TEXT, min_size=1), TEXT)
def test_values_come_back_as_they_were(env: dict[str, str], words: list[str], line: str) -> None:
    draft = Draft()
    draft.put(("name",), "job", HERE, "name")
    draft.put(("command",), words, HERE, "command")
    for name, text in env.items():
        draft.put(("env", name), text, HERE, "export")
    draft.add("setup", {"run": line, "where": "host"}, HERE, "step")
    draft.add("setup", {"run": [line, *words], "optional": True}, HERE, "step")
    text = write(draft, ["run.sub"])
    kept = [fact for fact in draft.facts.values() if not fact.is_open]
    answers = [f"{dotted(key)}=x" for key, fact in draft.facts.items() if fact.is_open]
    job = parse_job(text, "job.yaml", "/").value if not answers else None
    for fact in kept:
        if job is not None and fact.key[0] == "env":
            assert job.env[str(fact.key[1])] == fact.value
    if job is not None:
        assert list(job.command) == words
        assert [step.run for step in job.setup] == [line, (line, *words)]
    else:
        empty = not words[0].strip() or not line.strip()
        assert empty or any(bad in "".join([line, *words]) for bad in "\0\ud800")


def test_answers_stand_in_place_of_questions() -> None:
    draft = Draft()
    draft.put(("name",), "job", HERE, "name")
    draft.add("mounts", "data:/data", HERE, "mount")
    draft.ask(("mounts", 1), "where are the results?\nLOGDIR is not set", HERE, "LOGDIR")
    draft.ask(("nodes",), "how many nodes?", HERE, "DGXNNODES")
    text = write(draft, ["run.sub"])
    job = parse_job(text, "j", "/", ("nodes=3", "mounts.1=/r:/results", "command=[a]")).value
    assert (job.nodes, job.mounts, job.command) == (3, ("data:/data", "/r:/results"), ("a",))
    assert len(problems(text)) == 3
    assert any("where are the results? LOGDIR is not set" in each for each in problems(text))


def test_the_keys_stand_in_the_order_of_the_schema() -> None:
    draft = Draft()
    for key in (("env", "A"), ("nodes",), ("bind", "smt"), ("command",), ("name",)):
        draft.put(key, {"nodes": 2, "smt": False}.get(key[-1], "x"), HERE, "a line")
    lines = [line.split(":")[0] for line in write(draft, ["f"]).splitlines() if line[0] not in "# "]
    assert lines == [
        "version",
        *(key for key in Job.__struct_encode_fields__ if key in lines and key != "version"),
    ]


@pytest.mark.parametrize("count", [1, 2000])
def test_names_that_no_shell_has_are_all_said(count: int) -> None:
    draft = Draft()
    draft.put(("name",), "job", HERE, "name")
    draft.put(("command",), ["x"], HERE, "command")
    for number in range(count):
        draft.put(("env", f"bad-{number}"), "1", HERE, "export")
    assert problems(write(draft, ["f"])) == ()
    assert sum(each.kind == "left" for each in draft.findings) == count
    assert not any(each.key for each in draft.findings if each.kind == "carried" and "bad" in each.key)


@pytest.mark.parametrize("size", [LONGEST, LONGEST + 1])
def test_a_command_is_written_where_linux_starts_a_program_with_its_words(size: int) -> None:
    words = ["true", "x" * size]
    try:
        starts = subprocess.run(words).returncode == 0
    except OSError:
        starts = False
    draft = Draft()
    draft.put(("name",), "long", HERE, "a line")
    draft.put(("command",), words, HERE, "a line")
    write(draft, ["run.sub"])
    assert draft.facts["command",].is_open != starts


@pytest.mark.parametrize(("names", "refused"), [(100, False), (LONGEST // 3, True)])
def test_a_launcher_with_a_command_that_no_shell_starts_is_refused_with_its_line(
    names: int, refused: bool
) -> None:
    run = f"srun --container-image=a/b:1 --container-env={','.join(['AB'] * names)} ./t"
    text = f"#!/bin/bash\n#SBATCH -N 2 -t 10\n{run}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert (("run.sub:3" in found.refused), not found.job) == (refused, refused)
