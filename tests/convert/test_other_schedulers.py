"""Launchers for other schedulers are refused by their name."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("flux run -N 2 -n 16 ./t", "Flux"),
        ("flux submit --cc=1-4 -n 1 ./t", "Flux"),
        ("flux alloc -N 2 ./t.sh", "Flux"),
        ("jsrun -n 4 -g 1 ./t", "LSF"),
        ("bsub -W 10 ./t.sh", "LSF"),
        ("qsub -l select=2 t.pbs", "PBS"),
        ("qrsh -l gpu=4 ./t.sh", "Grid Engine"),
        ("aprun -n 16 ./t", "ALPS"),
        ("condor_submit t.sub", "HTCondor"),
        ("oarsub -l nodes=2 ./t.sh", "OAR"),
        ("gantry run --gpus 8 -- python t.py", "Beaker (gantry)"),
        ("beaker experiment create t.yaml", "Beaker"),
        ("sky jobs launch t.yaml", "SkyPilot"),
        ("mcli run -f t.yaml", "MosaicML"),
    ],
)
@pytest.mark.parametrize("head", ["export A=1", "#SBATCH -N 2"])
def test_the_scheduler_is_named(line: str, name: str, head: str) -> None:
    found = convert(classified({"run.sh": f"#!/bin/bash\n{head}\n{line}\n"}), Options({}))
    assert name in found.refused
    assert not found.job
    assert any(place.line == 3 for each in found.findings for place in each.places)


@pytest.mark.parametrize("line", ["flux resource list\nsrun ./t", "flux jobs -a\nmpirun -np 2 ./t"])
def test_what_only_asks_flux_is_no_script_for_it(line: str) -> None:
    assert convert(classified({"run.sh": f"#!/bin/bash\n{line}\n"}), Options({})).job


def test_a_command_of_another_scheduler_beside_the_run_is_said_by_its_name() -> None:
    text = "#!/bin/bash\n#SBATCH -N 1\nsrun --mpi=none ./t\nqsub next.pbs\nbeaker dataset create x\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert found.job
    left = {place.line: each for each in found.findings if each.kind == "left" for place in each.places}
    assert "PBS or Grid Engine" in left[4].why
    assert "Beaker" not in left[5].why  # it starts nothing


@pytest.mark.parametrize("head", ["#$ -l rt_F=32", "#$-l rt_F=32", "#$-l f_node=32", "#$ -l node_f=32"])
@pytest.mark.parametrize("run", ["mpirun -np 64 -N 2 ./t", "source ../run.sh"])
def test_a_line_of_grid_engine_may_have_no_blank(head: str, run: str) -> None:
    found = convert(classified({"run.sh": f"#!/bin/sh\n{head}\n{run}\n"}), Options({}))
    assert "Grid Engine" in found.refused
    assert any(each.became == "nodes: 32" for each in found.findings)


@pytest.mark.parametrize(
    ("system", "head", "folder"),
    [
        ("PBS", "#PBS -l select=1:ngpus=2", "$PBS_O_WORKDIR"),
        ("LSF", "#BSUB -nnodes 1", "$LS_SUBCWD"),
        ("Grid Engine", "#$ -l gpu=2", "${SGE_O_WORKDIR}"),
    ],
)
def test_the_program_of_a_script_for_another_scheduler_is_told(system: str, head: str, folder: str) -> None:
    text = f"#!/bin/bash\n{head}\ncd {folder}\nmodule load cuda\nexport A=1\npython train.py --lr 1\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert system in found.refused
    became = {each.key: each.became for each in found.findings if each.kind == "carried" and each.key}
    assert became["command"].endswith("exec python train.py --lr 1'")
    assert became["env.A"] == "env.A: 1"
    assert became["ranks_per_node"] == "ranks_per_node: 1"
    assert not any(each.key == "workdir" for each in found.findings)
    assert not any("the folder in which the ranks start" in each.why for each in found.findings)
    assert "not part of what is launched" not in " ".join(each.why for each in found.findings)


def test_torchrun_in_a_script_for_pbs_tells_its_ranks() -> None:
    text = "#PBS -l select=2:ngpus=4\ncd /scratch/x\ntorchrun --nproc_per_node=4 train.py\n"
    found = convert(classified({"run.sh": text}), Options({}))
    became = {each.became for each in found.findings if each.kind == "carried"}
    assert {"ranks_per_node: 4", "rendezvous: torch", "nodes: 2", "workdir: /scratch/x"} <= became
    assert any(each.startswith("command: ") and each.endswith("train.py") for each in became)


def test_what_the_program_is_given_and_no_line_tells_is_said() -> None:
    text = "#!/bin/bash\n#PBS -l nodes=1:ppn=4\nfor i in $(ls); do S=$i; done\n./t $S\n"
    found = convert(classified({"run.sh": text}), Options({}))
    (its,) = [each for each in found.findings if "what each rank executes" in each.why]
    assert (its.kind, its.places[0].line) == ("left", 4)
    assert not any(each.key.startswith("inherit") for each in found.findings)


def test_a_folder_below_that_of_submission_is_told() -> None:
    text = "#!/bin/bash\n#PBS -l nodes=1:ppn=4\ncd $PBS_O_WORKDIR/run\ncd warm\n./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert any(each.became == "workdir: ./run/warm" for each in found.findings)


@pytest.mark.parametrize("shell", ["csh", "tcsh -f", "ksh"])
def test_a_script_that_another_shell_reads_is_the_program(shell: str) -> None:
    text = f"#!/bin/sh\n#PBS -l nodes=1\nmkdir out\n{shell} warm.scr\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert any(each.became == f"command: {shell} warm.scr" for each in found.findings)


def test_what_a_condition_of_a_template_decides_is_not_said_to_be_passed_by() -> None:
    lines = "{% if many %}\nN=4\n{% else %}\nN=0\n{% endif %}\nif [ $N -gt 0 ]; then\n./warm $N > log\nfi"
    for text, passed in ((lines, False), ("N=0\nif [ $N -gt 0 ]; then\n./warm $N > log\nfi", True)):
        found = convert(
            classified({"run.sh": f"#!/bin/bash\n#PBS -l nodes=2\n{text}\nmpirun ./t\n"}), Options({})
        )
        said = any("the script does not come to it" in each.why for each in found.findings)
        assert said == passed


@pytest.mark.parametrize(
    ("line", "alone"),
    [
        ("torchrun --nproc_per_node=4 fit.py", True),
        ("singularity exec --nv a.sif torchrun --nproc_per_node=4 fit.py", True),
        ("deepspeed --hostfile hosts fit.py", False),
        ("mpirun -np 3 --map-by ppr:1:node torchrun --nproc_per_node=4 fit.py", False),
    ],
)
def test_a_launcher_of_one_node_is_said_to_start_nothing_on_the_others(line: str, alone: bool) -> None:
    for nodes, others in (
        (3, "the other 2 have no ranks of it"),
        (2, "the other has no ranks of it"),
        (1, ""),
    ):
        found = convert(classified({"run.sh": f"#!/bin/bash\n#PJM -L node={nodes}\n{line}\n"}), Options({}))
        said = [each.why for each in found.findings if "no ranks of it" in each.why]
        its = [f"it runs on the first node alone, and {others}"] if alone and others else []
        assert said == its


@pytest.mark.parametrize(
    ("head", "run"),
    [
        ("#PBS -l nodes=2:ppn=4", "mpirun -np 8 ./tide"),
        ("#BSUB -nnodes 2", "jsrun -n 8 -r 4 -a 1 ./tide"),
        ("#$ -pe mpi 8", "mpirun ./tide"),
        ("#PBS -l nodes=2:ppn=4", "./tide"),
    ],
)
def test_what_the_shell_did_before_the_ranks_begins_their_command(head: str, run: str) -> None:
    prepares = "source /sw/lmod/init\nmodule load netcdf\nulimit -s unlimited"
    text = f"#!/bin/bash\n{head}\n{prepares}\nexport TIDE=$HOME/tide\n{run}\n"
    found = convert(classified({"run.sh": text}), Options({}))
    said = {each.places[0].line: each for each in found.findings if each.kind in ("carried", "left")}
    assert all(said[line].became.startswith("command: bash -lc ") for line in (3, 4, 5))
    first = "source /sw/lmod/init; module load netcdf; ulimit -s unlimited"
    whole = [each.became for each in found.findings if each.places[0].line == 7 and first in each.became]
    assert len(whole) == 1
    assert "export TIDE=" in whole[0]
    assert whole[0].endswith("exec ./tide'")


def test_what_an_export_takes_of_a_shell_the_command_may_set_before_it() -> None:
    run = "conda activate tide\nexport TIDE=$CONDA_PREFIX/tide\nmpirun -np 8 ./tide\n"
    found = convert(classified({"run.sh": f"#!/bin/bash\n#PBS -l nodes=2:ppn=4\n{run}"}), Options({}))
    (said,) = (each for each in found.findings if each.what == "export TIDE")
    assert "where `conda activate tide` in the command does not set it" in said.why


def test_what_the_shell_did_before_a_container_is_no_part_of_the_command_in_it() -> None:
    run = "module load netcdf\nmpirun -np 8 apptainer exec tide.sif ./tide\n"
    text = f"#!/bin/bash\n#PBS -l nodes=2:ppn=4\n{run}"
    found = convert(classified({"run.sh": text}), Options({}))
    assert "command: ./tide" in {each.became for each in found.findings}
