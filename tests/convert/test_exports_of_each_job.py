"""What --export of sbatch gives each of the jobs that a loop submits: they have it, each its own value."""

from typing import Any

from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_JOB = """\
#!/bin/bash
#SBATCH -t 10 --gpus-per-node=8
if [[ -z $RANKS ]]; then
    export RANKS=1
fi
if [ $RANKS -eq 1 ]; then
    ./solve -s 5
else
    mpirun -np $RANKS ./solve -s 5
fi
"""
_PLAIN = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 -t 10 --gpus-per-node=8\nsrun --mpi=pmix ./solve\n"


def _converted(submitter: str, job: str) -> Conversion:
    files = {"submit.sh": f"#!/bin/bash\n{submitter}\n", "job.sbatch": job}
    return convert(classified(files), Options({}))


def _job(found: Conversion) -> dict[str, Any]:
    return loaded(found.job)


def test_a_variable_with_another_value_for_each_job_is_not_taken_for_unset() -> None:
    found = _converted(
        "for n in 1 2 4; do\n  sbatch -N $n --export=ALL,RANKS=$((n * 8)) job.sbatch\ndone", _JOB
    )
    job = _job(found)
    for key in ("nodes", "ranks_per_node", "command"):
        assert str(job[key]).startswith(ASK)
    assert job["env"]["RANKS"].startswith(ASK)
    # The script leaves it as it is where it has a value, and so nothing is lost.
    assert not [each for each in found.findings if each.kind == "defect" and "--export" in each.what]


def test_a_variable_that_the_script_sets_in_any_case_is_lost_from_export() -> None:
    found = _converted("sbatch --export=ALL,SIZE=3 job.sbatch", _PLAIN.replace("srun", "export SIZE=4\nsrun"))
    (said,) = (each for each in found.findings if each.kind == "defect")
    assert said.why.startswith("SIZE is exported")


def test_what_a_loop_makes_for_each_job_is_taken_from_no_shell() -> None:
    loop = "for t in 1 2 4; do\n  NAME=threads_${t}_of_8\n  sbatch --export=ALL,NAME=$NAME job.sbatch\ndone"
    found = _converted(loop, _PLAIN)
    job = _job(found)
    assert job["command"] == ["./solve"]
    assert "inherit" not in job
    (said,) = (each for each in found.findings if each.what == "NAME")
    assert said.kind == "left"
    assert "threads_${t}_of_8" in said.why
    assert "another one for each job that the loop over 1 2 4 submits" in said.why


def test_a_number_that_grows_from_job_to_job_is_not_that_of_the_first() -> None:
    loop = (
        "nodes=1\nfor n in 1 2 3 4; do\n  sbatch -N $nodes job.sbatch\n"
        "  if ((n % 2 == 0)); then ((nodes++)); fi\ndone"
    )
    assert _job(_converted(loop, _PLAIN))["nodes"].startswith(ASK)
    # What no round changes is that of each job.
    assert (
        _job(_converted("nodes=4\nfor n in 1 2; do sbatch -N $nodes job.sbatch; done", _PLAIN))["nodes"]
        == "4"
    )
