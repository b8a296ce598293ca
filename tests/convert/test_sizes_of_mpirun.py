"""How many nodes and ranks an mpirun has that no scheduler's lines tell: by its hosts, or on one machine."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

ONE = "1"  # a job file need not say it


def converted(lines: str, *arguments: str) -> Conversion:
    given = arguments or None
    return convert(classified({"run.sh": f"#!/bin/bash\n{lines}\n"}), Options({}, arguments=given))


@pytest.mark.parametrize(
    ("lines", "nodes", "per_node"),
    [
        ("mpirun -np 16 -host $1,$2 --map-by ppr:8:node ./t", "2", "8"),
        ("mpirun -np 16 -host ${FIRST},${SECOND} ./t", "2", "8"),
        ("mpirun -H 10.1.$RACK.5:8,10.1.$RACK.6:8 -np 16 ./t", "2", "8"),
        ("mpirun -np 12 -host a:4,b:4,c:4 ./t", "3", "4"),
        ("mpirun --host a,b,c,d ./t", "4", "1"),
        ("mpirun --host a:8,b:8 ./t", "2", "8"),
        ("mpirun -np 24 -npernode 8 -hostfile $1 ./t", "3", "8"),
        ("mpirun -np $N -H localhost:$N ./t", ONE, ASK),
        ("mpirun -np $(wc -l <list) -host first:$(wc -l <list) ./t", ONE, ASK),
        ("mpirun -np 8 ./t", ONE, "8"),
        ("mpiexec -n 12 -- ./t", ONE, "12"),
        ("#SBATCH --gres=gpu:8\nmpirun -np 8 ./t", ONE, "8"),
        ("mpirun -np 16 -host $HOSTS ./t", ASK, ASK),
        ("mpirun -np 16 -hostfile $1 ./t", ASK, ASK),
        ("mpirun -np 16 -H ... ./t", ASK, ASK),  # somebody writes the names there
        ("mpirun -hostfile $1 -np 3 -ppn 8 ./t", ONE, "3"),
        ("mpirun -np 3 --map-by ppr:8:node -hostfile $1 ./t", ONE, "3"),
        ("mpirun -np 19 -npernode 8 -hostfile $1 ./t", "3", ASK),
        ("mpirun -np 16 -host $(scontrol show hostnames | head -n 2) ./t", ASK, ASK),
        ("#SBATCH -n 16\nmpirun -np 16 ./t", ASK, ASK),
        ("#SBATCH --ntasks-per-node=8\nmpirun -np $SLURM_NTASKS ./t", ONE, "8"),
        ("#SBATCH --ntasks-per-node=8\nmpirun -n ${SLURM_NPROCS} ./t", ONE, "8"),
        ("mpirun -np 1024 ./t", ONE, ASK),
        ("export OMPI_MCA_rmaps_base_mapping_policy=ppr:4:node\nmpirun -np 8 -hostfile $1 ./t", "2", "4"),
        ("PRTE_MCA_rmaps_default_mapping_policy=ppr:4:node prterun -np 8 -host $A,$B ./t", "2", "4"),
        (
            "export OMPI_MCA_rmaps_base_mapping_policy=ppr:4:node\nmpirun --map-by ppr:2:node -np 8 ./t",
            "4",
            "2",
        ),
        # As mpirun of Open MPI 4.1 starts them: 4 on 2 nodes, and as many as there are slots beside --map-by.
        ("#SBATCH -N 2 -n 8\nexport OMPI_MCA_rmaps_ppr_n_pernode=2\nmpirun ./t", "2", "2"),
        (
            "#SBATCH -N 2 -n 8 --ntasks-per-node=4\n"
            "export OMPI_MCA_rmaps_ppr_n_pernode=2\nmpirun --map-by core ./t",
            "2",
            "4",
        ),
        ("export I_MPI_PERHOST=4\nmpirun -n 8 -f hosts ./t", "2", "4"),
        ("export I_MPI_PERHOST=4\nmpirun -n 8 -ppn 2 -f hosts ./t", "4", "2"),
        ("#SBATCH -N 2\nexport I_MPI_PERHOST=all\nmpirun ./t", "2", ASK),
        ("#SBATCH -N 2 --ntasks-per-node=8\nprun ./t", "2", "8"),
        ("#SBATCH -N 2 --ntasks-per-node=8\nmpiexec.slurm -n 16 ./t", "2", "8"),
        ("#SBATCH -N 4\nmpirun -np 8 --map-by ppr:4:node ./t", "2", "4"),
        ("#SBATCH -N 4\nmpirun -np 16 -npernode 4 ./t", "4", "4"),
        ("#SBATCH -N 4\nmpiexec.hydra -n 2 -ppn 4 ./t", ONE, "2"),
        ("#SBATCH -N 4\nmpirun -np 6 --map-by ppr:4:node ./t", "2", ASK),
        ("#SBATCH -N 4\nmpirun -np 32 --map-by ppr:4:node ./t", "4", ASK),
        ("#SBATCH -N 4\nmpirun -np $TOTAL --map-by ppr:4:node ./t", "4", ASK),
        ("#SBATCH -N 2\nfor n in 1 2 4 8; do mpirun -np $n --map-by ppr:4:node ./t; done", "2", ASK),
    ],
)
def test_the_ranks_of_an_mpirun(lines: str, nodes: str, per_node: str) -> None:
    found = converted(lines)
    job = loaded(found.job)
    assert (job.get("nodes", ONE), job["ranks_per_node"]) == (nodes, per_node)


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        ("#PBS -q long\nmpirun -np 3 -ppn 8 -f $PBS_NODEFILE ./t", "3 on each node"),
        ("#PBS -q long\nmpirun -np 19 -ppn 8 -f $PBS_NODEFILE ./t", "not determined"),
        ("docker run --rm --gpus all reg.example/t:1 mpirun -np 3 -npernode 8 ./t", "3 on each node"),
        ("docker run --rm --gpus all reg.example/t:1 mpirun -np 16 -npernode 8 ./t", "8 on each node"),
    ],
)
def test_the_ranks_of_an_mpirun_whose_script_is_refused(lines: str, ranks: str) -> None:
    found = converted(lines)
    assert found.refused
    assert [each.told for each in found.launch if each.name == "ranks"] == [ranks]


def test_srun_behind_a_wrapper_tells_no_mpi() -> None:
    job = loaded(converted("#SBATCH -N 2 --ntasks-per-node=8\nmpiexec.slurm -n 16 ./t").job)
    assert (job["command"], job["mpi"]) == (["./t"], ASK)


def test_a_mapping_by_a_variable_is_none_of_the_ranks() -> None:
    lines = "export PRTE_MCA_rmaps_default_mapping_policy=numa\nmpirun -np 8 ./t"
    assert "env" not in loaded(converted(lines).job)


def test_why_a_script_without_a_scheduler_has_one_node() -> None:
    said = [each.why for each in converted("mpirun -np 8 ./t").findings if each.key == "nodes"]
    assert len(said) == 1
    assert "sbatch" not in said[0]
    said = [each.why for each in converted("#SBATCH -t 5\nmpirun -np 8 ./t").findings if each.key == "nodes"]
    assert "sbatch" in said[0]


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        (
            "mpirun -np 8 -x LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH ./t -b 8",
            'export LD_LIBRARY_PATH=/opt/lib:"$LD_LIBRARY_PATH"; exec ./t -b 8',
        ),
        (
            "module load hpcx\nmpirun -np 8 -x LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH ./t",
            ["bash", "-lc", 'module load hpcx; export LD_LIBRARY_PATH=/opt/lib:"$LD_LIBRARY_PATH"; exec ./t'],
        ),
        ("mpirun -np 8 -x LD_LIBRARY_PATH=/opt/lib:$LIBRARY_PATH ./t", ["./t"]),
    ],
)
def test_what_mpirun_adds_to_a_variable_of_the_node_each_rank_adds(
    lines: str, command: str | list[str]
) -> None:
    job = loaded(converted(lines).job)
    assert job["command"] == command
    assert job.get("env", {}) == ({} if "export" in str(command) else {"LD_LIBRARY_PATH": ASK})


@pytest.mark.parametrize(
    ("options", "nodes", "per_node"),
    [
        ("-np 16 -npernode 8", "2", "8"),
        ("-np 8 -npernode 4", "2", "4"),
        ("-np 8 -npernode 8", "1", "8"),
        ("-np 4 -npernode 8", "1", "4"),
        ("-np 12 -npernode 8", "2", ASK),
        ("-np 24 --map-by ppr:8:node", "2", ASK),
        ("-np $TOTAL -npernode 8", "2", "8"),
        ("--hostfile hosts -np 16", "2", "8"),
        ("--hostfile hosts -np 12", "2", ASK),
        ("--hostfile hosts -np 8", "1", "8"),
        ("--hostfile hosts -np 8 --map-by node", "2", "4"),
    ],
)
def test_all_ranks_of_mpirun_in_containers_are_no_more_than_it_says(
    options: str, nodes: str, per_node: str
) -> None:
    lines = (
        "#!/bin/bash\n#SBATCH -N 2 -t 30 --gpus-per-node=8\n"
        'for h in $(scontrol show hostnames); do\n  echo "$h slots=8" >> hosts\n'
        "  ssh $h docker run -d --name c a/b:1 sleep infinity\ndone\n"
    )
    found = convert(classified({"run.sub": f"{lines}docker exec c mpirun {options} ./x\n"}), Options({}))
    job = loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"]) == (nodes, per_node)


@pytest.mark.parametrize(
    ("option", "ranks"), [("", "1"), ("+p4 ", "4"), ("++mpiexec-no-n ", "8"), ("++processPerHost 2 ", "2")]
)
def test_charmrun_takes_no_number_from_slurm(option: str, ranks: str) -> None:
    head = "#SBATCH -N 1 --ntasks-per-node=8 --gpus-per-node=8 -t 60"
    job = loaded(converted(f"{head}\ncharmrun ++mpiexec {option}./namd2 s.namd").job)
    assert (job["ranks_per_node"], job["command"]) == (ranks, ["./namd2", "s.namd"])


@pytest.mark.parametrize(("ranks", "kind"), [(2, "replaced"), (4, "left")])
def test_an_order_over_nodes_is_lost_where_they_have_more_than_one_rank(ranks: int, kind: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 -t 5\nmpirun -np {ranks} --map-by node ./t\n"
    found = convert(classified({"run.sub": text}), Options({})).findings
    assert [each.kind for each in found if each.what == "--map-by node"] == [kind]


@pytest.mark.parametrize("program", ["./solve", "./build/alltoall_perf"])
def test_another_launch_of_one_rank_is_said_to_be_one(program: str) -> None:
    text = f"mpirun -np 1 {program} 1\nmake clean\nmpirun -np 1 {program} 2\n"
    found = convert(classified({"run.sh": f"#!/bin/bash\n{text}"}), Options({})).findings
    left = {each.places[0].line: each.why for each in found if each.kind == "left"}
    assert "it starts ranks of its own" in left[2]
    assert "not part of what is launched" in left[3]


@pytest.mark.parametrize(
    ("run", "option"),
    [
        ("mpirun -np $n ./t", "-np ${n}"),
        ("salloc -n $n mpirun ./t", "-n ${n}"),
        ("salloc -n $n srun --mpi=pmix ./t", "-n ${n}"),
        ("torchrun --nproc_per_node=$n t.py", "--nproc_per_node=${n}"),
    ],
)
def test_ranks_that_are_others_in_each_round_are_asked_as_that(run: str, option: str) -> None:
    found = converted(f"for n in 2 4 8; do\n{run}\ndone").findings
    (asked,) = (each for each in found if each.key == "ranks_per_node")
    assert f"{option} is another number in each round of the loop over 2 4 8" in asked.why
    assert {place.line for place in asked.places} == {2, 3}


@pytest.mark.parametrize(
    ("run", "is_known"),
    [
        ("mpirun -np $N ./t", False),
        ("mpirun -np $N -H localhost:$N ./t", False),
        ("mpirun -np 999 ./t", True),
    ],
)
def test_it_is_asked_about_the_number_that_is_not_told(run: str, is_known: bool) -> None:
    asked = next(each.why for each in converted(run).findings if each.key == "ranks_per_node")
    assert ("an unknown number of nodes" in asked) == is_known
    assert ("is not a number that the input tells" in asked) != is_known


@pytest.mark.parametrize(
    "start", ["mpirun -np $N ./t", "torchrun --nnodes 1 --nproc_per_node=$N t.py", "mpiexec -npernode $N ./t"]
)
def test_a_number_that_a_condition_decides_is_asked_with_what_it_may_be(start: str) -> None:
    for line, said in (
        ("N=4; if [ -e /srv/large ]; then N=8; fi", "N is '4' or '8'"),
        ("N=$(cat n.txt)", "is not a number that the input tells"),
    ):
        found = convert(classified({"go.sh": f"{line}\n{start}\n"}), Options({}))
        (asked,) = [each.why for each in found.findings if each.key == "ranks_per_node"]
        assert said in asked


@pytest.mark.parametrize(
    ("options", "why"),
    [("", "how many ranks a node has is asked for"), ("-n 8 ", "what starts the run says how many ranks")],
)
def test_what_slurm_is_asked_for_stands_behind_the_number_of_mpirun_or_is_asked(
    options: str, why: str
) -> None:
    lines = "#SBATCH -N 2 --ntasks=TOTAL -t 9\n#SBATCH --ntasks-per-node=EACH"
    found = converted(f"{lines}\nmpirun {options}./t").findings
    (said,) = (each.why for each in found if each.what == "--ntasks-per-node=EACH")
    assert said.startswith(why)


@pytest.mark.parametrize(
    ("option", "kind"), [("-stdin all", "left"), ("--stdin 2", "left"), ("--timestamp-output", "replaced")]
)
def test_what_ranks_read_is_not_their_output(option: str, kind: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4\nmpirun {option} ./solve\n"
    found = convert(classified({"run.sub": text}), Options({}))
    (its,) = [each for each in found.findings if each.what == option]
    assert its.kind == kind


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("mpirun -ppn 1 --host $1,$2 ./t", "each of ${1} and ${2} is taken for one host"),
        ("mpirun -np 6 -H first,$REST ./t", "${REST} is taken for one host"),
        (
            "ALL=$HEAD,$OTHERS\nmodule load mpich\nmpirun -n 4 -hosts $ALL ./t",
            "each of ${HEAD} and ${OTHERS}",
        ),
        ("horovodrun -np 4 -H $A,$B python t.py", "each of ${A} and ${B} is taken for one host"),
        (
            "docker run -d --name box lab/t:1\ndocker exec box mpirun -np 4 -H $A,$B ./t",
            "each of ${A} and ${B}",
        ),
        ("mpirun -np 4 -H $A:2,$B:2 ./t", ""),
        ("mpirun -np 4 -H $HOSTNAME,second ./t", ""),
        ("mpirun -np 4 --map-by ppr:2:node -H $A,$B ./t", ""),
        ("#SBATCH -N 2\nmpirun -np 4 -H $A,$B ./t", ""),
        ("B=second,third\nmpirun -np 3 -H first,$B ./t", ""),
    ],
)
def test_a_variable_among_the_hosts_may_be_a_list_of_them_and_the_report_says_so(
    lines: str, said: str
) -> None:
    its = [each for each in converted(lines).findings if "taken for one host" in each.why]
    assert [(each.kind, each.became, each.why.startswith(said)) for each in its] == (
        [("assumed", "nodes: 2", True)] if said else []
    )


def test_a_launcher_without_a_program_is_asked_for_that_and_for_no_image() -> None:
    found = converted("mpirun -np 2 -H a,b")
    asked = next(each for each in found.findings if each.key == "command")
    assert asked.what == "mpirun -np 2 -H a,b"
    assert "no program" in asked.why
    assert not any("image's own command" in f"{each.what} {each.why}" for each in found.findings)
