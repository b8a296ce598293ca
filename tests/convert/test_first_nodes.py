"""What a script finds out of the job's first node is what hpclaunch sets in each rank."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"
_RUN = "srun --mpi=none ./t --first $X"
_HOSTS = "$(scontrol show hostnames $SLURM_JOB_NODELIST)"


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n{_RUN}\n"}), Options({}))


@pytest.mark.parametrize(
    "lines",
    [
        f"hosts=( {_HOSTS} )\nX=${{hosts[0]}}",
        f"hosts=({_HOSTS})\nX=$hosts",
        f"all={_HOSTS}\nhosts=($all)\nX=${{hosts[0]}}",
        f'hosts=({_HOSTS})\nhead=${{hosts[0]}}\nX=$(srun -N1 --ntasks=1 -w "$head" hostname --ip-address)',
        f"hosts=({_HOSTS})\nX=$(srun -N1 -n1 -w ${{hosts[0]}} hostname -i)",
        "head=$(scontrol show hostnames $SLURM_NODELIST | head -n 1)\n"
        "X=$(srun --nodelist=$head -N 1 -n 1 hostname -I | awk '{print $1}')",
    ],
)
def test_the_first_node_is_the_address_of_rendezvous(lines: str) -> None:
    found = _converted(lines)
    job = loaded(found.job)
    assert job["command"].replace('"', "") == "exec ./t --first $MASTER_ADDR"
    assert (job["rendezvous"], "env" in job) == ("torch", False)
    assert not [each for each in found.findings if each.kind == "question" or "hostname" in each.todo]
    assert not [each for each in found.findings if each.kind == "left" and "hostname" in each.what]


@pytest.mark.parametrize(
    "lines",
    [
        f"hosts=({_HOSTS})\nX=${{hosts[1]}}",
        f"X={_HOSTS}",
        f"hosts=({_HOSTS})\nother=${{hosts[1]}}\nX=$(srun -N1 -n1 -w $other hostname)",
        f"hosts=({_HOSTS})\nX=$(srun -N1 -n1 -w ${{hosts[1]}} hostname)",
        "X=$(srun -N1 -n1 -w $head hostname)",
    ],
)
def test_another_node_and_several_are_asked_for(lines: str) -> None:
    job = loaded(_converted(lines).job)
    assert "rendezvous" not in job
    assert "ASK" in (job["command"], *job.get("env", {}).values())
