"""The plan in a record: as it was sent, or an error that names the file."""

from pathlib import Path

import msgspec
import pytest

from hpclaunch.cli.planning import plan_job
from hpclaunch.cli.recorded import plan_of
from hpclaunch.records.record import Record
from hpclaunch.values.errors import HpclaunchError

EXAMPLES = Path(__file__).parents[2] / "examples"


def recorded(plan: bytes) -> Record:
    return Record.create(
        site="alpha",
        scheduler="slurm",
        name="train",
        script="#!/bin/bash\n",
        plan=plan,
        job_yaml="",
        site_yaml="",
        directory="/",
        argv=(),
        scheduler_version="",
    )


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("site", ["superpod-a100", "k8s-superpod-a100"])
def test_a_plan_comes_back_as_it_was(site: str) -> None:
    plan = plan_job(str(EXAMPLES / "caffe-imagenet.yaml"), site, []).plan
    assert plan_of(recorded(msgspec.json.encode(plan))) == plan


@pytest.mark.parametrize("text", [b"", b"{}", b'{"site": "\xff"}', b'{"scheduler": "slurm", "common": 1}'])
def test_a_damaged_plan_is_said_by_the_name_of_its_file(text: bytes) -> None:
    with pytest.raises(HpclaunchError, match=r"plan\.json cannot be read"):
        plan_of(recorded(text))


def test_a_plan_that_is_gone_is_said_too() -> None:
    record = recorded(b"")
    (record.folder / "plan.json").unlink()
    with pytest.raises(HpclaunchError, match=r"plan\.json cannot be read"):
        plan_of(record)
