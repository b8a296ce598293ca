"""Variables that Slurm sets by an option of sbatch, which a job does not give it, in the ranks' text."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=2 -t 5\n"
_WHERE_GIVEN = (
    "where the operator gave -c convert again with --env SLURM_CPUS_PER_TASK=VALUE, "
    "or write the value in the command"
)
_WRITE = "write {} for it in the command, or under env.{}"


def _told(lines: str) -> dict[str, str]:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({})).findings
    left = [each for each in found if each.kind == "left" and each.what.endswith(" in the command")]
    return {each.what.split()[0]: each.todo for each in left}


@pytest.mark.parametrize(
    ("lines", "todo"),
    [
        ("srun --mpi=none ./t $SLURM_CPUS_PER_TASK", _WHERE_GIVEN),
        ("export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nsrun --mpi=none ./t", _WHERE_GIVEN),
        ("export HALF=$((SLURM_CPUS_PER_TASK / 2))\nsrun --mpi=none ./t", _WHERE_GIVEN),
        (
            "#SBATCH -c 6\nsrun --mpi=none bash -c './t $SLURM_CPUS_PER_TASK'",
            _WRITE.format("6", "SLURM_CPUS_PER_TASK"),
        ),
    ],
)
def test_a_number_that_ranks_do_not_have_is_told(lines: str, todo: str) -> None:
    assert _told(lines) == {"$SLURM_CPUS_PER_TASK": todo}


def test_gpus_of_a_node_are_asked_for_in_another_way() -> None:
    told = _told("#SBATCH --gpus-per-node=4\nsrun --mpi=none sh -c 'exec ./t ${SLURM_GPUS_PER_NODE}'")
    assert told == {"$SLURM_GPUS_PER_NODE": _WRITE.format("4", "SLURM_GPUS_PER_NODE")}


@pytest.mark.parametrize(
    "lines",
    [
        "#SBATCH -c 6\nsrun --mpi=none ./t $SLURM_CPUS_PER_TASK",
        "export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-4}\nsrun --mpi=none ./t",
        "srun --mpi=none sh -c './t $SLURM_NTASKS $SLURM_NTASKS_PER_NODE $SLURM_GPUS_ON_NODE'",
        "echo cores: $SLURM_CPUS_PER_TASK\nsrun --mpi=none ./t",
        "N=$(expr $SLURM_CPUS_PER_TASK / 2)\nsrun --mpi=none ./t $N",
    ],
)
def test_what_ranks_have_or_do_not_ask_for_is_not(lines: str) -> None:
    assert _told(lines) == {}
