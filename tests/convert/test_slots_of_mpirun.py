"""mpirun fills the slots that Slurm gives it, or those of its hosts: how many ranks a node has."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_SLOTS = "mpirun fills the slots of one node"
_FILLS = "where jobs share nodes Slurm fills"


def _converted(options: str, run: str) -> tuple[dict[str, Any], list[str]]:
    text = f"#!/bin/bash\n#SBATCH -t 5 --gpus-per-node=8 {options}\n{run} ./x\n"
    found = convert(classified({"run.sh": text}), Options({}))
    return loaded(found.job), [each.why for each in found.findings if each.kind == "assumed"]


@pytest.mark.parametrize(
    ("options", "run", "nodes", "ranks"),
    [
        ("-N 2", "mpirun", "2", ASK),
        ("-N 1 --exclusive", "mpirun", "1", ASK),
        ("-N 2 -c 1", "mpiexec", "2", ASK),
        ("-N 2 -c 8", "mpirun", "2", "1"),
        ("-N 2 -c 8 --exclusive", "mpirun", "2", ASK),
        ("-N 2 --ntasks-per-node=8", "mpirun", "2", "8"),
        ("-N 2 -n 4 --ntasks-per-node=8", "mpirun", "2", ASK),
        ("-N 2 -n 16 --ntasks-per-node=8", "mpirun", "2", "8"),
        ("-N 2", "mpirun -npernode 4", "2", "4"),
        ("-N 2", "mpirun --map-by ppr:4:node", "2", "4"),
        ("-N 2 --ntasks-per-node=8", "mpirun -np 8 --oversubscribe", "1", "8"),
        ("-N 2 --ntasks-per-node=8", "mpirun -np 8 --byslot", "1", "8"),
        ("-N 2 --ntasks-per-node=8", "mpirun -np 8 --map-by node", "2", "4"),
        ("-N 2 --ntasks-per-node=8", "mpirun -np 1 --map-by socket", "1", "1"),
    ],
)
def test_slots_that_no_line_tells_are_asked_for(options: str, run: str, nodes: str, ranks: str) -> None:
    job, _ = _converted(options, run)
    assert (job.get("nodes", "1"), job["ranks_per_node"]) == (nodes, ranks)


@pytest.mark.parametrize(
    ("options", "run", "said"),
    [
        ("-N 2", "mpirun -np 16", _SLOTS),
        ("-N 2 --exclusive", "mpirun -np 16 --oversubscribe", _SLOTS),
        ("-N 2", "mpirun -np 16 --map-by node", ""),
        ("-N 2", "mpirun -np 16 -npernode 8", ""),
        ("-N 2 --ntasks-per-node=8", "mpirun -np 16", ""),
        ("-N 2 -n 16", "mpirun -np $SLURM_NTASKS", _FILLS),
        ("-N 2 -n 16 --exclusive", "mpirun -np $SLURM_NTASKS", ""),
        ("-N 2 -n 16", "mpirun", _FILLS),
        ("-N 1", "mpirun -np 8", ""),
    ],
)
def test_that_the_first_nodes_may_have_had_all_ranks_is_said(options: str, run: str, said: str) -> None:
    job, assumed = _converted(options, run)
    assert job["ranks_per_node"] == "8"
    found = [each for each in assumed if each.startswith((_SLOTS, _FILLS))]
    assert [each.startswith(said) for each in found] == [True] * bool(said)


_LISTED = "cat > hosts <<EOF\nn1 slots=4\nn2 slots=2\nEOF\n"


@pytest.mark.parametrize(
    ("lines", "nodes", "ranks"),
    [
        ("mpirun -np 4 -H n1:4,n2:4 ./t", "1", "4"),
        ("mpirun -np 8 -H n1:4,n2:4 ./t", "2", "4"),
        ("mpirun -np 6 -H n1:4,n2:4 ./t", "2", ASK),
        ("mpirun -np 6 -H n1:4,n2:2 ./t", "2", ASK),
        ("mpirun -np 2 -H n1:4,n2:2 ./t", "1", "2"),
        ("mpirun -np 4 --map-by node -H n1:4,n2:4 ./t", "2", "2"),
        ("mpirun -np 4 --bynode -H n1:4,n2:4 ./t", "2", "2"),
        ("mpirun -npernode 2 -H n1:4,n2:4 ./t", "2", "2"),
        ("mpirun -H n1,n1,n2,n2 ./t", "2", "2"),
        ("mpirun -H n1:4,n2:2 ./t", "2", ASK),
        ("mpirun -np 8 -H n1,n2 ./t", "2", "4"),
        ("mpirun -H n1,n2 ./t", "2", "1"),
        ("mpiexec -n 4 -hosts n1:4,n2:4 ./t", "1", "4"),
        (f"{_LISTED}mpirun --hostfile hosts -np 6 ./t", "2", ASK),
        (f"{_LISTED}mpirun --hostfile hosts -np 4 ./t", "1", "4"),
        (f"{_LISTED}mpirun --hostfile hosts -np 12 ./t", "2", "6"),
    ],
)
def test_the_slots_of_each_host_are_filled(lines: str, nodes: str, ranks: str) -> None:
    job = loaded(convert(classified({"go.sh": f"#!/bin/bash\n{lines}\n"}), Options({})).job)
    assert (str(job["nodes"]), str(job["ranks_per_node"])) == (nodes, ranks)


@pytest.mark.parametrize(
    ("lines", "nodes", "ranks", "is_assumed"),
    [
        ("mpirun -np 8 -H n1:2,n2:6 ./t", "2", ASK, False),
        ("mpirun -np 4 -H n1:4,n2:4 ./t", "1", "4", False),
        ("mpirun -np 16 -H n1:8,n2:8 ./t", "2", "8", False),
        (f"{_LISTED}mpirun --hostfile hosts -np 6 ./t", "2", ASK, False),
        (f"{_LISTED}mpirun --hostfile hosts --map-by node -np 6 ./t", "2", "3", False),
        ("mpirun --hostfile $LIST -np 8 ./t", "2", "4", True),
        ("mpirun --hostfile $LIST -np 16 ./t", "2", "8", False),
        ("mpirun --hostfile $LIST --map-by node -np 8 ./t", "2", "4", False),
    ],
)
def test_the_slots_of_each_host_are_filled_also_in_a_job_of_slurm(
    lines: str, nodes: str, ranks: str, is_assumed: bool
) -> None:
    text = f"#!/bin/bash\n#SBATCH -t 5 -N 2 --ntasks-per-node=8 --gpus-per-node=8\n{lines}\n"
    found = convert(classified({"go.sh": text}), Options({}))
    job = loaded(found.job)
    assert (str(job["nodes"]), str(job["ranks_per_node"])) == (nodes, ranks)
    assert any("how many each has in --hostfile" in each.why for each in found.findings) == is_assumed


@pytest.mark.parametrize(
    ("options", "run", "said"),
    [
        ("-N 2 --ntasks-per-node=8", "module load impi\nmpirun -np 8 -ppn 4", True),
        ("-N 2 -n 16", "module load impi\nmpiexec.hydra -n 8 -perhost 4", True),
        ("-N 2 --ntasks-per-node=8", "export I_MPI_PERHOST=4\nmpirun -np 8", True),
        ("-N 2 --ntasks-per-node=4", "module load impi\nmpirun -np 8 -ppn 4", False),
        ("-N 2", "module load impi\nmpirun -np 8 -ppn 4", False),
        ("-N 2 --ntasks-per-node=8", "module load mpich\nmpirun -np 8 -ppn 4", False),
        ("-N 2 --ntasks-per-node=8", "module load openmpi\nmpirun -npernode 4", False),
        (
            "-N 2 --ntasks-per-node=8",
            "module load impi\nexport I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=disable\nmpirun -np 8 -ppn 4",
            False,
        ),
    ],
)
def test_that_intel_mpi_takes_the_placement_of_slurm_is_said(options: str, run: str, said: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -t 5 --gpus-per-node=8 {options}\n{run} ./x\n"
    found = convert(classified({"run.sh": text}), Options({}))
    its = [each for each in found.findings if "RESPECT_PROCESS_PLACEMENT is off" in each.why]
    assert [each.kind for each in its] == (["question"] if said else [])
    assert loaded(found.job)["ranks_per_node"] == "4"
