"""Steps and trials on this machine, without a scheduler: jobs that `submit --local` runs."""

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import hpclaunch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from variables import TEXT
from waiting import until


def submit(folder: Path, *words: str, **job: Any) -> tuple[int, str, str]:
    """Exit status, the lines that the job's own commands noted, and its log."""
    notes = folder / "notes"
    notes.unlink(missing_ok=True)
    full = {"name": "here", "ranks_per_node": 2, "time": 5} | job
    (folder / "job.yaml").write_text(yaml.safe_dump(full))
    env = {"HPCLAUNCH_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "HOME": str(folder), "TOKEN": "s"}
    done = hpclaunch("submit", folder / "job.yaml", "--local", *words, env=env)
    assert done.stdout.strip(), done.stderr
    log = "".join(path.read_text() for path in (folder / "home").glob("**/*.log") if "trial" not in path.name)
    return done.returncode, notes.read_text() if notes.exists() else "", log


def test_each_step_runs_in_its_turn(tmp_path: Path) -> None:
    def noting(what: str) -> dict[str, str]:
        return {"run": f'echo "{what} ${{HPCLAUNCH_TRIAL-}} ${{SEED-}} $X ${{TOKEN-}}." >>notes'}

    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_text("x")
    status, notes, log = submit(
        tmp_path,
        "--wait",
        command='echo "run $HPCLAUNCH_TRIAL $SEED $X $TOKEN $(cat near/x)." >>notes; echo said; echo err >&2',
        env={"X": "y"},
        secrets=["TOKEN"],
        stage_in=[f"./data:{tmp_path}/near"],
        trials={"count": 2, "first_seed": 7, "log": "{trial}/log"},
        setup=[noting("setup"), noting("setup-job") | {"per": "job"}, noting("setup-rank") | {"per": "rank"}],
        before_each=[noting("before")],
        after=[noting("after")],
    )
    assert status == 0, log
    assert notes.splitlines() == [
        *["setup   y .", "setup-job   y .", "setup-rank   y .", "setup-rank   y ."],
        *["before 1 7 y .", "run 1 7 y s x.", "run 1 7 y s x."],
        *["before 2 8 y .", "run 2 8 y s x.", "run 2 8 y s x."],
        "after   y .",
    ]
    for trial in (1, 2):
        lines = (tmp_path / str(trial) / "log").read_text().splitlines()
        assert lines[0] == f"hpclaunch: trial {trial} of 2, SEED={trial + 6}"
        assert sorted(lines[2:]) == ["err", "err", "said", "said"]
    assert re.findall(r"^(?:hpclaunch: (?:setup|after) \d|said)", log, re.M) == [
        *[f"hpclaunch: setup {number}" for number in (1, 2, 3)],
        *["said"] * 4,
        "hpclaunch: after 1",
    ]


@settings(max_examples=6, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(words=st.lists(TEXT, max_size=4), value=TEXT)
def test_words_and_variables_arrive_byte_for_byte(tmp_path: Path, words: list[str], value: str) -> None:
    program = 'printf "%s\\0" "$X" "$@" >>notes'
    steps = [{"run": ["/bin/sh", "-c", program, "x", *words], "per": per} for per in ("job", "rank")]
    status, notes, log = submit(
        tmp_path, "--wait", ranks_per_node=1, command="true", env={"X": value}, setup=steps, after=steps
    )
    assert status == 0, log
    assert (tmp_path / "notes").read_bytes().split(b"\0")[:-1] == [
        text.encode() for text in [value, *words] * 4
    ]
    assert notes is not None


@pytest.mark.parametrize(
    ("job", "status", "order"),
    [
        ({"setup": [("a", 3), ("b", 0)]}, 3, "az"),
        ({"setup": [("a", 3, "optional"), ("b", 0)]}, 0, "abccz"),
        ({"before_each": [("a", 4)]}, 4, "az"),
        ({"before_each": [("a", 4)], "keep_going": True}, 4, "aaz"),
        ({"command": "exit 7"}, 7, "cz"),
        ({"command": "exit $((6 + HPCLAUNCH_TRIAL))", "keep_going": True}, 7, "ccz"),
        ({"after": [("x", 9), ("y", 8)]}, 9, "ccxyz"),
        ({"command": "exit 7", "after": [("y", 9)]}, 7, "cyz"),
    ],
)
def test_what_fails_ends_the_job_as_it_says(
    tmp_path: Path, job: dict[str, Any], status: int, order: str
) -> None:
    def step(name: str, code: int, *optional: str) -> dict[str, Any]:
        return {"run": f"printf {name} >>notes; exit {code}", "name": name, "optional": bool(optional)}

    lists = {key: [step(*each) for each in job.get(key, [])] for key in ("setup", "before_each", "after")}
    lists["after"].append(step("z", 0))
    trials = {"count": 2, "keep_going": job.get("keep_going", False)}
    command = f"printf c >>notes; {job.get('command', '')}"
    found, notes, log = submit(tmp_path, "--wait", ranks_per_node=1, command=command, trials=trials, **lists)
    assert (found, notes) == (status, order), log
    for key, steps in lists.items():
        for number, each in enumerate(steps, 1):
            if "exit 0" not in each["run"] and each["name"] in notes:
                said = f"hpclaunch: {key} {number}: {each['name']} failed with status"
                assert any(line.startswith(said) for line in log.splitlines())


def test_a_cancelled_job_does_what_is_left_to_do(tmp_path: Path) -> None:
    status, _, _ = submit(
        tmp_path,
        command="echo up >>notes; exec sleep 300",
        trials={"count": 3, "keep_going": True},
        after=[{"run": "echo after >>notes"}],
    )
    assert status == 0
    notes = tmp_path / "notes"
    until(lambda: notes.exists() and notes.read_text().count("up") == 2)
    env = {"HPCLAUNCH_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    assert hpclaunch("cancel", "local/1", env=env).returncode == 0
    assert "CANCELLED" in hpclaunch("wait", "local/1", env=env).stderr
    until(lambda: notes.read_text().split() == ["up", "up", "after"])


def test_an_interrupt_leaves_the_steps_after_all(tmp_path: Path) -> None:
    for key in ("setup", "before_each"):
        job = {
            "name": "here",
            "command": "true",
            "trials": {"count": 3, "keep_going": True},
            key: [{"run": f"echo {key} >>notes; exec sleep 300"}],
            "after": [{"run": "echo after >>notes"}],
        }
        (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
        script = hpclaunch("render", tmp_path / "job.yaml", "--site", "local").stdout
        (tmp_path / "script").write_text(script)
        notes = tmp_path / "notes"
        notes.unlink(missing_ok=True)
        with subprocess.Popen(
            ["bash", "script"], cwd=tmp_path, stderr=subprocess.DEVNULL, process_group=0
        ) as process:
            until(lambda notes=notes: notes.exists())
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
            assert process.wait(timeout=60) == 130
        assert notes.read_text().split() == [key, "after"]


def test_what_a_step_leaves_running_does_not_hold_up_the_trials(tmp_path: Path) -> None:
    program = "until [ -e enough ]; do sleep 0.1; done; echo late"
    status, notes, log = submit(
        tmp_path,
        "--wait",
        ranks_per_node=1,
        command="echo run >>notes",
        trials={"count": 2, "log": "{trial}.log"},
        before_each=[{"run": f"({program}) &"}],
        after=[{"run": "touch enough; until grep -q late 1.log && grep -q late 2.log; do sleep 0.1; done"}],
    )
    assert (status, notes.split()) == (0, ["run", "run"]), log
    for trial in (1, 2):
        assert f"hpclaunch: trial {trial} ended, and something" in log


def test_a_log_that_cannot_be_written_ends_a_trial_before_it_runs(tmp_path: Path) -> None:
    (tmp_path / "1.log").mkdir()
    status, notes, log = submit(
        tmp_path,
        "--wait",
        ranks_per_node=1,
        command="echo $HPCLAUNCH_TRIAL >>notes",
        trials={"count": 2, "log": "{trial}.log", "keep_going": True},
    )
    assert (status, notes.split()) == (1, ["2"]), log
    assert "1.log" in log
