"""Texts that hpclaunch rendered become the job that they were rendered from."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from hpclaunch.cli.places import place, volumes
from hpclaunch.cli.planning import Planned, documents_of, plan_job, values_of
from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.plan.planner import Planner
from hpclaunch.readback.compare import compare
from hpclaunch.readback.kubernetes.reader import read as read_manifest
from hpclaunch.readback.place import Side
from hpclaunch.readback.script import read as read_script
from hpclaunch.render import script
from hpclaunch.spec.document import Document
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.spec.site import Site
from hpclaunch.values.conversion import Conversion

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "golden"), str(TESTS / "readback")]
from golden_cases import BATCH, DIRECTORY, Case  # noqa: E402
from rendered import CLUSTER, JOB, SLURM, write  # noqa: E402
from test_same_launch import JOBS, WORDS  # noqa: E402
from whole_jobs import SITES, WHOLE_JOBS  # noqa: E402

FOLDER = "/somewhere/else"


def again(job: str, site: Document[Site], folder: str = FOLDER) -> Planned:
    """The plan of a job file's text that lies in another folder."""
    document = parse_job(job, "job.yaml", folder)
    machines = documents_of(site)
    return Planned(document, site, machines, Planner(site.value, values_of(machines)).plan(document.value))


def converted(text: str, site: Document[Site] | None) -> Conversion:
    """What becomes of a rendered text, with or without its site."""
    options = Options({})
    if site is not None:
        known = volumes(site.value, DIRECTORY)

        def render(job: str, folder: str) -> str:
            return script.render(again(job, site, folder or FOLDER).plan)

        options = Options({}, None, site.value.name, render, known)
    return convert(classified({"text": text}), options)


def body(text: str) -> list[str]:
    """Without the comments at its head."""
    lines = text.split("\n")
    head = next(index for index, line in enumerate(lines) if index and not line.startswith("# "))
    return lines[head:]


def site_of(case: Case) -> Document[Site]:
    own = TESTS / "golden" / "sites" / f"{case.site}.yaml"
    return read_site(str(own if own.exists() else TESTS.parent / "site-configs" / f"{case.site}.yaml"))


# Their points are asked for.
SWEEPS = ("example-lr-search", "sweep-with-steps")
WHOLE = [case for case in BATCH if case.name not in SWEEPS]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.name)
def test_a_golden_script_is_rendered_again(case: Case) -> None:
    text = case.render()
    site = site_of(case)
    found = converted(text, site)
    assert not [each for each in found.findings if each.kind in ("left", "unread", "question")]
    plan = again(found.job, site, DIRECTORY).plan
    assert body(script.render(plan)) == body(text)


# Of two HCAs that are equally near no text says by which rule one was taken, and a strict job has no lists.
_OF_SITE = {"visible-hcas-strict-and-verified"}


@pytest.mark.parametrize(
    "case", [case for case in WHOLE if case.name not in _OF_SITE], ids=lambda case: case.name
)
def test_without_its_site_it_is_the_same_launch(case: Case) -> None:
    text = case.render()
    found = converted(text, None)
    planned = again(found.job, site_of(case), DIRECTORY)
    where = place(planned)
    differences = compare(
        Side(read_script(text), where), Side(read_script(script.render(planned.plan)), where)
    )
    assert [each for each in differences if each.kind != "place"] == []


NAMED = {key: JOB[key] for key in ("name", "image")}


def comes_back(folder: Path, job: dict[str, Any], where: dict[str, Any]) -> None:
    """The job's text for the site becomes a job with the same text."""
    file = write(folder, where["name"], where)
    planned = plan_job(str(write(folder, "job", job)), str(file), ())
    text = script.render(planned.plan)
    found = converted(text, read_site(str(file)))
    mine = again(found.job, read_site(str(file)), str(folder))
    assert body(script.render(mine.plan)) == body(text)
    read = read_script if where["scheduler"] == "slurm" else read_manifest
    side, same = (Side(read(each), place(planned)) for each in (text, script.render(mine.plan)))
    assert compare(side, same) == ()
    common = planned.plan.common
    assert mine.plan.common.argv == common.argv
    assert {each.name: each.value for each in mine.plan.common.environment} == {
        each.name: each.value for each in common.environment
    }


# What becomes of a job that does not end by itself, and who is told: for Slurm.
SAID = WORDS.filter(str.strip)
LONG = st.fixed_dictionaries(
    {},
    optional={
        "requeue": st.just(True),
        "chain": st.integers(2, 1000),
        "signal": st.fixed_dictionaries(
            {
                "name": st.sampled_from(["USR1", "TERM", "INT"]),
                "before": st.sampled_from(["60s", "2m", "1:10:00"]),
            }
        ),
        "notify": st.one_of(
            st.fixed_dictionaries(
                {
                    "command": st.one_of(
                        WORDS.filter(str.strip), st.lists(WORDS.filter(str.strip), min_size=1)
                    )
                },
                optional={"start": st.booleans()},
            ),
            st.fixed_dictionaries(
                {"webhook": st.sampled_from(["https://hooks.example.com/a?b=1", "HOOK"])},
                optional={"start": st.booleans(), "token": st.just("HOOK_TOKEN")},
            ),
        ),
        "profile": st.fixed_dictionaries(
            {
                "tool": st.sampled_from(["nsys", "ncu"]),
                "output": st.sampled_from(["/results", "/a b/$(c)/d"]),
            },
            optional={
                "ranks": st.just([0]),
                "args": st.lists(
                    WORDS.filter(lambda word: word and "\n" not in word and word.isprintable()), max_size=3
                ),
            },
        ),
        "preflight": st.fixed_dictionaries(
            {},
            optional={
                "gpu": st.booleans(),
                "hca": st.booleans(),
                "nccl": st.booleans(),
                "spares": st.integers(0, 2),
                "limit": st.sampled_from(["60s", "2m"]),
            },
        ),
        "after": st.just([{"run": ["./tell.sh", "a b"], "where": "host"}]),
    },
)


# What a job does beside its ranks. A pod's is in its containers, and copies between what the site names.
_TOLD = SAID.filter(lambda text: "\n" not in text and text.isprintable())


def _steps(where: list[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    step = st.fixed_dictionaries(
        {"run": SAID | st.lists(WORDS, min_size=1, max_size=3).filter(lambda words: words[0].strip() != "")},
        optional={
            "where": st.sampled_from(where),
            "per": st.sampled_from(["node", "job", "rank"]),
            "optional": st.booleans(),
            "name": _TOLD,
        },
    )
    return st.lists(step, min_size=1, max_size=3)


TRIALS = (
    st.integers(1, 5)
    | st.fixed_dictionaries(
        {"count": st.integers(1, 5)},
        optional={
            "seed": st.sampled_from(["SEED", "MY_SEED", None]),
            "log": st.sampled_from(["/results/a b {trial}.log", "trial-{trial}"]),
            "keep_going": st.booleans(),
        },
    )
    | st.fixed_dictionaries({"count": st.integers(1, 5), "first_seed": st.integers(0, 2**31 - 10)})
)


def _beside(where: list[str], copies: list[Any], imports: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "trials": TRIALS,
            "setup": _steps(where),
            "before_each": _steps(where),
            "after": _steps(where),
            "stage_in": st.lists(st.sampled_from(copies), min_size=1, max_size=2, unique_by=str),
            "image": st.sampled_from(imports).map(lambda how: {"ref": JOB["image"], "import": how}),
        },
    )


BESIDE = {
    "slurm": _beside(
        ["container", "host"],
        ["data:/raid/data", "/lustre/v:scratch", {"source": "/a:b/c", "target": "/raid/c"}, "/x:/raid/x y"],
        ["shared", "/lustre/imported"],
    ),
    "kubernetes": _beside(["container"], ["data:scratch"], ["shared"]),
}
WITH_IMAGES = {**SLURM, "slurm": {**SLURM["slurm"], "image_folder": "/lustre/images"}}


@pytest.mark.parametrize("where", [WITH_IMAGES, CLUSTER], ids=lambda site: site["scheduler"])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(job=JOBS, data=st.data())
def test_any_job_comes_back_with_what_it_does_beside_its_ranks(
    tmp_path_factory: pytest.TempPathFactory, where: dict[str, Any], job: dict[str, Any], data: st.DataObject
) -> None:
    more = data.draw(BESIDE[where["scheduler"]])
    comes_back(tmp_path_factory.getbasetemp(), {**NAMED, **job, **more}, where)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(job=JOBS, more=LONG)
def test_any_long_job_comes_back(
    tmp_path_factory: pytest.TempPathFactory, job: dict[str, Any], more: dict[str, Any]
) -> None:
    checks = more.get("preflight", {})
    gpus = job.get("gpus_per_node", 8)
    of_gpus = checks.get("gpu", True) or (checks.get("nccl") and gpus * min(job["nodes"], 2) > 1)
    if not (checks.get("hca", True) or (gpus and of_gpus)):
        more = {**more, "preflight": {**checks, "hca": True}}  # else the job is refused: nothing is checked
    if "after" in more:
        more = {key: value for key, value in more.items() if key != "profile"}
    secrets = [*job.get("secrets", ()), "HOOK", "HOOK_TOKEN"]
    job = {**job, "nodes": min(job["nodes"], 2), "time": "2h", "secrets": secrets}  # the site has four
    comes_back(tmp_path_factory.getbasetemp(), {**NAMED, **job, **more}, SLURM)


@pytest.mark.parametrize("scheduler", SITES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_job_comes_back(
    tmp_path_factory: pytest.TempPathFactory, scheduler: str, data: st.DataObject
) -> None:
    comes_back(tmp_path_factory.getbasetemp(), data.draw(WHOLE_JOBS[scheduler]), SITES[scheduler])


@pytest.mark.parametrize("where", [SLURM, CLUSTER], ids=lambda site: site["scheduler"])
@pytest.mark.parametrize(
    "more",
    [
        {"container": {"env": ["A", "ZZ"]}},
        {"container": {"env": ["ZZ", "A"]}, "env": {"A": "1", "B": "2"}},
        {"container": {"privileged": True}},
        {"inherit": ["USER"]},
        {"setup": [{"run": "\x13"}]},  # its title has no word
        {"stage_in": ["data:scratch"]},
        {"image": {"ref": JOB["image"], "import": "/lustre/imported"}},
    ],
    ids=str,
)
def test_a_job_comes_back_with_what_few_jobs_say(
    tmp_path: Path, where: dict[str, Any], more: dict[str, Any]
) -> None:
    job = {"nodes": 2, "gpus_per_node": 8, "ranks_per_node": 8, "command": ["./t"], "time": "2h"}
    comes_back(tmp_path, {**NAMED, **job, **more}, where)


@pytest.mark.parametrize(
    ("nodes", "hints"),
    [
        (1, {"namespace": "other", "queue": "of-team", "priority_class": "high", "user": 1000}),
        (4, {"share_nodes": True}),
        (8, {"share_nodes": True, "queue": "of-team"}),  # more than the site has nodes
        (2, {"nodelist": "dgx[001-003]", "exclude": "dgx002"}),
    ],
)
def test_what_a_job_asks_of_a_cluster_comes_back_without_what_is_the_sites(
    tmp_path: Path, nodes: int, hints: dict[str, Any]
) -> None:
    sizes = {"nodes": nodes, "gpus_per_node": 2, "ranks_per_node": 2, "command": ["./t"], "time": "2h"}
    job = {**NAMED, **sizes, "sites": {CLUSTER["name"]: hints}}
    comes_back(tmp_path, job, CLUSTER)
    file = tmp_path / f"{CLUSTER['name']}.yaml"
    text = script.render(plan_job(str(tmp_path / "job.yaml"), str(file), ()).plan)
    found = again(converted(text, read_site(str(file))).job, read_site(str(file))).job.value
    told = structs.asdict(found.sites[CLUSTER["name"]])
    assert {key: value for key, value in told.items() if value} == hints


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("container", [{}, {"remap_root": True}], ids=str)
@pytest.mark.parametrize("known", [True, False])
def test_root_that_sshd_needs_is_not_what_the_job_asks_for(
    tmp_path: Path, nodes: int, container: dict[str, bool], known: bool
) -> None:
    job = {**JOB, "nodes": nodes, "gpus_per_node": 8, "ranks_per_node": 8, "container": container}
    file = write(tmp_path, "cluster", CLUSTER)
    plan = plan_job(str(write(tmp_path, "job", job)), str(file), ()).plan
    found = converted(script.render(plan), read_site(str(file)) if known else None)
    mine = parse_job(found.job, "job.yaml", FOLDER).value
    told = any("remap_root" in each.todo for each in found.findings)
    assert told == ("kind: MPIJob" in script.render(plan))
    assert mine.container.remap_root == (bool(container) and not told)
