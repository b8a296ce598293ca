"""Numbers beside names that end as those of passwords do: a count of plane waves is none."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=8 --gpus-per-node=8 -t 10\n"


def _command(words: str) -> object:
    job = f"{_HEAD}srun --mpi=pmix ./waves {words} -in w.in\n"
    return loaded(convert(classified({"job.sbatch": job}), Options({})).job)["command"]


@pytest.mark.parametrize("words", ["-npw 16", "--npw=8", "-n_pw 4"])
def test_a_count_of_plane_waves_is_no_password(words: str) -> None:
    assert _command(words) == ["./waves", *words.split(), "-in", "w.in"]


@pytest.mark.parametrize("words", ["-npw 7hQz-Lr2e", "-dbpw 16", "--user-pw 1604"])
def test_a_password_is_one_still(words: str) -> None:
    assert _command(words) == ASK
