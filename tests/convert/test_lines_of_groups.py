"""What is said of lines that the programs of a heterogeneous job share."""

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_JOB = """#!/bin/bash
#SBATCH -N 1 --ntasks-per-node=4
#SBATCH hetjob
#SBATCH -N 1 --ntasks-per-node=1 --gpus=1 -t 5
module load mpi
srun --mpi=pmix --het-group=0 ./solve : --het-group=1 ./infer
"""


def test_a_line_in_front_of_their_commands_is_theirs() -> None:
    found = convert(classified({"go.sh": _JOB}), Options({})).findings
    its = [each.key for each in found if any(place.line == 5 for place in each.places)]
    assert {"groups.solve.command", "groups.infer.command"} <= set(its)
    assert not any("not part of what is launched" in each.why for each in found)


def test_a_time_of_one_program_is_asked_for_and_not_said_to_be_missing() -> None:
    found = convert(classified({"go.sh": _JOB}), Options({})).findings
    assert any(each.key == "time" and each.kind == "question" for each in found)
    assert not any(each.what == "no line gives a time limit" for each in found)


def test_programs_that_run_on_nodes_of_their_own_are_not_said_to_run_one_after_the_other() -> None:
    lines = "srun -N1 -n1 --exclusive ./a 1 &\nsrun -N1 -n1 --exclusive ./a 2 &\nwait\n"
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks=2 --gres=gpu:4 -t 60\n{lines}"
    found = convert(classified({"go.sh": text}), Options({}))
    assert "groups:" in found.job
    (why,) = {each.why for each in found.findings if each.what == "--exclusive"}
    assert "at the same time, each on nodes of its own" in why
