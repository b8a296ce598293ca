"""Which records have the answers of a check of nodes to fetch."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hpclaunch.cli.planning import plan_job
from hpclaunch.records import checks
from hpclaunch.records.record import Record
from hpclaunch.render.script import render

NO = {"gpu": False, "hca": False, "nccl": False}


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ({}, False),
        ({"preflight": NO | {"gpu": True}}, True),
        ({"preflight": NO | {"hca": True}}, True),
        ({"preflight": NO | {"nccl": True}}, True),
        # With one GPU on a node nothing is measured but what links the nodes.
        ({"preflight": NO | {"nccl": True}, "gpus_per_node": 1, "ranks_per_node": 1}, True),
    ],
)
def test_a_job_that_checks_nodes_is_told_by_its_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: dict[str, Any], expected: bool
) -> None:
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump({"name": "a", "command": "true", "nodes": 2, **job}))
    record = Record.create(
        site="superpod-a100",
        scheduler="slurm",
        name="a",
        script=render(plan_job(str(path), "superpod-a100", ()).plan),
        plan=b"",
        job_yaml="",
        site_yaml="",
        directory=str(tmp_path),
        argv=(),
        scheduler_version="",
    )
    assert checks.are_asked(record) is expected
