"""A program is the same wherever it lies, also in a folder that no line tells."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

HEAD = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=8 --ntasks-per-node=8 -t 9\n"


@pytest.mark.parametrize(
    ("line", "mpi"),
    [
        ("$MPI_HOME/bin/mpirun -np 16 ./t", "pmix"),
        ('"${ROOT}/ompi/bin/mpirun" -np 16 ./t', "pmix"),
        ("$(dirname $(which ucx_info))/mpirun -np 16 ./t", "pmix"),
        ("$I_MPI_ROOT/bin/mpiexec.hydra -ppn 8 ./t", "pmi2"),
        ("$SLURM_HOME/bin/srun --mpi=pmix ./t", "pmix"),
    ],
)
def test_what_starts_the_ranks_is_known_by_its_name(line: str, mpi: str) -> None:
    job = loaded(convert(classified({"run.sub": f"{HEAD}{line}\n"}), Options({})).job)
    assert (job["command"], job["ranks_per_node"], job["mpi"]) == (["./t"], "8", mpi)


@pytest.mark.parametrize("program", ["srun", "/usr/bin/srun", "/opt/slurm/bin/srun"])
def test_a_test_of_nccl_that_srun_starts_has_its_ranks_wherever_srun_lies(program: str) -> None:
    text = f"{HEAD}{program} --mpi=pmi2 shifter /lab/build/all_reduce_perf -g 1\n"
    told = {each.name: each.told for each in convert(classified({"run.sub": text}), Options({})).launch}
    assert (told["nodes"], told["ranks"], told["mpi"]) == ("2", "8 on each node", "pmi2")


def test_a_script_that_knows_two_schedulers_may_be_slurms() -> None:
    text = (
        "#!/bin/bash\n[[ -n $PBS_NODEFILE ]] && N=$(wc -l <$PBS_NODEFILE)\n"
        "[[ -n $SLURM_NODELIST ]] && N=$SLURM_NTASKS\nmpirun -np 16 -npernode 8 ./t\n"
    )
    found = convert(classified({"run.sh": text}), Options({}))
    assert not found.refused
    assert (loaded(found.job)["nodes"], loaded(found.job)["ranks_per_node"]) == ("2", "8")
    alone = text.replace("[[ -n $SLURM_NODELIST ]] && N=$SLURM_NTASKS\n", "")
    assert "PBS" in convert(classified({"run.sh": alone}), Options({})).refused
