"""Tasks that a script asks Slurm for, and of which neither srun nor mpirun starts any."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_ONCE = "the script starts its command once, without srun and mpirun"


def _told(asked: str, run: str) -> tuple[str, list[tuple[str, str, str]]]:
    text = f"#!/bin/bash\n#SBATCH -N 1 {asked} -t 5\n{run}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    told = [(each.kind, each.became, each.why) for each in found.findings if each.what.startswith("--ntasks")]
    return loaded(found.job)["ranks_per_node"], told


@pytest.mark.parametrize("run", ["./Allrun", "python main.py", "./wrf.exe", "mdrun_all -s in.tpr"])
@pytest.mark.parametrize("asked", ["--ntasks=32", "--ntasks-per-node=32", "--ntasks=4 --gpus-per-task=1"])
def test_one_run_beside_several_tasks_is_assumed(asked: str, run: str) -> None:
    ranks, told = _told(asked, run)
    assert (ranks, told) == ("1", [("assumed", "ranks_per_node: 1", _ONCE)])


@pytest.mark.parametrize(
    ("asked", "run", "ranks"),
    [
        ("--ntasks=1", "python main.py", "1"),
        ("--ntasks=32", "mpirun -np 32 ./t", "32"),
        ("--ntasks=32", "srun --mpi=none ./t", "32"),
        ("--ntasks-per-node=1 --gpus-per-node=4", "torchrun --nproc_per_node=4 t.py", "4"),
    ],
)
def test_what_starts_them_or_one_task_is_no_assumption(asked: str, run: str, ranks: str) -> None:
    found, told = _told(asked, run)
    assert found == ranks
    assert "assumed" not in {kind for kind, _, _ in told}
