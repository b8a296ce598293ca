"""A folder that the script makes where it is missing is made by the job, in a way that asks nothing."""

import subprocess
from pathlib import Path

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\nD=out\n"


def _runs(lines: str) -> list[object]:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\nsrun --mpi=none ./t\n"}), Options({}))
    return [each["run"] for each in script_cases.loaded(found.job).get("setup", ())]


@pytest.mark.parametrize(
    "lines",
    [
        'if [ ! -d "$D" ]; then\n  mkdir -p "$D"\nfi',
        "if [[ ! -e ${D} ]]; then mkdir $D; fi",
        "if ! test -d $D; then mkdir $D/; fi",
        "[ -d $D ] || mkdir $D",
        "test -d out || mkdir -p out",
    ],
)
def test_a_folder_that_is_missing_is_made(lines: str) -> None:
    (run,) = _runs(lines)
    assert isinstance(run, list)
    assert run[:2] == ["mkdir", "-p"]
    assert run[2].rstrip("/") == "out"


@pytest.mark.parametrize(
    "lines",
    [
        "[ -d $D ] && mkdir $D",
        "if [ -d $D ]; then mkdir $D; fi",
        "if [ ! -d $D ]; then mkdir other; fi",
        "if [ ! -d $D ]; then mkdir $D other; fi",
        "if [ ! -f $D ]; then mkdir $D; fi",
        "[ -d data ] || cp -r old data",
        "if [ ! -d $D ] && [ -f x ]; then mkdir $D; fi",
    ],
)
def test_of_another_condition_nothing_is_told(lines: str) -> None:
    assert _runs(lines) == []


@pytest.mark.parametrize("begin", ["", "set -e\n"])
def test_one_that_is_there_ends_the_job_where_it_ended_the_script(begin: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    lines = f"{begin}D=out\nmkdir $D"
    ended = subprocess.run(["bash", "-c", f"{lines}\ntrue"], cwd=tmp_path, check=False).returncode
    (run,) = _runs(lines)
    assert subprocess.run(run, cwd=tmp_path, check=False).returncode == ended
