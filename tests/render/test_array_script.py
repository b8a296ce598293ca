"""The script of a job array, run under bash with a program in srun's place: what a task hands on."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hpclaunch.plan.planner import Planner
from hpclaunch.plan.sweep import PlannedPoints, launches
from hpclaunch.render import script
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.topology import catalogue

ROOT = Path(__file__).resolve().parents[2]
SITE = read_site(str(ROOT / "site-configs" / "superpod-a100.yaml"))
PLANNER = Planner(
    SITE.value, {group.type: catalogue.load(group.type).value for group in SITE.value.node_types}
)

SRUN = "#!/bin/sh\nprintf '%s\\0' \"$@\" >'{}'\n"
HOSTILE = st.text(
    st.sampled_from("ab1 \t\n\r'\"\\$`#*?![]{}()<>|&;:,=~%^-\x1b\x7fé€\u2028")
    | st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    max_size=16,
)


def planned(sweep: dict[str, Any], **more: Any) -> PlannedPoints:
    data = {"version": 1, "name": "search", "command": ["./train", "-x"], "sweep": sweep, **more}
    (found,) = launches(parse_job(yaml.safe_dump(data, sort_keys=False), "a.yaml", "/"), SITE, PLANNER)
    return found


def run(array: PlannedPoints, task: int, *, by_hand: bool) -> tuple[dict[str, str], list[str], str]:
    """The variables and the command of a task's ranks, and what the script says; `by_hand`: as who submits
    the exported script, beside its file of points."""
    sweep = array.sweep
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "srun").write_text(SRUN.format(folder / "words"))
        (folder / "srun").chmod(0o755)
        (folder / (sweep.file if by_hand else "points")).write_bytes(sweep.words)
        text = script.render(array.plan)
        (folder / "script.sh").write_text(text, newline="")
        env = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "SLURM_JOB_ID": "12",
            "SLURM_ARRAY_JOB_ID": "11",
            "SLURM_ARRAY_TASK_ID": str(task),
        }
        claim = () if by_hand else (folder / "claim",)
        done = subprocess.run(
            ["bash", "-p", folder / "script.sh", *claim], env=env, cwd=folder, capture_output=True, timeout=60
        )
        if done.returncode:
            return {}, [], done.stderr.decode()
        words = (folder / "words").read_bytes().decode().split("\0")[:-1]
    first = words.index("--")
    second = words.index("--", first + 1)
    variables = dict(word.split("=", 1) for word in words[first + 1 : second])
    return variables, [word.removeprefix("=") for word in words[second + 1 :]], done.stderr.decode()


ROW = st.fixed_dictionaries(
    {"env.LR": HOSTILE},
    optional={"env.MODE": HOSTILE, "args": st.lists(HOSTILE, max_size=4)},
)


@settings(deadline=None, max_examples=60)
@given(st.lists(ROW, min_size=2, max_size=5), st.data(), st.booleans())
def test_a_task_hands_its_point_to_the_ranks_byte_for_byte(
    rows: list[dict[str, Any]], data: st.DataObject, by_hand: bool
) -> None:
    task = data.draw(st.integers(0, len(rows) - 1))
    array = planned({"list": rows}, env={"MODE": "slow"})
    variables, command, _ = run(array, task, by_hand=by_hand)
    row = rows[task]
    assert variables["LR"] == row["env.LR"]
    assert variables["MODE"] == row.get("env.MODE", "slow")
    assert (variables["HPCLAUNCH_POINT"], variables["HPCLAUNCH_SWEEP"]) == (str(task), str(len(rows)))
    assert command == ["./train", "-x", *row.get("args", [])]


@settings(deadline=None, max_examples=20)
@given(st.lists(st.lists(HOSTILE, max_size=3).map(lambda words: ["./run", *words]), min_size=2, max_size=4))
def test_commands_of_points_take_the_place_of_the_job_s(commands: list[list[str]]) -> None:
    array = planned({"grid": {"command": commands}})
    for task, command in enumerate(commands):
        assert run(array, task, by_hand=False)[1] == command


def test_a_text_as_command_is_the_shell_s() -> None:
    array = planned({"grid": {"command": ["echo $LR | cat", "exit 3"]}})
    assert run(array, 1, by_hand=False)[1] == ["/bin/sh", "-c", "exit 3"]


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_task_without_a_point_starts_nothing(by_hand: bool) -> None:
    array = planned({"grid": {"env.LR": ["0.1", "0.2"]}})
    variables, _, said = run(array, 2, by_hand=by_hand)
    assert variables == {}
    assert "point 2 of the sweep is not in" in said
    assert len(said.splitlines()) == 1


def test_the_script_does_not_grow_with_the_points() -> None:
    few, many = (
        script.render(planned({"grid": {"env.LR": [str(number) for number in range(count)]}}).plan)
        for count in (2, 5000)
    )
    assert 0 < len(many) - len(few) <= 2 * (len("4999") - len("1"))
