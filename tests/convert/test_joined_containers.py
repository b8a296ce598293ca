"""A run in the container that a step before it keeps running: it has the mounts of that step."""

from typing import Any

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=1 --gpus-per-node=4 -t 60\n"
_KEEPER = "srun --container-name=c$SLURM_JOB_ID --container-image=img/x:1 --container-mounts=/data:/d"
_RUN = "srun --overlap --container-name=c$SLURM_JOB_ID"


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


def _job(found: Conversion) -> dict[str, Any]:
    return loaded(found.job)


def test_the_run_has_the_mounts_and_switches_of_the_container_that_it_joins() -> None:
    found = _job(_converted(f"{_KEEPER} --container-writable ./server --serve &\n{_RUN} python train.py"))
    assert found["image"] == "img/x:1"
    assert found["mounts"] == ["/data:/d"]
    assert found["container"]["writable"] == "true"


def test_mounts_of_its_own_are_told_as_left() -> None:
    found = _converted(f"{_KEEPER} ./server &\n{_RUN} --container-mounts=/own:/o python train.py")
    assert _job(found)["mounts"] == ["/data:/d"]
    (left,) = (each for each in found.findings if each.what == "--container-mounts=/own:/o")
    assert left.kind == "left"
    assert "joins" in left.why


@pytest.mark.parametrize(
    "before",
    [
        f"{_KEEPER} true",
        f"{_KEEPER} ./prepare.sh &\nwait",
        f"{_KEEPER.replace('=c$', '=other$')} ./server &\nsrun --container-name=c$SLURM_JOB_ID "
        "--container-image=img/x:1 true",
    ],
)
def test_a_container_that_no_more_runs_has_the_runs_own_mounts(before: str) -> None:
    found = _job(_converted(f"{before}\n{_RUN} --container-mounts=/own:/o python train.py"))
    assert found["mounts"] == ["/own:/o"]
