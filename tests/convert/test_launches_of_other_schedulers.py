"""What is told of a launch in a script for another scheduler is that launch's own, and not what is reserved
for it or what another launch of the script has."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion


def _of(text: str) -> Conversion:
    found = convert(classified({"run.sh": f"#!/bin/bash\n{text}\n"}), Options({}))
    assert found.refused
    return found


def _told(found: Conversion) -> dict[str, str]:
    return {each.name: each.told for each in found.launch}


def _left(found: Conversion, what: str) -> str:
    return " ".join(each.why for each in found.findings if each.kind == "left" and what in each.what)


@pytest.mark.parametrize(
    ("head", "run", "ranks"),
    [
        ("#PBS -l nodes=1:ppn=16", "mpirun -np 4 ./t", "4 on each node"),
        ("#PBS -l nodes=2:ppn=16", "mpirun -np 32 ./t", "16 on each node"),
        ("#PBS -l nodes=2:ppn=16", "mpirun --map-by node -np 8 ./t", "4 on each node"),
        ("#PBS -l nodes=2:ppn=16", "mpirun --map-by ppr:4:node ./t", "4 on each node"),
        ("#PBS -l nodes=2:ppn=16", "mpirun ./t", "16 on each node"),
        ("#PBS -l select=1:ncpus=4", "mpirun.actual -n 4 ./t", "4 on each node"),
        ("#PBS -l nodes=2:ppn=16", "mpirun -np $PBS_NP ./t", "16 on each node"),
        ("#PBS -l nodes=2:ppn=16", "mpirun -np $(wc -l < $PBS_NODEFILE) ./t", "16 on each node"),
        ("#$ -l rt_F=2", "N=4\nmpirun -np $((NHOSTS * N)) --map-by ppr:2:socket ./t", "4 on each node"),
        ("#BSUB -nnodes 2", "jsrun -n 12 -r 6 -a 1 ./t", "6 on each node"),
    ],
)
def test_the_ranks_are_those_that_the_launch_has(head: str, run: str, ranks: str) -> None:
    assert _told(_of(f"{head}\n{run}"))["ranks"] == ranks


@pytest.mark.parametrize(
    ("head", "run", "what"),
    [
        ("#PBS -l nodes=2:ppn=16", "mpirun -np 8 ./t", "-np 8"),
        ("#PBS -l nodes=2:ppn=16", "mpirun --map-by ppr:4:socket:pe=2 ./t", "ppr:4:socket"),
        ("#PBS -l nodes=2:ppn=16", "mpirun -np $RANKS ./t", "-np ${RANKS}"),
        ("#PBS -l nodes=2:ppn=16", "mpirun -np $(sort -u $PBS_NODEFILE | wc -l) ./t", "-np"),
        ("#BSUB -nnodes 4", "jsrun --nrs 2 --rs_per_host 2 ./t", "--nrs 2"),
        ("#BSUB -nnodes 4", "jsrun -n 4 -r 1 -a $(($3)) ./t", "-a $(($3))"),
    ],
)
def test_ranks_that_a_launch_does_not_tell_are_not_those_reserved(head: str, run: str, what: str) -> None:
    found = _of(f"{head}\n{run}")
    assert _told(found)["ranks"] == "not determined"
    assert "how many of these are on a node is not told" in _left(found, what)
    assert not any(each.why == "the job says nodes and ranks per node" for each in found.findings)


@pytest.mark.parametrize(
    ("run", "nodes", "ranks"),
    [
        ("mpirun -np 8 -npernode 4 ./t", "2", "4 on each node"),
        ("mpirun -np 3 -npernode 4 ./t", "1", "3 on each node"),
        ("mpirun -np 6 -npernode 4 ./t", "5", "not determined"),
        ("mpirun -np 20 -npernode 4 ./t", "5", "4 on each node"),
        ("mpirun -np $N -npernode 4 ./t", "5", "4 on each node"),
        ("N=$(echo $COBALT_NODEFILE | wc -l)\nmpirun -np $((N * 4)) -npernode 4 ./t", "1", "4 on each node"),
        ("N=$(cat $COBALT_NODEFILE | wc -l)\nmpirun -np $((N * 4)) -npernode 4 ./t", "5", "4 on each node"),
    ],
)
def test_fewer_ranks_than_fill_the_nodes_are_on_the_first_ones(run: str, nodes: str, ranks: str) -> None:
    found = _of(f"#COBALT -n 5 -t 10\n{run}")
    assert {"nodes": nodes, "ranks": ranks}.items() <= _told(found).items()


@pytest.mark.parametrize(
    ("head", "run"),
    [
        ("#BSUB -nnodes 4", "jsrun --nrs 1 --rs_per_host 1 -g 1 ./t"),
        ("#BSUB -nnodes 4", "jsrun -n 1 -a 1 -c 4 -g 1 ./t"),
        ("#PBS -l nodes=2:ppn=16:gpus=1", "mpirun -np 1 ./t"),
        ("#PBS -l select=2:ngpus=1", "aprun -n 1 ./t"),
    ],
)
def test_one_rank_is_on_one_node(head: str, run: str) -> None:
    told = _told(_of(f"{head}\n{run}"))
    assert (told["nodes"], told["ranks"], told["GPUs"]) == ("1", "1 on each node", "1 on each node")


@pytest.mark.parametrize(
    ("head", "run", "nodes", "ranks"),
    [
        ("#PBS -l nodes=2:ppn=24", "aprun -e A=1 -d 24 ./t", "1", "1 on each node"),
        ("#flux: -N 2 -n 16", "flux run -c 2 ./t", "1", "1 on each node"),
        ("#PBS -l nodes=2:ppn=24", "aprun --pes 8 ./t", "2", "4 on each node"),
        ("#PBS -l nodes=2:ppn=24", "aprun -B ./t", "2", "24 on each node"),
        ("#PBS -l nodes=2:ppn=24", "aprun $OPTS ./t", "2", "24 on each node"),
    ],
)
def test_what_starts_one_rank_by_default_does_so_whatever_is_reserved(
    head: str, run: str, nodes: str, ranks: str
) -> None:
    found = _of(f"{head}\n{run}")
    assert (_told(found)["nodes"], _told(found)["ranks"]) == (nodes, ranks)
    assert any("one rank by default" in each.why for each in found.findings) == (nodes == "1")


@pytest.mark.parametrize("run", ["solver -i a.dat", "source ../go.sh"])
def test_slots_on_which_no_line_is_known_to_start_ranks_are_no_ranks(run: str) -> None:
    found = _of(f"#PBS -l nodes=2:ppn=16\nmodule load solver\n{run}")
    assert {"nodes": "2", "ranks": "not determined"}.items() <= _told(found).items()
    assert "asks for 16 slots on each node" in _left(found, "nodes=2:ppn=16")


def test_a_program_behind_a_profiler_is_one_process() -> None:
    found = _of("#PBS -l nodes=1:ppn=16\namplxe-cl -collect hotspots -r x ./t")
    assert _told(found)["ranks"] == "1 on each node"


def test_what_is_told_is_of_one_launch() -> None:
    text = "#PBS -l nodes=4\nmpirun -npernode 1 hostname\nmpirun -npernode 2 -x A=1 ./a\n"
    found = _of(text + "mpirun -npernode 8 -x B=1 ./b\nmpirun -npernode 1 rm -rf /tmp/x")
    told = _told(found)
    assert (told["ranks"], told["environment"]) == ("8 on each node", "B")
    assert any(each.became == "command: ./b" for each in found.findings)
    assert "a launch of its own" in _left(found, "./a")
    assert not _left(found, "./b")


def test_the_image_is_that_of_the_launch() -> None:
    text = "#$ -l rt_F=4\nmpirun -npernode 4 singularity exec --nv -B /d run.sif python t.py\n"
    found = _of(text + "singularity exec parse.sif python p.py")
    told = _told(found)
    assert told["image"].startswith("run.sif")
    assert (told["ranks"], told["mounts"]) == ("4 on each node", "/d:/d")
    assert any("parse.sif" in each.what for each in found.findings)


_EXPORTS = 'export LD_LIBRARY_PATH="$PWD"\nexport PYTHONPATH=/opt/x\nexport A=1\n'


@pytest.mark.parametrize(
    ("head", "run"),
    [
        ("#BSUB -nnodes 2", "B=2 jsrun -n 2 -E C=3 ./t"),
        ("#PBS -l select=2", "B=2 aprun -n 2 -e C=3 ./t"),
        ("#PBS -l select=2", "B=2 mpiexec.hydra -n 2 -ppn 1 -env C 3 ./t"),
        ("#PBS -l nodes=2:ppn=1", "B=2 mpirun -np 2 -x C=3 ./t"),
    ],
)
def test_what_is_exported_reaches_the_ranks(head: str, run: str) -> None:
    found = _of(f"{head}\n{_EXPORTS}{run}")
    became = {each.became for each in found.findings if each.kind == "carried"}
    assert {"env.A: 1", "env.B: 2", "env.C: 3", "env.PYTHONPATH: /opt/x"} <= became
    assert "command: export LD_LIBRARY_PATH=${PWD}" in became
    assert not any("nothing that is launched uses it" in each.why for each in found.findings)
    reach = [each.what for each in found.findings if "what -x names alone" in each.why]
    assert reach == (["PYTHONPATH, A, B"] if "mpirun -np" in run else [])


def test_what_is_exported_is_told_where_no_run_is_found() -> None:
    found = _of("#COBALT -n 1\nexport https_proxy=http://p:1\nif [ $1 = a ]; then nsys profile $X; fi")
    assert _told(found)["environment"] == "https_proxy"


@pytest.mark.parametrize("run", ["mpirun -np 2 ./t", "singularity exec a.sif ./t", "g16 <a"])
def test_what_exports_are_made_of_is_told_or_said(run: str) -> None:
    its = "export OUT=$PBS_JOBFS/$TAG\nexport LD_LIBRARY_PATH=/y:$LD_LIBRARY_PATH"
    found = _of(f"#PBS -l nodes=1:ppn=2\n{its}\n{run}")
    assert "TAG" in _told(found)["environment"].partition(";")[0].split(", ")
    assert "sets it" in _left(found, "PBS_JOBFS")
    (adds,) = (each for each in found.findings if each.what == "export LD_LIBRARY_PATH")
    assert ([each.line for each in adds.places], "adds to" in adds.why) == ([4], True)


def test_a_word_of_jsrun_is_none_of_the_command() -> None:
    found = _of("#BSUB -nnodes 2\njsrun -e individual -o out.%h -n 12 -r 6 -g 1 python t.py --x 1")
    assert any(each.became == "command: python t.py --x 1" for each in found.findings)
    assert _told(found)["GPUs"] == "6 on each node"


def test_ranks_that_may_be_one_number_or_another_are_said_with_both() -> None:
    found = _of("#PBS -l nodes=2\nN=4\n[[ $1 = -n ]] && N=8\nmpirun -npernode $N ./t")
    assert "is not told: N is '4' or '8', and which" in _left(found, "-npernode")


def test_what_jsrun_and_aprun_say_of_cores_and_gpus_is_not_left_out() -> None:
    found = _of("#BSUB -nnodes 2\njsrun -n 2 -r 1 -a 4 -c 40 -g $(($1)) ./t")
    assert "cores" in _left(found, "-c 40")
    assert "how many GPUs these are" in _left(found, "-g $(($1))")
    assert "cores" in _left(_of("#PBS -l nodes=2\naprun -n 4 -N 2 -d 8 ./t"), "-d 8")


@pytest.mark.parametrize(
    "run", ["jsrun -n 4 -r 2", "orterun -np 4", "horovodrun -np 4", "mpirun_rsh -np 2 a b"]
)
def test_a_launch_whose_output_tee_keeps_is_part_of_what_is_launched(run: str) -> None:
    found = _of(f"#BSUB -nnodes 2\n{run} ./t | tee t.log\ndate | tee d.log")
    assert _told(found)["ranks"] == f"{1 if ' 2 a' in run else 2} on each node"
    (its,) = [each for each in found.findings if each.what == "tee t.log"]
    assert (its.kind, "hpclaunch logs" in its.why) == ("replaced", True)
    assert not _left(found, "./t")


def test_the_environment_has_the_names_that_the_command_takes_of_the_submitter() -> None:
    told = _told(_of("#PBS -l nodes=4:ppn=4\nexport A=1\nmpirun -np 16 ./t $NM ${TS}"))
    assert told["environment"] == "A, NM, TS"


@pytest.mark.parametrize(
    ("line", "name"),
    [("#BSUB -n 1", "LSB_JOBINDEX"), ("#PBS -l nodes=1", "PBS_ARRAYID"), ("#PBS -b 1", "NQSII_MPIOPTS")],
)
def test_what_another_scheduler_sets_is_not_the_submitters(line: str, name: str) -> None:
    found = _of(f"{line}\nexport A=1\nmpirun -np 1 python run.py --id=${name}")
    assert _told(found)["environment"] == "A"
    assert "sets it" in _left(found, name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("C=a.yaml\ncase $1 in\n-c) C=$2;;\nesac\nmpirun -np 4 ./t $C", "C is 'a.yaml' or ${2}"),
        ("for S in 1 2 5; do\nmpirun -np 4 ./t --seed $S\ndone", "${S} is another one in each round"),
        ("mpirun -np 4 ./t $1", "${1} is known only where the script runs"),
    ],
)
def test_what_the_script_makes_itself_is_not_the_submitters(text: str, said: str) -> None:
    found = _of(f"#PBS -l nodes=1:ppn=4\n{text}")
    assert said in _left(found, "./t")
    assert not any(each.key.startswith(("inherit", "command")) for each in found.findings)


@pytest.mark.parametrize(("line", "whose"), [("#PBS -l nodes=1:ppn=1", "PBS"), ("#$ -cwd", "Grid Engine")])
def test_the_folder_that_a_scheduler_makes_for_a_job_is_not_the_submitters(line: str, whose: str) -> None:
    found = _of(f"{line}\nmpirun -np 1 ./t $TMPDIR $NM")
    assert _told(found)["environment"] == "NM"
    assert f"{whose} makes a folder" in _left(found, "TMPDIR")
    assert _told(_of(f"{line}\nexport TMPDIR=/d\nmpirun -np 1 ./t $TMPDIR"))["environment"] == "TMPDIR"


@pytest.mark.parametrize("line", ["mpirun -np 1 ./t $JOB_ID $NM", "export K=$JOB_ID\nmpirun -np 1 ./t $NM"])
def test_what_grid_engine_sets_in_a_job_is_not_the_submitters(line: str) -> None:
    found = _of(f"#$ -cwd\n{line}")
    assert "JOB_ID" not in _told(found)["environment"]
    assert "the scheduler of the original sets it" in _left(found, "JOB_ID")
    of_pbs = _of(f"#PBS -l nodes=1:ppn=1\n{line}")  # which has no variable of that name
    assert "JOB_ID" in _told(of_pbs)["environment"]


@pytest.mark.parametrize("run", ["mpirun -np 2 ./t", "aprun -n 2 ./t"])
@pytest.mark.parametrize(
    ("folder", "became"),
    [("/a", "workdir: /a"), ("$PBS_O_WORKDIR/b", "workdir: ./b"), ("$HOME/c", "command: cd ${HOME}/c; ...")],
)
def test_the_folder_of_a_launch_is_told_and_no_other_line_is_said_to_have_it(
    folder: str, became: str, run: str
) -> None:
    found = _of(f"#PBS -l nodes=1:ppn=2\ncd {folder}\n{run}")
    (its,) = (each for each in found.findings if [place.line for place in each.places] == [3])
    assert its.became == became
    assert ("HOME" in _told(found)["environment"]) == ("HOME" in became)


def test_the_folder_of_a_rank_is_its_shells() -> None:
    found = _of("#PBS -l nodes=1:ppn=1\nmpirun -np 1 $PWD/t")
    assert any(each.became.startswith("command: exec $PWD/t") for each in found.findings)
    assert not any("PWD" in each.todo for each in found.findings)


@pytest.mark.parametrize(
    ("line", "index"),
    [("#PBS -J 1-8", "PBS_ARRAY_INDEX"), ("#PBS -t 1-8", "PBS_ARRAYID"), ("#$ -t 1-8", "SGE_TASK_ID")],
)
def test_an_array_of_jobs_is_said_with_its_index(line: str, index: str) -> None:
    found = _of(f"{line}\nL=(a b c)\npython t.py ${{L[${index}]}}")
    (its,) = (each for each in found.findings if each.kind == "left" and each.what == line.split(" ", 1)[1])
    assert index in its.todo
    assert f"{index}, which no job has, tells which of them it is" in _left(found, "python t.py")


def test_an_array_of_lsf_is_said_and_is_no_part_of_the_name() -> None:
    found = _of('#BSUB -J "P[1-128]%4"\n#BSUB -n 1\npython run.py')
    assert "name: P" in {each.became for each in found.findings}
    assert "array" in _left(found, "[1-128]%4")


def test_a_default_behind_a_file_that_was_not_given_is_said_to_be_one() -> None:
    found = _of('#PBS -l select=2:ngpus=4\nsource conf.sh\nn="${n:-8}"\nmpirun -np $n ./a')
    (said,) = (each for each in found.findings if each.what == "n")
    assert (said.kind, said.became) == ("assumed", "its default: 8")
    assert "conf.sh" in said.why


@pytest.mark.parametrize("nodes", [1, 4])
def test_a_program_that_no_launcher_starts_is_said_to_be_on_the_first_node(nodes: int) -> None:
    found = _of(f"#PBS -l nodes={nodes}:ppn=8\ncd $PBS_O_WORKDIR\n./run_all")
    assert ("on the first node alone" in _left(found, "./run_all")) == (nodes > 1)


def test_lsf_tells_one_host_and_the_image_of_its_docker_application() -> None:
    told = _told(_of("#BSUB -n 16 -R 'span[hosts=1]' -a 'docker(lab/solver:2)'\nmpirun -np 16 ./t"))
    assert (told["nodes"], told["ranks"], told["image"]) == ("1", "16 on each node", "lab/solver:2")


def test_gpus_that_pbs_is_asked_for_without_nodes_are_told() -> None:
    told = _told(_of("#PBS -l ngpus=2\n#PBS -l walltime=1:00:00\n./t"))
    assert (told["GPUs"], told["time limit"]) == ("2 on each node", "1:00:00")


@pytest.mark.parametrize(
    ("head", "run", "nodes", "ranks"),
    [
        ("", "aprun -n 40 -N 30 ./t", "not determined", "not determined"),
        ("", "aprun -n 60 -N 30 ./t", "2", "30 on each node"),
        ("#COBALT -n 4", "aprun -n 60 -N 30 ./t", "4", "not determined"),
        ("#COBALT -n 2", "aprun -n 60 -N 30 ./t", "2", "30 on each node"),
        ("", "jsrun -n 12 -r 6 -a 2 ./t", "2", "12 on each node"),
    ],
)
def test_a_node_is_filled_before_the_next_one_has_ranks(head: str, run: str, nodes: str, ranks: str) -> None:
    told = _told(_of(f"{head}\n{run}"))
    assert (told["nodes"], told["ranks"]) == (nodes, ranks)


@pytest.mark.parametrize(
    ("run", "told", "command"),
    [
        ("mpirun -np 4 taskset -c 0-3 ./t", "cpus: 0-3 0-3, memory: none", "./t"),
        ("mpirun -np 4 numactl --interleave=all ./t", "none", "numactl --interleave=all ./t"),
    ],
)
def test_what_binds_a_rank_itself_is_told(run: str, told: str, command: str) -> None:
    found = _of(f"#PBS -l nodes=2:ppn=2\n{run}")
    assert told in _told(found)["binding"]
    assert any(each.became == f"command: {command}" for each in found.findings)


@pytest.mark.parametrize(
    ("loop", "said"),
    [
        ("for i in 1 2 3; do {}; done", "each of 3 rounds starts"),
        ("for f in *.in; do {}; done", "each of the rounds starts"),
        ("while read f; do {}; done < list", "each of the rounds starts"),
        ("for i in 1; do {}; done", ""),
        ("{}", ""),
    ],
)
@pytest.mark.parametrize("run", ["mpirun -np 8 ./t", "flux submit -N 1 -n 1 ./t", "./t -x 1"])
def test_a_launch_that_rounds_of_a_loop_start_is_said_to_be_one_of_them(
    loop: str, said: str, run: str
) -> None:
    found = _of(f"#PBS -l nodes=1:ppn=8\n{loop.format(run)}")
    its = [each for each in found.findings if "rounds starts" in each.why]
    assert [said in each.why for each in its] == ([True] if said else [])
    assert not (said and any(each.what.startswith("a loop: ") for each in found.findings))


def test_the_variable_of_a_loop_is_not_taken_from_who_submits() -> None:
    found = _of("#OAR -l host=1,walltime=2\nfor step in 3 5; do\n  ./relax --until $step\ndone")
    assert _told(found)["environment"] == "not determined"
    assert not any(each.became.startswith("inherit") for each in found.findings)
    assert "another one in each round of the loop over 3 5" in _left(found, "./relax --until")


@pytest.mark.parametrize("given", ["-stdout a.log -stderr b.log", "-std a.log -n 8", "--vcoordfile c.txt"])
def test_files_that_fujitsus_mpiexec_is_given_are_not_the_program(given: str) -> None:
    found = _of(f"#PJM -L node=2\n#PJM --mpi proc=8\nmpiexec {given} ./heat in.dat")
    assert any(each.became == "command: ./heat in.dat" for each in found.findings)
    assert given.split(" -")[0] in {each.what for each in found.findings}


@pytest.mark.parametrize(("head", "said"), [("PJM -L node=2", False), ("PBS -l nodes=2:ppn=4", True)])
def test_what_mpiexec_hands_on_to_other_hosts_is_said_of_open_mpi_alone(head: str, said: bool) -> None:
    text = f"#!/bin/sh\n#{head}\nexport A=1\nmpiexec -n 8 ./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    (its,) = [each for each in found.findings if each.became == "env of all ranks"]
    assert ("ranks there did not have the rest" in its.why) == said
    assert ("is not told" in its.why) != said


@pytest.mark.parametrize("head", ["#MSUB -l nodes=6:ppn=8,walltime=2:00:00", "#BSUB -nnodes 6 -W 2:00"])
def test_srun_in_a_script_for_another_scheduler_starts_its_ranks(head: str) -> None:
    found = _of(f"{head}\nexport STEPS=4\nsrun hostname\npython prepare.py\nsrun -N 3 -n 12 ./solve")
    told = _told(found)
    assert (told["nodes"], told["ranks"], told["time limit"]) == ("6", "not determined", "2:00:00")
    assert "STEPS" in told["environment"]
    why = _left(found, "srun -N 3 -n 12 ./solve")
    assert why.startswith("it starts the ranks, by its own options")
    assert ("8 slots on each node" in why) == ("ppn=8" in head)
    assert not any("sbatch" in f"{each.why} {each.todo}" for each in found.findings)
    assert not any(each.key == "command" for each in found.findings)
