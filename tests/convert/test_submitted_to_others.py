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
        f"D=$1/run\ncat > $D/job.pbs <<EOF\n{_PBS}\nEOF\ncd $D\nqsub job.pbs",
        f"mkdir -p run\ncat > /data/run/job.pbs <<EOF\n{_PBS}\nEOF\ncd /data/run\nqsub job.pbs",
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


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("qsub -l select=2:mpiprocs=4 -l walltime=30:00 warm.pbs -l nodes=9", "2 0:30:00"),
        ("qsub -cwd -l h_rt=600 warm.sh", "- 10"),
        ("qsub -N x warm.sh", "- -"),  # of PBS or of Grid Engine
        ("bsub -nnodes 3 -W 20 ./warm", "3 20"),
        ("oarsub -l nodes=2,walltime=1 ./warm", "2 1:00:00"),
        ("flux batch -N1 -t 30m ./warm.sh\nflux queue drain", "1 30"),
        ("bsub -nnodes 3 a.sh\nbsub -nnodes 5 b.sh", "- -"),
    ],
)
def test_options_of_a_command_alone_tell_what_they_can(line: str, told: str) -> None:
    its = _told(_of(line))
    assert (
        " ".join(its[name].replace("not determined", "-").split()[0] for name in ("nodes", "time limit"))
        == told
    )


def test_options_count_before_the_lines_of_a_script_that_is_given() -> None:
    job = "#!/bin/bash\n#PBS -l nodes=3,walltime=1:00:00\nmpirun ./t\n"
    texts = {"go.sh": "#!/bin/bash\nqsub -l walltime=2:00:00 jobs/job.pbs\n", "job.pbs": job}
    found = convert(classified(texts), Options({}))
    told = _told(found)
    assert (told["nodes"], told["time limit"]) == ("3", "2:00:00")
    assert any("is among the files" in each.why for each in found.findings)


def test_a_job_that_submits_the_next_one_asks_for_what_its_own_lines_say() -> None:
    text = "#!/bin/bash\n#PBS -l nodes=3\nmpirun ./t\nqsub -l nodes=8 next.pbs\n"
    its = convert(classified({"job.pbs": text}), Options({}))
    assert _told(its)["nodes"] == "3"
    assert not any(each.todo == "give that file, too" for each in its.findings)


def test_slots_that_a_command_asks_for_are_no_ranks() -> None:
    told = _told(_of("qsub -I -l nodes=2:ppn=10,walltime=1:00:00"))
    assert (told["nodes"], told["ranks"]) == ("2", "not determined")


def test_an_option_whose_value_the_launcher_does_not_tell_is_said_so() -> None:
    found = _of("while getopts n: o; do N=$OPTARG; done\nqsub <<EOF\n#PBS -l nodes=$N\nmpirun ./t\nEOF")
    assert any(
        "does not tell all" in each.why and each.what.startswith("-l nodes=") for each in found.findings
    )


@pytest.mark.parametrize("first", ["#PBS -l nodes=2:ppn=4", "#$ -l h_rt=600"])
def test_what_another_submitted_script_has_is_not_of_the_job_that_is_told(first: str) -> None:
    texts = {
        "go.sh": "#!/bin/bash\nqsub -N one fit.pbs\nqsub -N two -v KEPT=/k -l h_rt=60 tidy.pbs\n",
        "fit.pbs": f"#!/bin/bash\n{first}\nexport A=1\nmpirun ./fit\n",
        "tidy.pbs": f"#!/bin/bash\n{first}\nexport OLD=2\nrm -rf /k/x\n",
    }
    found = convert(classified(texts), Options({}))
    assert _told(found)["environment"] == "A"
    became = {each.became for each in found.findings}
    assert "name: one" in became
    assert not any("KEPT" in each or "OLD" in each for each in became)
    (its,) = [each for each in found.findings if "a job of its own" in each.why]
    assert (its.places[0].line, its.why) == (
        3,
        "a job of its own: what is told is of fit.pbs, which another line submits",
    )
    assert any(each.what == "OLD" and "another job" in each.why for each in found.findings)


@pytest.mark.parametrize("line", ["condor_submit $1/warm.sub", "bsub -n 4 ./warm", "oarsub -l nodes=2 $1"])
def test_what_a_launcher_does_beside_what_it_submits_is_no_jobs(line: str) -> None:
    found = _of(f"export A=1\npython prepare.py $1\n{line}")
    told = _told(found)
    assert (told["ranks"], told["environment"]) == ("not determined", "not determined")
    left = {each.places[0].line: each.why for each in found.findings if each.kind == "left"}
    assert "not part of what is launched" in left[4]
    job = f"#!/bin/bash\n#PBS -l nodes=2\npython train.py $1\n{line}\n"
    assert _told(convert(classified({"job.pbs": job}), Options({})))["ranks"] == "1 on each node"


@pytest.mark.parametrize("line", ["condor_submit $1/warm.sub", "flux mini submit -n1 sleep 9", "qsub $JOB"])
def test_a_command_by_which_the_scheduler_is_known_is_said_to_start_a_job(line: str) -> None:
    found = _of(f"for i in $1; do\n{line}\ndone")
    (said,) = [each for each in found.findings if "starts a job or ranks of its own there" in each.why]
    assert (said.places[0].line, said.what) == (4, line)
