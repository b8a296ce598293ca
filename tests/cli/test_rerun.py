"""A run is repeated from its record, and what is not as it was is said; two runs are compared."""

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import hpclaunch

JOB = {
    "version": 1,
    "name": "measured",
    "command": ["sh", "-c", 'echo "loss=$LOSS"; pwd; exit "${STATUS:-0}"'],
    "gpus_per_node": 0,
    "ranks_per_node": 1,
    "env": {"LOSS": "0.5", "HOSTILE": "a\n'b' $HOME \"c\""},
    "metrics": {"loss": "loss=([0-9.]+)"},
}


class Place:
    """A folder with a job, a site, and a home of records."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.job = folder / "jobs" / "job.yaml"
        self.site = folder / "here.yaml"
        self.home = folder / "home"
        self.job.parent.mkdir()
        self.write_site({})
        self.job.write_text(yaml.safe_dump(JOB))

    def write_site(self, env: dict[str, str]) -> None:
        site: dict[str, Any] = {"version": 1, "name": "here", "scheduler": "local", "env": env}
        site["node_types"] = [{"type": "local", "count": 1}]
        self.site.write_text(yaml.safe_dump(site))

    def run(self, *words: str | Path, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, "HPCLAUNCH_HOME": str(self.home)}
        return hpclaunch(*words, env=env, cwd=cwd or self.folder)

    def records(self) -> dict[str, Path]:
        listed = json.loads(self.run("list", "--json").stdout)
        return {row["job_id"]: Path(row["record"]) for row in listed}

    def differences(self, a: str, b: str) -> dict[str, tuple[Any, Any]]:
        done = self.run("compare", a, b, "--json")
        assert done.returncode == 0, done.stderr
        return {each["what"]: (each["a"], each["b"]) for each in json.loads(done.stdout)["differences"]}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_run_is_repeated_as_it_was_from_anywhere(place: Place) -> None:
    words = ("submit", place.job, "--site", "here.yaml", "--set", "env.STATUS=3", "--wait")
    assert place.run(*words).returncode == 3
    place.job.unlink()
    (place.folder / "elsewhere").mkdir()
    done = place.run("rerun", "1", "--exact", "--wait", cwd=place.folder / "elsewhere")
    assert (done.returncode, done.stdout) == (3, "2\n"), done.stderr
    assert "not as it was" not in done.stderr
    first, second = place.records()["1"], place.records()["2"]
    assert first.name != second.name
    for name in ("script.sh", "job.yaml", "site.yaml", "plan.json", "logs/output.log"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    assert set(place.differences("1", "2")) <= {"submitted", "started", "ended", "seconds"}


def test_what_changed_since_is_said_and_exact_sends_nothing(place: Place) -> None:
    place.run("submit", place.job, "--site", place.site, "--wait")
    place.write_site({"NCCL_DEBUG": "INFO"})
    done = place.run("rerun", "1", "--exact")
    assert (done.returncode, done.stdout) == (1, "")
    assert "site.env.NCCL_DEBUG: - -> INFO" in done.stderr
    assert "script: " in done.stderr
    assert len(place.records()) == 1
    done = place.run("rerun", "1", "--wait")
    assert (done.returncode, done.stdout) == (0, "2\n")
    assert "site.env.NCCL_DEBUG: - -> INFO" in done.stderr
    first, second = (
        [line for line in (record / "script.sh").read_text().splitlines() if "Made by" not in line]
        for record in (place.records()["1"], place.records()["2"])
    )
    shown = [line[2:] for line in done.stderr.splitlines() if line.startswith(("  +", "  -"))]
    assert Counter(line[1:] for line in shown if line[0] == "+" and line[:3] != "+++") == Counter(
        second
    ) - Counter(first)
    assert Counter(line[1:] for line in shown if line[0] == "-" and line[:3] != "---") == Counter(
        first
    ) - Counter(second)
    assert place.differences("1", "2")["site.env.NCCL_DEBUG"] == (None, "INFO")


def test_of_many_lines_that_differ_the_first_are_shown_and_the_others_counted(place: Place) -> None:
    place.run("submit", place.job, "--site", place.site, "--wait")
    place.write_site({f"NAME_{number}": "x" * 300 for number in range(100)})
    done = place.run("rerun", "1", "--exact")
    shown = [line for line in done.stderr.splitlines() if line.startswith("  ")]
    assert len(shown) == 41
    left = re.fullmatch(r"  \.\.\. and (\d+) more lines", shown[-1])
    assert left
    assert int(left[1]) >= 100 - 40
    assert max(map(len, shown)) < 200


def test_another_version_of_hpclaunch_is_said(place: Place) -> None:
    place.run("submit", place.job, "--site", place.site, "--wait")
    record = place.records()["1"]
    for name in ("intent.json", "script.sh"):
        text = (record / name).read_text()
        for before in ('"hpclaunch": "', "Made by hpclaunch "):
            text = text.replace(before, f"{before}0.0.old-")
        assert "0.0.old-" in text
        (record / name).write_text(text)
    done = place.run("rerun", "1", "--exact")
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if "not as it was" in line]
    assert len(said) == 1
    assert "version of hpclaunch: 0.0.old-" in said[0]


def test_a_commit_and_changed_files_are_said(place: Place) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
        argv = ["git", "-C", str(place.job.parent), *who, *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    place.run("submit", place.job, "--site", place.site, "--wait")
    assert place.run("rerun", "1", "--exact", "--wait").returncode == 0
    before = git("rev-parse", "HEAD")
    (place.job.parent / "model.py").write_text("one")
    git("add", "-A")
    git("commit", "-qm", "second")
    (place.job.parent / "model.py").write_text("two")
    done = place.run("rerun", "1", "--exact")
    assert done.returncode == 1
    assert f"git commit: {before}"[:40] in done.stderr
    assert "git changes:" in done.stderr
    place.run("rerun", "1", "--wait")
    found = place.differences("1", "3")
    assert found["git commit"] == (before, git("rev-parse", "HEAD"))
    assert found["git changed files"] == ("", "model.py")


def test_a_site_whose_file_is_gone_is_taken_from_the_record(place: Place) -> None:
    place.run("submit", place.job, "--site", place.site, "--wait")
    place.site.unlink()
    done = place.run("rerun", "1", "--wait")
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert f"{place.site} is gone" in done.stderr


def test_runs_differ_in_what_was_set_and_in_what_became_of_them(place: Place) -> None:
    place.run("submit", place.job, "--site", place.site, "--wait")
    changed = ("--set", "env.LOSS=0.25", "--set", "env.STATUS=7")
    done = place.run("rerun", "1", "--wait", *changed)
    assert done.returncode == 7
    found = place.differences("1", "2")
    assert found["job.env.LOSS"] == ("0.5", "0.25")
    assert found["job.env.STATUS"] == (None, "7")
    assert found["metric loss"] == ("0.5", "0.25")
    assert found["state"] == ("COMPLETED", "FAILED")
    assert found["exit code"] == ("0", "7")
    assert "script" in found
    table = place.run("compare", "1", "2").stdout.splitlines()
    assert table[0].split() == ["WHAT", "1", "2"]
    assert ["job.env.LOSS", "0.5", "0.25"] in [line.split() for line in table]


def test_a_run_differs_from_itself_in_nothing(place: Place) -> None:
    place.run("submit", place.job, "--site", place.site, "--wait")
    assert place.differences("1", "1") == {}
    done = place.run("compare", "1", "1")
    assert (done.returncode, done.stdout) == (0, "")


def test_wrong_calls_are_refused(place: Place) -> None:
    place.run("submit", place.job, "--site", place.site, "--wait")
    for words, said in (
        (("rerun", "9"), "no record of a job 9"),
        (("rerun", "1", "--failed"), "only a sweep has points"),
        (("rerun", "1", "--exact", "--set", "nodes=1"), "neither --site nor --set"),
        (("compare", "1", "9"), "no record of a job 9"),
    ):
        done = place.run(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert said in done.stderr
    assert len(place.records()) == 1


def test_a_dry_run_sends_nothing(place: Place) -> None:
    place.run("submit", place.job, "--site", place.site, "--wait")
    done = place.run("rerun", "1", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (place.records()["1"] / "script.sh").read_text()
    assert len(place.records()) == 1
