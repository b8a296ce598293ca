"""What ways to Slurm beside sbatch are told of a heterogeneous job."""

from pathlib import Path

import pytest

from hpclaunch.records.record import Record
from hpclaunch.schedulers.ways.contract import CannotExpress
from hpclaunch.schedulers.ways.options import by_name, of_record

ONE = b'{"target": {"sbatch": [{"text": "--nodes=1"}]}}'
SEVERAL = ONE.replace(b"}]}", b'}], "components": [[{"text": "--nodes=2"}]]}')


def record(plan: bytes, script: str) -> Record:
    return Record.create(
        site="s",
        scheduler="slurm",
        name="n",
        script=script,
        plan=plan,
        job_yaml="",
        site_yaml="",
        directory="/",
        argv=(),
        scheduler_version="",
    )


def test_its_components_are_named_as_what_cannot_be_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path))
    first = "#!/bin/bash\n#SBATCH --nodes=1\n"
    assert of_record(record(ONE, first)) == ("--nodes=1",)
    several = of_record(record(SEVERAL, f"{first}#SBATCH hetjob\n#SBATCH --nodes=2\n"))
    with pytest.raises(CannotExpress, match="hetjob"):
        by_name(several)
