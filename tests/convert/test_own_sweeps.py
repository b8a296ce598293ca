"""A rendered sweep comes back with the points.json of its record; without it the points are asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_own_texts import SLURM, WORDS, body, write

from hpclaunch.cli.convert import _renderer
from hpclaunch.cli.planning import documents_of, values_of
from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified, read_inputs
from hpclaunch.convert.options import Options
from hpclaunch.plan.planner import Planner
from hpclaunch.plan.sweep import PlannedPoints, launches
from hpclaunch.render import script
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.values.conversion import Conversion
from hpclaunch.values.sweep import KeptPoint, Points


def planned(job: str, folder: Path) -> PlannedPoints:
    site = read_site(str(folder / "superpod.yaml"))
    planner = Planner(site.value, values_of(documents_of(site)))
    (found,) = launches(parse_job(job, "job.yaml", str(folder)), site, planner)
    return found


def points_of(sweep: PlannedPoints) -> str:
    """points.json, as a record has it."""
    kept = tuple(KeptPoint(each.number, each.values) for each in sweep.sweep.points)
    return msgspec.json.encode(Points(sweep.sweep.keys, kept, sweep.sweep.total, ("t",))).decode()


def given_to_ranks(found: PlannedPoints) -> list[tuple[int, set[str], tuple[str, ...]]]:
    """What each point has; in which order its variables are set nobody sees."""
    return [(each.number, set(each.environment), each.arguments) for each in found.sweep.points]


def words_of(sweep: PlannedPoints) -> str:
    """The file that the tasks read."""
    return sweep.sweep.words.decode()


def converted(text: str, folder: Path, with_site: bool, **more: str) -> Conversion:
    site = read_site(str(folder / "superpod.yaml"))
    options = Options({}, None, site.value.name, _renderer(site)) if with_site else Options({})
    return convert(
        classified({"job.sh": text, **{f"{name}.json": each for name, each in more.items()}}), options
    )


ENV = st.dictionaries(st.sampled_from(["env.LR", "env.B", "env.PATH"]), WORDS, min_size=1)
POINT = st.fixed_dictionaries({}, optional={"args": st.lists(WORDS, min_size=1, max_size=2)})
LISTS = st.lists(st.builds(lambda one, other: {**one, **other}, ENV, POINT), min_size=2, max_size=5)
GRIDS = st.dictionaries(
    st.sampled_from(["env.LR", "env.B", "args"]), st.integers(1, 3), min_size=1, max_size=3
).flatmap(
    lambda sizes: st.fixed_dictionaries(
        {
            key: st.lists(
                WORDS if key != "args" else st.lists(WORDS, min_size=1, max_size=2),
                min_size=count + 1,
                max_size=count + 1,
                unique_by=str,
            )
            for key, count in sizes.items()
        }
    )
)
SWEEPS = st.one_of(
    st.fixed_dictionaries({"list": LISTS}, optional={"max_running": st.integers(1, 9)}),
    st.fixed_dictionaries({"grid": GRIDS}, optional={"max_running": st.integers(1, 9)}),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example({"grid": {"args": [["TOKEN:"], ["="]]}}, False, False)  # a sign is no secret
@given(SWEEPS, st.booleans(), st.booleans())
def test_any_sweep_comes_back(
    tmp_path_factory: pytest.TempPathFactory, sweep: dict[str, Any], with_site: bool, of_record: bool
) -> None:
    folder = tmp_path_factory.getbasetemp()
    write(folder, "superpod", SLURM)
    job = {"version": 1, "name": "train", "image": "a/b:1", "command": ["./train", "-x"], "sweep": sweep}
    mine = planned(yaml.safe_dump(job), folder)
    text = script.render(mine.plan)
    points = points_of(mine) if of_record else words_of(mine)
    found = converted(text, folder, with_site, points=points)
    assert found.is_complete
    again = planned(found.job, folder)
    assert again.sweep.max_running == mine.sweep.max_running
    if of_record:
        assert again.sweep.keys == mine.sweep.keys
    assert given_to_ranks(again) == given_to_ranks(mine)
    if with_site:
        assert body(script.render(again.plan)) == body(text)


SWEEP = {"grid": {"env.LR": ["1", "2"], "command": [["./a"], ["./b", "c"]]}}


def rendered(folder: Path, **more: Any) -> tuple[PlannedPoints, str]:
    write(folder, "superpod", SLURM)
    job = {"version": 1, "name": "train", "image": "a/b:1", "command": ["./x"], "sweep": SWEEP, **more}
    found = planned(yaml.safe_dump(job), folder)
    return found, script.render(found.plan)


@pytest.mark.parametrize("form", [points_of, words_of])
def test_commands_of_points_come_back(form: Callable[[PlannedPoints], str], tmp_path: Path) -> None:
    mine, text = rendered(tmp_path)
    found = converted(text, tmp_path, False, points=form(mine))
    assert planned(found.job, tmp_path).sweep.words == mine.sweep.words


def test_the_file_beside_a_script_is_read_by_its_name(tmp_path: Path) -> None:
    mine, text = rendered(tmp_path)
    (tmp_path / "job.sh").write_text(text, encoding="utf-8")
    file = tmp_path / mine.sweep.file
    file.write_bytes(mine.sweep.words)
    found = convert(read_inputs([str(tmp_path / "job.sh"), str(file)]), Options({}))
    assert planned(found.job, tmp_path).sweep.words == mine.sweep.words


def test_a_point_without_a_command_leaves_it_asked_for(tmp_path: Path) -> None:
    sweep = {"list": [{"command": ["./a"]}, {"env.LR": "1"}]}
    mine, text = rendered(tmp_path, sweep=sweep)
    found = converted(text, tmp_path, False, points=points_of(mine))
    assert [each.key for each in found.findings if each.kind == "question"] == ["command"]
    job = found.job.replace(found.job[found.job.index('"<ask: ') :].split("\n")[0], "[./x]")
    assert planned(job, tmp_path).sweep.words == mine.sweep.words


@pytest.mark.parametrize("with_site", [False, True])
@pytest.mark.parametrize("how", ["none", "damaged", "others", "part", "cut"])
def test_points_that_are_not_told_are_asked_for(how: str, with_site: bool, tmp_path: Path) -> None:
    mine, text = rendered(tmp_path)
    whole = points_of(mine)
    given_ = {
        "none": {},
        "damaged": {"points": whole[:-9]},
        "others": {
            "points": points_of(rendered(tmp_path, sweep={"list": [{"env.A": "1"}, {"env.A": "2"}]})[0])
        },
        "cut": {"points": words_of(mine)[: len(words_of(mine)) // 2]},
        "part": {"points": whole.replace('"total":4', '"total":8')},
    }[how]
    found = converted(text, tmp_path, with_site, **given_)
    asked = {each.key: each for each in found.findings if each.kind == "question"}
    assert set(asked) == {"sweep", "command"}
    assert text.split("\n")[asked["sweep"].places[0].line - 1].startswith("#SBATCH --array=")
    assert not [each for each in found.findings if each.kind == "left"]
