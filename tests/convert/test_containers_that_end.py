"""A container that shows something, and ends before the ranks start outside of it, is not theirs."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 1 -n 8 --gres=gpu:8 -t 9\n"


@pytest.mark.parametrize("shows", ["docker run --rm nvidia/cuda:1 nvidia-smi", "docker run x/y:1 cat /etc/x"])
@pytest.mark.parametrize("run", ["mpirun -np 8 ./t", "srun --mpi=pmix ./t"])
def test_ranks_outside_of_a_container_that_only_shows_something_have_no_image(shows: str, run: str) -> None:
    found = convert(classified({"go.sh": f"{_HEAD}{shows}\n{run}\n"}), Options({}))
    job = loaded(found.job)
    assert (job["command"], job["ranks_per_node"], "image" in job) == (["./t"], "8", False)
    assert [each for each in found.findings if each.what == shows and each.kind == "left"]


def test_a_container_without_a_command_is_not_that_of_mpirun_behind_it() -> None:
    found = convert(
        classified({"go.sh": f"{_HEAD}docker run --rm hello-world\nmpirun -np 8 ./t\n"}), Options({})
    )
    assert "image" not in loaded(found.job)


def test_on_one_machine_neither() -> None:
    lines = "docker run --rm hello-world\nhorovodrun -np 8 -H localhost:8 python t.py\n"
    found = convert(classified({"go.sh": lines}), Options({}))
    assert found.refused
    assert not [each for each in found.findings if each.key == "image"]


@pytest.mark.parametrize(
    "start", ["docker run -it x/y:1", "docker run x/y:1 sleep infinity", "docker run --gpus all x/y:1 ./p"]
)
def test_one_that_is_typed_into_sleeps_or_works_is_read_as_before(start: str) -> None:
    found = convert(classified({"go.sh": f"{_HEAD}{start}\nmpirun -np 8 ./t\n"}), Options({}))
    assert loaded(found.job)["image"] == "x/y:1"
