"""Fewer tasks than nodes: what sbatch takes of the nodes, and that it is said."""

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
    defects = [each for each in found.findings if each.kind == "defect" and "sbatch warns" in each.why]
    assert (script_cases.loaded(found.job)["nodes"], bool(defects)) == (nodes, said)
    assert all(each.places[0].line == 2 for each in defects)
