"""What ways to Slurm beside sbatch are told of a heterogeneous job."""

from pathlib import Path

import pytest

from hpclaunch.records.record import Record
from hpclaunch.schedulers.ways import openapi
from hpclaunch.schedulers.ways.contract import CannotExpress
from hpclaunch.schedulers.ways.options import by_name, components, of_record
from hpclaunch.values.slurmaccess import API_OF_RELEASE

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


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path))


def test_its_components_are_told_apart() -> None:
    first = "#!/bin/bash\n#SBATCH --nodes=1\n"
    assert of_record(record(ONE, first)) == ("--nodes=1",)
    several = of_record(record(SEVERAL, f"{first}#\n#SBATCH hetjob\n#SBATCH --nodes=2\n"))
    assert components(several) == [("--nodes=1",), ("--nodes=2",)]
    with pytest.raises(CannotExpress, match="hetjob"):  # as pyslurm asks
        by_name(several)
    assert of_record(record(SEVERAL, first)) is None


@pytest.mark.parametrize("api", sorted(API_OF_RELEASE.values()))
def test_slurmrestd_is_sent_a_job_for_each(api: str) -> None:
    asked = [{"--nodes": "1", "--gres": "gpu:a:8"}, {"--nodes": "2", "--gres": "gpu:b:4"}]
    alone = [openapi.body(api, [each], "#!/bin/sh\n", {"comment": "c"}, {"A": "x"})["job"] for each in asked]
    made = openapi.body(api, asked, "#!/bin/sh\n", {"comment": "c"}, {"A": "x"})
    alone[1].pop("script", None)  # the first one's runs
    assert (made["jobs"], "job" in made) == (alone, False)
    assert [text for text in (made.get("script"), made["jobs"][0].get("script")) if text] == ["#!/bin/sh\n"]
