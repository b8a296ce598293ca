"""The end of a job as JUnit XML, and the example of a pipeline, run line by line as GitLab's runner does."""

import os
import subprocess
import sys
from pathlib import Path
from xml.dom import minidom

import pytest
import yaml
from command import hpclaunch
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.report.junit import Case, document

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "gitlab-ci.yml"
OUTCOMES = {"failure", "error"}


def cases(text: str) -> list[dict[str, str]]:
    """The test cases as a reader of the form finds them; its own counts must be right."""
    root = minidom.parseString(text.encode()).documentElement
    assert root is not None
    assert root.tagName == "testsuites"
    suites = root.getElementsByTagName("testsuite")
    found = []
    for case in (each for suite in suites for each in suite.childNodes if each.nodeName == "testcase"):
        children = [each for each in case.childNodes if each.nodeType == each.ELEMENT_NODE]
        names = [each.tagName for each in children]
        assert set(names) <= {*OUTCOMES, "system-out"}
        outcome = [each for each in children if each.tagName in OUTCOMES]
        assert len(outcome) <= 1
        float(case.getAttribute("time"))
        found.append(
            {
                "name": case.getAttribute("name"),
                "outcome": outcome[0].tagName if outcome else "passed",
                "message": outcome[0].getAttribute("message") if outcome else "",
                "output": "".join(
                    node.data for each in children if each.tagName == "system-out" for node in each.childNodes
                ),
            }
        )
    for element in (root, *suites):
        assert int(element.getAttribute("tests")) == len(found)
        for kind in OUTCOMES:
            assert int(element.getAttribute(f"{kind}s")) == sum(each["outcome"] == kind for each in found)
    return found


def pipeline(
    folder: Path,
    command: str,
    lines: tuple[str, ...] = ("script", "after_script"),
    points: tuple[str, ...] = (),
) -> "subprocess.CompletedProcess[str]":
    """Runs the lines of the example, each part in one bash, and after_script whatever came before. With
    `points` its submission is of several jobs, as that of a sweep may be where there is a queue."""
    example = yaml.safe_load(EXAMPLE.read_text())["train"]
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    program = f'"{sys.executable}" -m hpclaunch'
    each = "".join(f'  {program} "$@" --set {point} || exit\n' for point in points)
    several = f'if [ "$1" = submit ]; then\n{each}  exit\nfi\n' if points else ""
    (bin_folder / "hpclaunch").write_text(f'#!/bin/sh\n{several}exec {program} "$@"\n')
    (bin_folder / "hpclaunch").chmod(0o700)
    job = {"version": 1, "name": "ci", "command": command, "gpus_per_node": 0, "ranks_per_node": 1}
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    variables = {
        name: value.replace("$CI_BUILDS_DIR", str(folder)) for name, value in example["variables"].items()
    }
    variables |= {"HPCLAUNCH_SITE": "local", "HPCLAUNCH_JOB": "job.yaml"}
    env = {**os.environ, **variables, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    done = [
        subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join(example[part])],
            env=env,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
        )
        for part in lines
    ]
    assert all(each.returncode == 0 for each in done[1:]), done
    assert example["artifacts"]["reports"]["junit"] in example["artifacts"]["paths"]
    return done[0]


def reported(folder: Path) -> list[dict[str, str]]:
    """The cases of all files that GitLab takes for reports of the pipeline, in the order of jobs."""
    pattern = yaml.safe_load(EXAMPLE.read_text())["train"]["artifacts"]["reports"]["junit"]
    files = {file.name: cases(file.read_text()) for file in folder.glob(pattern)}
    submitted = [f"report-{each}.xml" for each in (folder / "job-ids").read_text().split()]
    assert sorted(files) == sorted(submitted)
    return [case for name in submitted for case in files[name]]


def test_the_example_passes_with_its_job(tmp_path: Path) -> None:
    done = pipeline(tmp_path, "echo 'loss <0.1> & \"falling\"'")
    assert done.returncode == 0, done.stderr
    assert 'loss <0.1> & "falling"' in done.stdout
    (case,) = reported(tmp_path)
    assert (case["name"], case["outcome"]) == ("ci", "passed")
    assert case["output"] == 'loss <0.1> & "falling"\n'


def test_the_example_fails_with_its_job_s_own_status(tmp_path: Path) -> None:
    done = pipeline(tmp_path, "printf 'a \\033[1m\\000 \\377 b\\n'; exit 7")
    assert done.returncode == 7, done.stderr
    (case,) = reported(tmp_path)
    assert case["outcome"] == "failure"
    assert "exit code 7" in case["message"]
    assert case["output"].startswith("a \N{REPLACEMENT CHARACTER}[1m")


def test_the_example_takes_all_jobs_that_were_submitted(tmp_path: Path) -> None:
    """As of a sweep over the time limit, one for each point. The second fails first, and has its status in
    the end."""
    command = "echo is-$N; exit $((N % 7))"
    done = pipeline(tmp_path, command, points=("env.N=0", "env.N=11", "env.N=12"))
    assert done.returncode == 4, done.stderr
    assert [(each["outcome"], each["output"]) for each in reported(tmp_path)] == [
        ("passed", "is-0\n"),
        ("failure", "is-11\n"),
        ("failure", "is-12\n"),
    ]
    assert [line for line in done.stdout.splitlines() if line.startswith("is-")] == ["is-0", "is-11", "is-12"]


def test_a_cancelled_pipeline_leaves_no_job(tmp_path: Path) -> None:
    home = {**os.environ, "HPCLAUNCH_HOME": str(tmp_path / "hpclaunch")}
    job = {"version": 1, "name": "ci", "command": ["sleep", "300"], "gpus_per_node": 0, "ranks_per_node": 1}
    (tmp_path / "long.yaml").write_text(yaml.safe_dump(job))
    sent = hpclaunch("submit", tmp_path / "long.yaml", "--local", env=home)
    (tmp_path / "job-ids").write_text(sent.stdout)
    pipeline(tmp_path, "true", ("after_script",))
    done = hpclaunch("wait", sent.stdout.strip(), "--junit", tmp_path / "r.xml", env=home)
    assert done.returncode == 1
    (case,) = cases((tmp_path / "r.xml").read_text())
    assert case["outcome"] == "error"
    assert "CANCELLED" in case["message"]


def test_a_file_that_cannot_be_is_refused_at_once(tmp_path: Path) -> None:
    home = {**os.environ, "HPCLAUNCH_HOME": str(tmp_path)}
    job = {"version": 1, "name": "ci", "command": ["true"], "gpus_per_node": 0, "ranks_per_node": 1}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    sent = hpclaunch("submit", tmp_path / "job.yaml", "--local", env=home)
    done = hpclaunch("wait", sent.stdout.strip(), "--junit", tmp_path / "none" / "r.xml", env=home)
    assert done.returncode == 2
    assert "there is no folder" in done.stderr


STATES = st.sampled_from(["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "UNKNOWN"])
ANY = st.text(max_size=40)


@given(st.lists(st.builds(Case, name=ANY, state=STATES, said=ANY, cause=ANY, output=ANY), max_size=4), ANY)
def test_whatever_a_job_writes_the_file_is_read(made: list[Case], suite: str) -> None:
    found = cases(document(suite, "site", made))
    assert len(found) == len(made)
    for case, read in zip(made, found, strict=True):
        assert (read["outcome"] == "passed") == (case.state == "COMPLETED")
        if case.output.isprintable():
            assert read["output"] == case.output


@pytest.mark.parametrize("state", ["NODE_FAIL", "CANCELLED", "PREEMPTED", "UNKNOWN"])
def test_what_is_not_the_job_s_own_doing_is_an_error(state: str) -> None:
    (case,) = cases(document("s", "site", [Case("a", state)]))  # type: ignore[arg-type]
    assert case["outcome"] == "error"
