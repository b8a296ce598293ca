"""A cluster of Ray that a script starts in its job, beside the program: what there is to do for it."""

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_JOB = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gpus-per-node=8 -t 60\n"


@pytest.mark.parametrize(
    ("server", "is_ray"), [("ray start --head --block", True), ("redis-server --port 6379", False)]
)
def test_only_of_ray_the_question_tells_its_commands(server: str, is_ray: bool) -> None:
    text = f'{_JOB}srun --mpi=none -N1 -n1 -w "$head" {server} &\npython -u train.py\n'
    found = convert(classified({"run.sub": text}), Options({}))
    assert script_cases.loaded(found.job)["command"] == script_cases.ASK
    (asked,) = (each for each in found.findings if each.key == "command")
    assert ("ray start --address=" in asked.todo) == is_ray
    (row,) = (each for each in found.launch if each.name == "environment")
    assert row.told == "not determined: what the command sets, which is asked for"
