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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("-N 2-3", "-N 2-3 is a range"),
        ("-N $COUNT", "-N $COUNT is a range or not known"),
        ("-n 6", "-n 6 leaves it to Slurm"),
        ("--gpus=6", "--gpus=6 leaves it to Slurm"),
        ("-w n[1-3]", "a job has all hosts"),
    ],
)
def test_the_one_node_of_a_run_is_assumed_where_the_job_may_have_several(asked: str, said: str) -> None:
    text = f"#!/bin/bash\n#SBATCH {asked}\n#SBATCH -t 5\npython main.py\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert loaded(found.job)["nodes"] == "1"
    (told,) = (each for each in found.findings if each.became == "nodes: 1" and each.kind == "assumed")
    assert said in told.why
    assert "on the first node alone" in told.why


def test_a_script_that_prints_its_nodes_does_not_tell_that_sbatch_was_given_any() -> None:
    text = '#!/bin/bash\n#SBATCH --gres=gpu:1 -t 5\necho "on $SLURM_NODELIST"\npython main.py\n'
    found = convert(classified({"run.sub": text}), Options({}))
    (told,) = (each for each in found.findings if each.became == "nodes: 1" and each.kind == "assumed")
    assert told.why.startswith("no line tells, and the operator may have given it to sbatch (-N)")


@pytest.mark.parametrize("asked", ["-N 1", "-n 1", "--gpus=1", "-N 1 -n 6", "-n 6 --ntasks-per-node=6"])
def test_the_one_node_of_a_job_is_no_assumption(asked: str) -> None:
    text = f"#!/bin/bash\n#SBATCH {asked}\n#SBATCH -t 5\npython main.py\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert not [each for each in found.findings if "first node" in each.why]
