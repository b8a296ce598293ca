"""What a submission leaves in its record is enough to make the same plan again, anywhere."""

import os
from pathlib import Path

import msgspec
import pytest
from command import hpclaunch

from hpclaunch.plan.planner import Planner
from hpclaunch.records.lookup import find
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.topology import catalogue

JOB = """\
version: 1
name: relative
image: ./images/mxnet.sqsh
command: [./train.sh]
workdir: /workspace
nodes: 2
mpi: pmix
mounts: ["./data:/data:ro", "imagenet:/imagenet"]
env: {LR: "0.10", NOTE: "a $b"}
"""


def test_job_site_and_folder_of_a_record_make_the_plan_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, jobs, home = tmp_path / "bin", tmp_path / "jobs", tmp_path / "home"
    for folder in (programs, jobs, tmp_path / "elsewhere"):
        folder.mkdir()
    (programs / "sbatch").write_text("#!/bin/sh\necho 12\n")
    (programs / "sbatch").chmod(0o755)
    (jobs / "job.yaml").write_text(JOB)
    monkeypatch.setenv("HPCLAUNCH_HOME", str(home))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    words = ("submit", "../jobs/job.yaml", "--site", "superpod-a100", "--set", "env.LR=0.20")
    submitted = hpclaunch(*words, cwd=tmp_path / "elsewhere")
    assert submitted.stdout == "12\n", submitted.stderr

    record = find("12")
    assert record.intent.cwd == str(tmp_path / "elsewhere")
    site = read_site(str(record.folder / "site.yaml")).value
    machines = {group.type: catalogue.load(group.type).value for group in site.node_types}
    text = (record.folder / "job.yaml").read_text()
    job = parse_job(text, "job.yaml", record.intent.directory).value
    again = Planner(site, machines).plan(job)
    assert msgspec.json.encode(again) == (record.folder / "plan.json").read_bytes()
    assert str(jobs / "data").encode() in msgspec.json.encode(again)
