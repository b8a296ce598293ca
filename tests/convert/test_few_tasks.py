"""Fewer tasks than nodes: what sbatch takes of the nodes, and that it is said. No number of tasks: what srun
starts then."""

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


@pytest.mark.parametrize(
    ("head", "nodes", "said"),
    [
        ("--nodes=2 --ntasks=1", "1", True),
        ("-N 4 -n 3", "3", True),
        ("-N 2 -n 2", "2", False),
        ("-N 2 -n 8", "2", False),
        ("-n 1", "1", False),
        ("-N 2 --ntasks-per-node=1", "2", False),
    ],
)
def test_nodes_that_a_job_does_not_get_are_a_defect(head: str, nodes: str, said: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH {head}\n#SBATCH --gpus-per-node=4 -t 5\nsrun --mpi=none ./t\n"
    found = convert(classified({"run.sub": text}), Options({}))
    defects = [each for each in found.findings if each.kind == "defect" and "sbatch only warns" in each.why]
    assert (script_cases.loaded(found.job)["nodes"], bool(defects)) == (nodes, said)
    assert all(each.places[0].line == 2 for each in defects)


@pytest.mark.parametrize(
    ("options", "start", "is_said"),
    [
        ("-N 2", "srun ./t", True),
        ("-N 2 -c 8", "srun ./t", True),
        ("-N 2 -n 2", "srun ./t", False),
        ("-N 2", "srun --ntasks-per-node=1 ./t", False),
        ("-N 2", "srun torchrun --nproc_per_node=1 t.py", False),
        ("-N 2", "./t", False),
    ],
)
def test_that_one_on_each_node_is_sruns_default_is_said_of_it(
    options: str, start: str, is_said: bool
) -> None:
    text = f"#!/bin/bash\n#SBATCH -t 60 {options}\n{start}\n"
    found = convert(classified({"run.sub": text}), Options({})).findings
    whys = [each.why for each in found if each.key == "ranks_per_node" and each.kind == "carried"]
    assert any("no line says how many tasks" in each for each in whys) == is_said
