"""What is read of steps, trials, stage_in and a shared image is what was planned, and breaks of them show."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from golden_scripts import golden
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from hpclaunch.plan.planner import Planner
from hpclaunch.readback.script import read
from hpclaunch.render import script
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError
from hpclaunch.values.launch import Launch
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.steps import StageIn

sys.path.insert(0, str(Path(__file__).parent.parent / "golden"))
from golden_cases import ROOT

SITE = read_site(str(ROOT / "site-configs" / "superpod-a100.yaml")).value
PLANNER = Planner(SITE, {group.type: catalogue.load(group.type).value for group in SITE.node_types})
IMAGE = "nvcr.io/nvidia/pytorch:24.07-py3"

TEXT = st.text(
    st.one_of(
        st.sampled_from("a \n\t'\"\\$`#*?[]{}(),:;&|<>=~!%\r\x1b\x7f"),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    ),
    max_size=20,
)
WORDS = st.lists(TEXT, max_size=4).map(lambda words: ["run", *words])
STEPS = st.lists(
    st.fixed_dictionaries(
        {
            "run": st.one_of(WORDS, TEXT.map(lambda text: "true " + text)),
            "per": st.sampled_from(["node", "job", "rank"]),
            "optional": st.booleans(),
        },
        optional={
            "where": st.sampled_from(["host", "container"]),
            "name": st.text(st.characters(min_codepoint=33, exclude_categories=["C", "Z"]), min_size=1),
        },
    ),
    max_size=3,
)
TRIALS = st.one_of(
    st.none(),
    st.integers(1, 6),
    st.fixed_dictionaries(
        {"count": st.integers(1, 4), "keep_going": st.booleans()},
        optional={
            "seed": st.sampled_from([None, "SEED", "N"]),
            "first_seed": st.integers(0, 2**31 - 5),
            "log": st.sampled_from(["logs/{trial}.log", "/a b/$x/'{trial}{trial}", "{trial}"]),
        },
    ),
)
PATHS = st.text(st.sampled_from("ab c'$#\\é\"`~"), min_size=1, max_size=6).map(
    lambda text: f"/{text.strip()}x"
)
JOBS = st.fixed_dictionaries(
    {
        "image": st.sampled_from([None, IMAGE, {"ref": IMAGE, "import": "shared"}]),
        "command": WORDS,
        "nodes": st.integers(1, 3),
        "gpus_per_node": st.sampled_from([8, 2]),
        "time": st.sampled_from([None, 2, 90]),
        "mpi": st.sampled_from(["pmix", "none"]),
        "trials": TRIALS,
        "setup": STEPS,
        "before_each": STEPS,
        "after": STEPS,
        "stage_in": st.dictionaries(PATHS, PATHS, max_size=2).map(
            lambda pairs: [{"source": f"/from{one}", "target": f"/to{other}"} for one, other in pairs.items()]
        ),
        "secrets": st.sampled_from([[], ["TOKEN"]]),
        "inherit": st.sampled_from([[], ["PROXY", "PATH"]]),
        "container": st.sampled_from([None, None, {"save": "x.sqsh", "hcas": "compute"}]),
    }
)


def plan(fields: dict[str, Any]) -> LaunchPlan:
    job = {key: value for key, value in {"name": "made-up", **fields}.items() if value is not None}
    return PLANNER.plan(parse_job(yaml.safe_dump(job), "job.yaml", "/home/ada's").value)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(JOBS)
def test_what_a_made_up_job_does_is_read_as_it_was_planned(fields: dict[str, Any]) -> None:
    try:
        planned = plan(fields)
    except InputError:
        assume(False)
        raise
    seen = read(script.render(planned))
    common = planned.common
    assert seen.unread == ()
    assert seen.steps == common.steps
    assert seen.stage_in == tuple(StageIn(each.source, each.target) for each in common.stage_in)
    assert seen.trials == common.trials
    assert seen.argv == common.argv
    assert seen.image == (common.container.image if common.container else "")
    told = {each.name for each in seen.environment if each.source == "text"}
    assert told == {each.name for each in common.environment}
    assert not [each for each in seen.unbridged if "line" in each.what or "container-name" in each.what]


def test_the_most_trials_that_a_job_may_have_are_read() -> None:
    steps = [{"run": "x" * 1000, "where": "host"}] * 5
    env = {f"NAME_{number}": "x" for number in range(60)}
    fields = {"image": IMAGE, "command": ["run"], "trials": 100, "before_each": steps, "env": env}
    assert read(script.render(plan(fields))).unread == ()


SCRIPT = golden("steps-and-trials")
READ = read(SCRIPT)

# What is changed in the golden script, and the words that the reader then says, or the part that differs.
BREAKS = [
    ("--ntasks-per-node=1 --relative=0", "--ntasks-per-node=2 --relative=0", "does not run as it says"),
    ("hl_nodes=(--nodes=2 --ntasks=2", "hl_nodes=(--nodes=1 --ntasks=1", "does not run as it says"),
    ("packages' required node container", "packages' required node host", "steps"),
    ("packages' required node", "packages' optional node", "steps"),
    ("per-node=1)\nhl_first", "per-node=8)\nhl_first", "does not run as it says"),
    ("in {1..5}; do", "in {1..4}; do", "run_trial says 5 trials, and 4 are run"),
    ("run_trial 5 stop", "run_trial 5 keep_going", "trials"),
    ("run_trial 5 stop SEED random", "run_trial 5 stop SEED first", "trials"),
    ('"HPCLAUNCH_TRIAL=$hl_trial"', '"HPCLAUNCH_TRIAL=1"', "trial 2 does not get its own"),
    ("    hl_of_trial+=(", "    hl_of_none+=(", "does not get HPCLAUNCH_TRIAL and SEED"),
    ("results/{trial}.log", "result/{trial}.log", "trials"),
    ("/lustre/datasets/imagenet /raid", "/lustre/datasets/other /raid", "stage_in"),
    ("| keep >&2", "| cat >&2", "nothing removes the container"),
    ('hpclaunch-keep "$hl_name"', "hpclaunch-keep other", "nothing removes the container"),
    ("enroot remove --force", "echo remove --force", "hpclaunch-keep is not hpclaunch's own text"),
    ("CDPATH='' cd -- \"$1\" 2>/dev/null || cd /", "cd /", "hpclaunch-host is not hpclaunch's own text"),
    ("enroot import --output", "enroot  import --output", "hpclaunch-import is not hpclaunch's own text"),
    ("rsync -a'", "rsync -av'", "hpclaunch-stage-in is not hpclaunch's own text"),
    ('    from=slurm -- "${hl_env', '    from=slurm verify=1 -- "${hl_env', "is not hpclaunch's own text"),
]


@pytest.mark.parametrize(("old", "new", "said"), BREAKS)
def test_a_break_shows(old: str, new: str, said: str) -> None:
    assert READ.unread == ()
    assert SCRIPT.count(old) >= 1
    seen = read(SCRIPT.replace(old, new))
    if said in Launch.__struct_fields__:
        assert seen.unread == ()
        assert getattr(seen, said) != getattr(READ, said)
        same = structs.replace(seen, **{said: getattr(READ, said)})
        assert same == READ or said == "steps"
    else:
        assert any(said in text for text in seen.unread), seen.unread


def test_a_step_that_is_gone_is_a_difference() -> None:
    lines = SCRIPT.splitlines(keepends=True)
    gone = [line for line in lines if not line.startswith("  run_step 'before_each 1: drop")]
    assert len(gone) < len(lines)
    assert len(read("".join(gone)).steps) == len(READ.steps) - 1
