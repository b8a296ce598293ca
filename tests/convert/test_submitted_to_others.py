"""A script that a launcher writes for another scheduler than Slurm, and submits, is read as what it is."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_PBS = "#!/bin/bash\n#PBS -l nodes=$N:ppn=8,walltime=1:00:00\nexport A=1\nmpirun -np \\$PBS_NP ./t"


def _of(text: str) -> Conversion:
    return convert(classified({"go.sh": f"#!/bin/bash\nN=4\n{text}\n"}), Options({}))


def _told(found: Conversion) -> dict[str, str]:
    return {each.name: each.told for each in found.launch}


@pytest.mark.parametrize(
    "text",
    [
        f"qsub <<EOF\n{_PBS}\nEOF",
        f"cat > job.pbs <<EOF\n{_PBS}\nEOF\nqsub job.pbs",
        f"cat > job.pbs <<EOF\n{_PBS}\nEOF\nchmod +x job.pbs\nqsub -q long ./job.pbs x",
    ],
)
def test_the_facts_are_those_of_the_script(text: str) -> None:
    found = _of(text)
    assert "a script for PBS" in found.refused
    told = _told(found)
    assert (told["nodes"], told["ranks"], told["environment"]) == ("4", "8 on each node", "A")
    assert told["time limit"] == "1:00:00"
    of_qsub = [each for each in found.findings if "starts a job or ranks of its own there" in each.why]
    assert of_qsub == []


def test_lines_that_echo_writes_are_read_too() -> None:
    lines = "echo '#!/bin/sh' > j.sh\necho '#BSUB -nnodes 2' >> j.sh\necho 'jsrun -n 4 -r 2 ./t' >> j.sh"
    told = _told(_of(f"{lines}\nbsub j.sh"))
    assert (told["nodes"], told["ranks"]) == ("2", "2 on each node")


def test_options_of_the_command_count_before_its_lines() -> None:
    found = _of(f"cat > job.pbs <<EOF\n{_PBS}\nEOF\nqsub -q long -l walltime=2:00:00 job.pbs")
    assert _told(found)["time limit"] == "2:00:00"
    assert any(each.became == "site hint partition: long" for each in found.findings)


def test_a_loop_that_submits_is_said() -> None:
    found = _of(f"for N in 1 2 4; do\nqsub <<EOF\n{_PBS}\nEOF\ndone")
    assert any("each of 3 rounds starts `qsub" in each.why for each in found.findings)


def test_a_script_for_slurm_that_submits_another_is_not_that_other() -> None:
    found = _of(f"qsub <<EOF\n{_PBS}\nEOF\nsbatch <<EOF\n#!/bin/sh\n#SBATCH -N 2\nsrun --mpi=none ./s\nEOF")
    assert _told(found)["nodes"] == "2"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("qsub -l nodes=2 jobs/warm.pbs", "jobs/warm.pbs"),
        ("bsub < warm.lsf", "warm.lsf"),
        ("qsub $JOB", ""),
        ("qsub other.sh", ""),
    ],
)
def test_a_submitted_script_that_is_not_given_is_asked_for(line: str, named: str) -> None:
    texts = {"go.sh": f"#!/bin/bash\n{line}\n", "other.sh": "#!/bin/bash\n#PBS -l nodes=3\n./t\n"}
    found = convert(classified(texts), Options({}))
    its = [each for each in found.findings if each.todo == "give that file, too"]
    assert [named in each.why for each in its] == ([True] if named else [])
