"""The points of a sweep, and the jobs that they make."""

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hpclaunch.plan.planner import Planner
from hpclaunch.plan.sweep import launches, parts
from hpclaunch.spec.document import Document
from hpclaunch.spec.dump import dump_job
from hpclaunch.spec.job import Job
from hpclaunch.spec.points import points
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.spec.site import Site
from hpclaunch.spec.sweep import SweepSpec
from hpclaunch.spec.variants import variants
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError

SITES = Path(__file__).resolve().parents[2] / "site-configs"
NAMES = st.sampled_from(["LR", "BATCH", "MODE", "X1"])
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
WORDS = st.lists(TEXT, max_size=3)


def job(sweep: Any, **more: Any) -> Document[Job]:
    data = {"version": 1, "name": "search", "command": ["./train", "--x"], "sweep": sweep, **more}
    return parse_job(yaml.safe_dump(data, sort_keys=False), "search.yaml", "/jobs")


def site(name: str) -> tuple[Document[Site], Planner]:
    read = read_site(str(SITES / f"{name}.yaml"))
    machines = {group.type: catalogue.load(group.type).value for group in read.value.node_types}
    return read, Planner(read.value, machines)


SLURM = site("superpod-a100")


@given(st.dictionaries(NAMES, st.lists(TEXT, min_size=1, max_size=4), min_size=1, max_size=3))
def test_a_grid_is_the_product_of_its_lists(grid: dict[str, list[str]]) -> None:
    document = job({"grid": {f"env.{name}": values for name, values in grid.items()}})
    assert document.value.sweep
    found = [
        tuple((setting.key[4:], setting.value) for setting in point.settings)
        for point in points(document.value.sweep)
    ]
    columns = ([(name, value) for value in values] for name, values in grid.items())
    assert found == list(itertools.product(*columns))


ROWS = st.lists(
    st.dictionaries(NAMES.map(lambda name: f"env.{name}"), TEXT, min_size=1, max_size=3)
    | st.fixed_dictionaries({"args": WORDS})
    | st.fixed_dictionaries({"command": WORDS.map(lambda words: ["./run", *words]), "args": WORDS}),
    min_size=2,
    max_size=8,
)


@settings(deadline=None)
@given(ROWS, st.dictionaries(NAMES, TEXT, max_size=2))
def test_each_point_of_a_list_is_the_job_with_that_set(
    rows: list[dict[str, Any]], env: dict[str, str]
) -> None:
    (array,) = launches(job({"list": rows}, env=env, image="x/y:1"), *SLURM)
    _, planner = SLURM
    assert array.plan.common.sweep == array.sweep
    below = {each.name: each.value for each in array.plan.common.environment}
    for number, (row, point) in enumerate(zip(rows, array.sweep.points, strict=True)):
        own = {key[4:]: value for key, value in row.items() if key.startswith("env.")}
        command = [*row.get("command", ["./train", "--x"]), *row.get("args", [])]
        alone = job(None, env={**env, **own}, image="x/y:1").value
        wanted = {each.name: each.value for each in planner.plan(alone).common.environment}
        got = below | dict(word.split("=", 1) for word in point.environment)
        assert got == wanted | {"HPCLAUNCH_SWEEP": str(len(rows)), "HPCLAUNCH_POINT": str(number)}
        assert [*array.plan.common.argv, *point.arguments] == command


NUMBER = st.floats(1e-6, 1e6).map(lambda number: f"{number:.6g}")
DRAW = st.one_of(
    st.tuples(st.sampled_from(["uniform", "loguniform"]), st.lists(NUMBER, min_size=2, max_size=2)).map(
        lambda pair: {pair[0]: sorted(pair[1], key=float)}
    ),
    st.lists(st.integers(-50, 50), min_size=2, max_size=2).map(lambda ends: {"int": sorted(ends)}),
    st.lists(TEXT, min_size=1, max_size=4).map(lambda values: {"choice": values}),
)


@given(st.dictionaries(NAMES, DRAW, min_size=1, max_size=3), st.integers(0, 2**31), st.integers(1, 30))
def test_random_points_are_within_their_bounds_and_the_seed_s(
    draws: dict[str, Any], seed: int, count: int
) -> None:
    spec = {"count": count, "seed": seed, "draw": {f"env.{name}": draw for name, draw in draws.items()}}
    document = job({"random": spec})
    assert document.value.sweep
    drawn = list(points(document.value.sweep))
    assert len(drawn) == count
    kept = parse_job(dump_job(document.value), "record.yaml", "/").value.sweep
    assert isinstance(kept, SweepSpec)
    assert list(points(kept)) == drawn  # what a record has draws the same again
    for point in drawn:
        for setting in point.settings:
            ((kind, ends),) = draws[setting.key[4:]].items()
            if kind == "choice":
                assert setting.value in ends
            elif kind == "int":
                assert ends[0] <= int(setting.value) <= ends[1]
            else:
                # Six digits: at an end a rounded number may be beyond it by half of the last.
                assert float(ends[0]) * 0.99999 <= float(setting.value) <= float(ends[1]) * 1.00001


def test_every_value_of_a_draw_comes_up() -> None:
    document = job(
        {"random": {"count": 200, "draw": {"env.N": {"int": [0, 3]}, "env.C": {"choice": ["a", "b"]}}}}
    )
    assert document.value.sweep
    found = {setting.value for point in points(document.value.sweep) for setting in point.settings}
    assert found == {"0", "1", "2", "3", "a", "b"}


def test_points_that_differ_in_nodes_are_jobs_of_their_own() -> None:
    document = job({"grid": {"nodes": [1, 2], "env.LR": ["0.1", "0.2"]}})
    found = launches(document, *SLURM)
    assert [each.plan.common.nodes for each in found] == [1, 2]
    assert [[point.number for point in each.sweep.points] for each in found] == [[0, 1], [2, 3]]
    variables = job(
        {"grid": {"env.OMPI_MCA_btl": ["tcp", "self"]}}
    )  # mpirun and hooks read it outside the rank
    assert len(launches(variables, *SLURM)) == 2


def test_on_kubernetes_every_point_is_a_job_with_a_name() -> None:
    document = job({"grid": {"env.LR": ["0.1", "0.2"]}}, image="x/y:1")
    found = launches(document, *site("k8s-superpod-a100"))
    assert [each.plan.common.name for each in found] == ["search-0", "search-1"]
    values = [{each.name: each.value for each in one.plan.common.environment}["LR"] for one in found]
    assert values == ["0.1", "0.2"]


@given(st.integers(1, 40), st.integers(1, 15))
def test_parts_of_an_array_have_each_point_once(count: int, most: int) -> None:
    document = job({"grid": {"env.N": [str(number) for number in range(count + 1)]}, "max_running": 2})
    (whole,) = launches(document, *SLURM)
    arrays = parts(whole, most)
    assert [point for each in arrays for point in each.sweep.points] == list(whole.sweep.points)
    for each in arrays:
        (option,) = [one.text for one in each.plan.target.sbatch if one.text.startswith("--array=")]
        assert option == f"--array=0-{len(each.sweep.points) - 1}%2"
        assert 1 <= len(each.sweep.points) <= most


@pytest.mark.parametrize(
    ("sweep", "key", "said"),
    [
        ({}, "sweep:", "write one of grid, list and random"),
        ({"grid": {"env.A": ["1"]}, "list": [{"env.A": "2"}]}, "sweep:", "it has grid and list"),
        ({"grid": {"env.A": []}}, "env.A", "the list is empty"),
        ({"grid": {"env.A": [["x"]]}}, "env.A", "text as its value, not a list"),
        ({"grid": {"env.1A": ["x"]}}, "env.1A", "is not the name of a variable"),
        ({"grid": {"nodse": [1]}}, "nodse", "did you mean 'nodes'"),
        ({"grid": {"metrics": [1]}}, "metrics", "is the same for all points"),
        ({"grid": {"env.A": ["1"] * 400, "env.B": ["1"] * 400}}, "grid", "160,000 points"),
        ({"random": {"count": 0, "draw": {"env.A": {"int": [1, 2]}}}}, "random", "0 points"),
        ({"random": {"count": 1, "draw": {"env.A": {"int": [2, 1]}}}}, "env.A", "2 is larger than 1"),
        ({"random": {"count": 1, "draw": {"env.A": {"loguniform": [0, 1]}}}}, "env.A", "no logarithm"),
        ({"random": {"count": 1, "draw": {"env.A": {"uniform": ["nan", 1]}}}}, "env.A", "can be drawn"),
        ({"random": {"count": 1, "draw": {"env.A": {}}}}, "env.A", "write one of uniform"),
        ({"grid": {"env.A": ["1"]}, "max_running": 0}, "max_running", "at least one"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(sweep: Any, key: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        job(sweep)
    (problem,) = caught.value.problems
    assert said in problem.message
    text = yaml.safe_dump({"version": 1, "name": "search", "command": ["./train", "--x"], "sweep": sweep})
    file, line, _ = problem.where.split(":")
    assert file == "search.yaml"
    assert 1 <= int(line) <= len(text.splitlines()) + 1
    assert key in problem.message or key in text.splitlines()[int(line) - 1]


def test_a_point_that_makes_no_job_is_named_with_its_place() -> None:
    text = "version: 1\nname: a\ncommand: [x]\nsweep:\n  grid:\n    nodes: [1, x, 0]\n    mpi: [pmix, mpj]\n"
    with pytest.raises(InputError) as caught:
        variants(parse_job(text, "a.yaml", "/"))
    found = {problem.where: problem.message for problem in caught.value.problems}
    assert "'x' is not a whole number" in found["a.yaml:6:16"]
    assert "0 must be from 1" in found["a.yaml:6:19"]
    assert "'mpj' is not" in found["a.yaml:7:17"]
    assert "(point " in found["a.yaml:6:16"]


def test_what_a_site_cannot_give_a_point_is_said_where_the_sweep_has_it() -> None:
    document = parse_job(
        "version: 1\nname: a\ncommand: [x]\nsweep: {grid: {gpus_per_node: [4, 99]}}\n", "a.yaml", "/"
    )
    with pytest.raises(InputError) as caught:
        launches(document, *SLURM)
    assert {problem.where for problem in caught.value.problems} == {"a.yaml:4:35"}


@pytest.mark.parametrize(
    ("site_name", "sweep", "said"),
    [
        ("local", {"grid": {"env.A": ["1"]}}, "no queue"),
        ("k8s-superpod-a100", {"grid": {"env.A": ["1"]}, "max_running": 1}, "leave it out"),
        ("superpod-a100", {"grid": {"nodes": ["1", "2"]}, "max_running": 1}, "several jobs"),
    ],
)
def test_what_a_site_cannot_do_is_refused_by_name(site_name: str, sweep: Any, said: str) -> None:
    with pytest.raises(InputError, match="sweep") as caught:
        launches(job(sweep), *site(site_name))
    assert said in str(caught.value)
