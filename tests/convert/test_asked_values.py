"""What the options of other schedulers than Slurm ask for: how each of them writes a time and a number."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion


def _of(*lines: str) -> Conversion:
    found = convert(classified({"run.sh": "\n".join(("#!/bin/bash", *lines, "mpirun ./t", ""))}), Options({}))
    assert found.refused
    return found


def _told(*lines: str) -> dict[str, str]:
    return {each.name: each.told for each in _of(*lines).launch}


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("#PBS -l walltime=30:00", "0:30:00"),
        ("#PBS -l walltime=7200", "120 minutes"),
        ("#PBS -l walltime=3:00:00:00", "3-00:00:00"),
        ("#PBS -l walltime=00:01:30:00", "01:30:00"),
        ("#MSUB -l nodes=2,walltime=45:30", "0:45:30"),
        ("#PJM -L elapse=20:00", "0:20:00"),
        ("#COBALT -t 01:20:00", "01:20:00"),
        ("#COBALT -t 20", "20 minutes"),
        ("#$ -l h_rt=1::30", "1:0:30"),
        ("#BSUB -W 20:00", "20:00:00"),
    ],
)
def test_a_time_is_read_as_its_scheduler_reads_it(line: str, time: str) -> None:
    assert _told(line)["time limit"] == time


@pytest.mark.parametrize(
    "line", ["#PBS -l walltime=1h", "#$ -l h_rt=30:00", "#COBALT -t 20:00", "#PBS -l walltime=1:2:3:4:5"]
)
def test_a_time_of_no_form_is_said(line: str) -> None:
    found = _of(line)
    assert any(each.kind == "left" and each.what == line.split(maxsplit=1)[1] for each in found.findings)


@pytest.mark.parametrize(
    ("line", "run", "told"),
    [
        ("#OAR -l nodes=3/core=8,walltime=2", "mpirun -machinefile $OAR_NODEFILE ./t", "3 8 - 2:00:00"),
        ("#OAR -l /nodes=2/cpu=2/core=6,walltime=1:30:00", "mpirun ./t", "2 12 - 1:30:00"),
        ("#OAR -l {type='a'}/host=2/gpu=4,walltime=0:45", "mpirun -npernode 4 ./t", "2 4 4 0:45:00"),
        ("#OAR -l nodes=2/cpu=1", "mpirun -np $(wc -l < $OAR_NODEFILE) ./t", "2 - - -"),
        ("#OAR -l /core=4,walltime=1", "./t", "- 1 - 1:00:00"),
        ("#OAR -l nodes=2+nodes=1,walltime=1", "./t", "- 1 - 1:00:00"),
        ("#OAR -l nodes=2,walltime=1 -l nodes=8,walltime=3", "./t", "2 1 - 1:00:00"),
    ],
)
def test_the_levels_of_oar_tell_nodes_slots_and_gpus(line: str, run: str, told: str) -> None:
    found = convert(classified({"run.sh": f"#!/bin/bash\n{line}\n{run}\n"}), Options({}))
    its = {each.name: each.told for each in found.launch}
    names = ("nodes", "ranks", "GPUs", "time limit")
    assert " ".join(its[name].replace("not determined", "-").split()[0] for name in names) == told


def test_who_and_what_a_script_for_oar_is_of_is_told() -> None:
    found = _of("#OAR -n warm --project ice -q long", "#OAR --array 12")
    became = {each.became for each in found.findings}
    assert {"name: warm", "site hint account: ice", "site hint partition: long"} <= became
    assert any("OAR_ARRAY_INDEX" in each.todo for each in found.findings)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("#PBS -lnodes=3:ppn=2 -lwalltime=1:00:00", "3 1:00:00"),
        ("#PBS -lselect=4:mpiprocs=8,walltime=600", "4 10"),
        ("#MSUB -lnodes=2", "2 -"),
        ("#PJM -Lnode=6,elapse=10:00", "6 0:10:00"),
        ("#COBALT -n8 -t30", "8 30"),
        ("#COBALT --nodecount=8 --time 45", "8 45"),
        ("# flux: -N2 -t1h", "2 60"),
        ("#OAR --resource=nodes=2,walltime=3", "2 3:00:00"),
        ("#$ -lh_rt=60", "- -"),  # Grid Engine's options are words of their own
    ],
)
def test_an_option_may_have_its_value_in_one_word_with_it(line: str, told: str) -> None:
    its = _told(line)
    names = ("nodes", "time limit")
    assert " ".join(its[name].replace("not determined", "-").split()[0] for name in names) == told


def test_an_option_of_one_word_is_said_as_it_is_written() -> None:
    found = _of("#PBS -joe -Nwarm", "#PBS -Wgroup_list=ice")
    assert {"-joe", "-Wgroup_list=ice"} <= {each.what for each in found.findings}
    assert any(each.became == "name: warm" for each in found.findings)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nodes=cn07:ppn=12", "1 12 -"),
        ("nodes=cn07.site.org:ppn=12:gpus=2", "1 12 2"),
        ("nodes=cn07:ppn=4+cn08:ppn=4", "2 4 -"),
        ("nodes=1:fast:ppn=8", "1 8 -"),
        ("select=ncpus=8:mpiprocs=4", "1 4 -"),
        ("select=2:mpiprocs=4:ngpus=2+2:mpiprocs=4:ngpus=2", "4 4 2"),
        ("nodes=2:ppn=3+1:ppn=4", "3 - -"),
        ("nodes=NODES:ppn=8", "- 8 -"),
        ("nodes=NODES+2:ppn=8", "- - -"),
    ],
)
def test_nodes_of_pbs_may_be_named_or_of_several_kinds(line: str, told: str) -> None:
    its = _told(f"#PBS -l {line}")
    names = ("nodes", "ranks", "GPUs")
    assert " ".join(its[name].replace("not determined", "-").split()[0] for name in names) == told
    unlike = [each for each in _of(f"#PBS -l {line}").findings if "are not alike" in each.why]
    assert len(unlike) == (told == "3 - -")


_NO_PLACE = "each of its chunks is taken for a node: no line says place="
_CHUNKS = "#PBS -l select=2:ncpus=16:mpiprocs=4:ompthreads=4"


@pytest.mark.parametrize(
    ("lines", "told", "became"),
    [
        ([_CHUNKS], "OMP_NUM_THREADS", "env.OMP_NUM_THREADS: 4"),
        ([_CHUNKS, "export A=1"], "A, OMP_NUM_THREADS", "env.OMP_NUM_THREADS: 4"),
        ([_CHUNKS, "export OMP_NUM_THREADS=2"], "OMP_NUM_THREADS", "env.OMP_NUM_THREADS: 2"),
        (["#PBS -l select=1:ompthreads=4+1:ompthreads=8"], "not determined", ""),
        (["#PBS -l select=1:ncpus=4"], "not determined", ""),
    ],
)
def test_the_threads_that_pbs_sets_are_in_the_environment(lines: list[str], told: str, became: str) -> None:
    assert _told(*lines)["environment"] == told
    its = [each.became for each in _of(*lines).findings if each.became.startswith("env.OMP")]
    assert its == ([became] if became else [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#PBS -l select=4:ncpus=2,place=free:excl", "several of its chunks may be on one host"),
        ("#PBS -l place=pack -l select=4:ncpus=2", "all of its chunks are on one host"),
        ("#PBS -l select=4:ncpus=2 -l place=scatter", ""),
        ("#PBS -l select=1:ncpus=2 -l place=free", ""),
        ("#PBS -l select=4:ncpus=2:mpiprocs=2", _NO_PLACE),
        ("#PBS -lselect=1:ncpus=2+3:ncpus=2,walltime=9", _NO_PLACE),
        ("#PBS -l select=2:system=warm", ""),
        ("#PBS -l select=1:ncpus=2", ""),
        ("#PBS -l nodes=4:ppn=2", ""),
    ],
)
def test_chunks_of_pbs_that_may_share_a_host_are_said(line: str, said: str) -> None:
    its = [each for each in _of(line).findings if "chunks" in each.why]
    assert [each.why.partition(",")[0] for each in its] == ([said] if said else [])


def test_threads_that_commands_have_of_their_own_are_not_those_that_pbs_sets() -> None:
    lines = "#!/bin/sh\n#PBS -l select=1:ncpus=8:ompthreads=8\nfor N in 1 2; do\nT=$({} ./t)\ndone\n"
    for front, told in (("OMP_NUM_THREADS=$N", "not determined"), ("nice", "OMP_NUM_THREADS")):
        found = convert(classified({"run.sh": lines.format(front)}), Options({}))
        assert {each.name: each.told for each in found.launch}["environment"] == told


def test_lines_of_grid_engine_count_behind_commands_too() -> None:
    assert _told("#$ -cwd", "date", "#$ -l h_rt=600")["time limit"] == "10 minutes"
    found = convert(classified({"run.sh": "#!/bin/sh\ndate\n#$ -l h_rt=600\n./t\n"}), Options({}))
    assert "Grid Engine" not in found.refused  # of a script without others it is a comment


@pytest.mark.parametrize("own", ["#$ -V -cwd", "#$ -pe warm 4"])
def test_a_first_line_of_grid_engine_counts_behind_a_command_by_options_of_its_own(own: str) -> None:
    text = f"A=2\nexport A\n#$ -l h_rt=600\ndate\n{own}\n#$ -l h_vmem=1G\nmpirun -np 4 ./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert "a script for Grid Engine" in found.refused
    assert {each.name: each.told for each in found.launch}["time limit"] == "10 minutes"
    for others in (f"cat > j <<E\n{own}\nE\n", f"#SBATCH -N 1\ndate\n{own}\n", own.replace("$ ", "$ ls ")):
        text = f"#!/bin/sh\n{others}\nmpirun ./t\n"
        assert "Grid Engine" not in convert(classified({"run.sh": text}), Options({})).refused


def test_lines_of_lsf_count_behind_commands_too() -> None:
    lines = ("set -eu", "#BSUB -nnodes 2", "date", "# it's one", "#BSUB -W 1:30")
    told = _told(*lines)
    assert (told["nodes"], told["time limit"]) == ("2", "1:30:00")
    for text in ("cat > j <<E\n#BSUB -W 9\nE", 'A="\n#BSUB -W 9\n"', "#SBATCH -N 1\ndate\n#BSUB -W 9"):
        found = convert(classified({"run.sh": f"#!/bin/sh\n{text}\nmpirun ./t\n"}), Options({}))
        assert "LSF" not in found.refused


@pytest.mark.parametrize(("line", "who"), [("#PBS -l walltime=1:00:00", "qsub"), ("#MSUB -V", "msub")])
def test_lines_of_pbs_behind_a_command_are_said_to_say_nothing(line: str, who: str) -> None:
    mark = line.split()[0]
    found = _of(f"{mark} -l nodes=2", "date", line)
    assert {each.name: each.told for each in found.launch}["time limit"] == "not determined"
    (its,) = [each for each in found.findings if each.kind == "defect"]
    assert (its.what, its.places[0].line) == (line, 4)
    assert its.why.startswith(f"{who} reads such lines before the first command alone")


@pytest.mark.parametrize(("mark", "who"), [("PBS", "qsub"), ("MSUB", "msub")])
def test_lines_of_a_scheduler_that_all_stand_behind_a_command_are_said_to_say_nothing(
    mark: str, who: str
) -> None:
    lines = f"echo >\n#{mark} -l nodes=3:ppn=2\nmpirun ./t\ncat <<E\n#{mark} -l nodes=9\nE\n"
    for head, expected in (("", 1), ("#SBATCH -N 3\n", 0)):  # of a script for sbatch it is a comment
        found = convert(classified({"run.sh": f"#!/bin/sh\n{head}{lines}"}), Options({}))
        its = [each for each in found.findings if each.what == f"#{mark} -l nodes=3:ppn=2"]
        assert [each.why.startswith(f"{who} reads such lines before") for each in its] == [True] * expected
        assert not any("nodes=9" in each.what for each in found.findings)


def test_lines_of_oar_count_behind_commands_too() -> None:
    told = _told("set -e", "#OAR -l nodes=2/gpu=4,walltime=3", "date", "#OAR -n warm")
    assert (told["nodes"], told["GPUs"], told["time limit"]) == ("2", "4 on each node", "3:00:00")
    for text in ("cat > j <<E\n#OAR -l nodes=2\nE", 'A="\n#OAR -l nodes=2\n"'):
        found = convert(classified({"run.sh": f"#!/bin/sh\n{text}\nmpirun ./t\n"}), Options({}))
        assert "OAR" not in found.refused


@pytest.mark.parametrize(
    ("line", "said"), [("#PBS -N x", "PBS_O_WORKDIR"), ("#$ -N x", "SGE_O_WORKDIR"), ("#BSUB -J x", "")]
)
def test_the_folder_of_a_script_that_is_copied_is_no_folder_of_its_program(line: str, said: str) -> None:
    found = _of(line, 'HERE=$(dirname "$0")', "cd $HERE")
    its = [each for each in found.findings if each.kind == "defect"]
    assert [said in each.todo for each in its] == ([True] if said else [])
    assert not any("slurm" in f"{each.why} {each.todo}".lower() for each in its)


def test_lines_of_a_template_are_no_commands_among_those_for_a_scheduler() -> None:
    found = _of("#PBS -N x", "{% if long %}", "#PBS -l walltime=2:00:00", "{% endif %}")
    assert {each.name: each.told for each in found.launch}["time limit"] == "2:00:00"
    assert not any("before the first command alone" in each.why for each in found.findings)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["#BSUB -n 16", '#BSUB -R "span[ptile=8]"'], "2 8 -"),
        (['#BSUB -R "span[hosts=1]" -n 12'], "1 12 -"),
        (["#BSUB -n 4,8", "#BSUB -nnodes 2"], "2 2 -"),
        (["#BSUB -n 1", '#BSUB -R "rusage[mem=4000,ngpus_excl_p=2]"'], "1 - 2"),
        (["#BSUB -n 1", "#BSUB -R span[ptile=8]"], "1 1 -"),
        (["#BSUB -n 6", '#BSUB -R "span[ptile=8]"'], "1 6 -"),
        (["#BSUB -n 16"], "- - -"),
        (["#BSUB -n 15", "#BSUB -R span[ptile=8]"], "- - -"),
    ],
)
def test_slots_of_lsf_with_those_of_a_host_tell_its_hosts(lines: list[str], told: str) -> None:
    its = _told(*lines)
    names = ("nodes", "ranks", "GPUs")
    assert " ".join(its[name].replace("not determined", "-").split()[0] for name in names) == told
    said = any("these slots are on a host" in each.why for each in _of(*lines).findings)
    assert said == (told == "- - -")


@pytest.mark.parametrize(
    ("line", "run", "told"),
    [
        ("#$ -pe smp 8", "mpirun -np $NSLOTS ./t", "1 8"),
        ("#$ -pe smp 8", "./t", "1 1"),
        ("#$ -pe mpi 48", "mpirun -np $NSLOTS ./t", "- -"),
        ("#$ -pe smp 8-16", "mpirun ./t", "- -"),
        ("#$ -pe smp", "mpirun ./t", "- -"),
    ],
)
def test_slots_of_a_parallel_environment_are_on_one_host_by_its_name(line: str, run: str, told: str) -> None:
    found = convert(classified({"run.sh": f"#!/bin/bash\n{line}\n{run}\n"}), Options({}))
    its = {each.name: each.told for each in found.launch}
    assert (
        " ".join(its[name].replace("not determined", "-").split()[0] for name in ("nodes", "ranks")) == told
    )
    assert any("the parallel environment tells" in each.why for each in found.findings) == told.startswith(
        "-"
    )
    assumed = [each.became for each in found.findings if "as sites set it up" in each.why]
    assert assumed == ([] if told.startswith("-") else ["nodes: 1"])


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["#PJM -L node=4x4x2", "#PJM --mpi max-proc-per-node=4"], "32 4"),
        (["#PJM -L node=2x2:torus", "#PJM --mpi proc=8"], "4 2"),
        (["#PJM --mpi proc=8", "#PJM -L node=2,elapse=10:00"], "2 4"),
        (['#PJM --mpi "proc=64,max-proc-per-node=8" -L node=16'], "16 8"),
        (["#PJM --mpi proc=7 -L node=2"], "2 -"),
    ],
)
def test_shapes_and_processes_of_pjm_are_counted(lines: list[str], told: str) -> None:
    its = _told(*lines)
    assert (
        " ".join(its[name].replace("not determined", "-").split()[0] for name in ("nodes", "ranks")) == told
    )
    said = any("how many of these processes" in each.why for each in _of(*lines).findings)
    assert said == told.endswith("-")


@pytest.mark.parametrize(("kind", "mpi"), [("mpich2", "pmi2"), ("openmpi", "pmix"), ("intelmpi", "pmi2")])
def test_the_kind_of_a_job_of_lsf_tells_its_mpi(kind: str, mpi: str) -> None:
    text = f"#!/bin/bash\n#BSUB -n 8\n#BSUB -a {kind}\nmpirun.lsf ./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert {each.name: each.told for each in found.launch}["mpi"] == mpi
    assert not any(each.kind == "assumed" for each in found.findings)


def test_gpus_of_a_part_of_a_node_are_told_by_pjm() -> None:
    assert _told("#PJM -L gpu=2,elapse=10:00")["GPUs"] == "2 on each node"


def test_mpirun_of_lsf_is_one() -> None:
    text = "#!/bin/bash\n#BSUB -n 32\n#BSUB -R span[ptile=8]\nmpirun.lsf ./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    its = {each.name: each.told for each in found.launch}
    assert (its["nodes"], its["ranks"]) == ("4", "8 on each node")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("#PBS -l select=2:ncpus=8:ngpus=1:gpu_type=P100:mem=4gb", "gpu_type=P100"),
        ("#PBS -l ngpus=1,walltime=10:00,gpu_model=t4", "gpu_model=t4"),
        ("#$ -l gpu=1,gpu_type=P100", "gpu_type=P100"),
        ('#BSUB -gpu "num=1:gmodel=TeslaP100:mode=shared"', "gmodel=TeslaP100"),
        ("#BSUB -R \"select[gpu_model0=='TeslaP100'] rusage[ngpus_excl_p=1]\"", "gpu_model0=='TeslaP100"),
        ("#BSUB -R \"select[gpu_model0=='TeslaP100'] span[hosts=1]\"", "gpu_model0=='TeslaP100"),
    ],
)
def test_a_kind_of_gpu_is_said_and_not_dropped(line: str, kind: str) -> None:
    (its,) = [each for each in _of(line).findings if each.what == kind]
    assert (its.kind, its.todo) == ("left", "write gpu_type")


@pytest.mark.parametrize("line", ["#PBS -l select=2:ngpus=1:gpu_mem=16gb", "#BSUB -gpu num=1:mode=shared"])
def test_what_names_no_kind_of_gpu_is_none(line: str) -> None:
    assert not any("gpu_type" in each.todo for each in _of(line).findings)


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("#PBS -l nodes=1:ppn=4:gpus=1:RTX8000-48GB", ["RTX8000-48GB"]),
        ("#PBS -l select=1:ncpus=32:ngpus=1:mem=9gb:model=gh300", ["model=gh300"]),
        ("#PBS -l nodes=2:fast:ppn=8,walltime=60,qos=low", ["qos=low", "fast"]),
        ("#PBS -l ncpus=96,walltime=60", ["ncpus=96"]),
        ("#$ -l gpu=1,gpu_mem=8G,mem_free=8G", ["gpu_mem=8G"]),
        ("#$ -l h_rt=60,rt_G.large=1", ["rt_G.large=1"]),
        ("#PJM -L node=2,elapse=60,freq=2200", ["freq=2200"]),
        ("#OAR -l {kind='v'}/host=1/gpu=1,walltime=1", ["{kind=v}"]),
        ('#BSUB -R "span[ptile=4] affinity[core(4)] rusage[mem=9]"', ["affinity[core(4)]"]),
        ("#BSUB -R \"select[hname='n1'] span[hosts=1]\"", ["select[hname='n1']"]),
        ("#BSUB -gpu num=1:mode=shared:gmem=16G", ["gmem=16G"]),
        ("#PBS -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:mem=4gb,walltime=60", []),
        ("#PBS -l nodes=2:ppn=8:gpus=1,pmem=4gb", []),
        ("#PJM -L rscunit=u,rscgrp=small,node=2", []),
    ],
)
def test_what_is_asked_for_beside_what_a_job_says_is_said(line: str, rest: list[str]) -> None:
    its = [each.what for each in _of(line).findings if each.why.startswith("a part of what ")]
    assert sorted(its) == sorted(rest)


def test_gpus_of_each_task_are_not_those_of_a_node() -> None:
    found = _of("#BSUB -n 8 -R span[ptile=4]", "#BSUB -gpu num=1/task:mode=shared")
    assert next(each.told for each in found.launch if each.name == "GPUs") == "not determined"
    (its,) = [each for each in found.findings if each.what == "num=1/task"]
    assert (its.kind, its.todo) == ("left", "write gpus_per_node")
    assert _told("#BSUB -gpu num=2/host")["GPUs"] == "2 on each node"
