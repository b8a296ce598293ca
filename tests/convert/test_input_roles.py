"""What each given file is taken for."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n"
HERE = f"kubectl apply -f - <<EOF\n{POD}EOF\n"


@pytest.mark.parametrize(
    ("name", "text", "role"),
    [
        ("standard input", POD, "manifest"),
        ("copied.txt", "".join(f"{n}  {line}\n" for n, line in enumerate(POD.splitlines(), 1)), "manifest"),
        ("copied.txt", POD.replace("  ", "\u00a0 "), "manifest"),
        ("x.json", "[]", "manifest"),
        ("standard input", '{"kind": "Pod", "apiVersion": "v1"}', "manifest"),
        ("standard input", '{\n  "apiVersion": "v1",\n  "kind": "Pod"\n}', "manifest"),
        ("apply.sh", HERE, "shell"),
        ("apply.sh", "#!/bin/sh\n" + HERE, "shell"),
        ("run.sub", "#!/bin/bash\nsrun ./a\n", "shell"),
        ("hosts", "n1 slots=8\nn2 slots=8\n", "hostfile"),
        ("mounts.txt", "/a:/b\n/c:/d:ro\n", "mounts"),
        ("notes", "Dear all,\n", "unclear"),
        *(
            ("tide.cmdfile", f"{line}\n./tide deck.in\n", "shell")
            for line in (
                "#PJM -L node=2",
                "#COBALT -n 2",
                "#MSUB -l nodes=2",
                "#OAR -l /nodes=2",
                "# flux: -N 2",
                "# @ node = 2\n# @ queue",
            )
        ),
        ("tide.cmdfile", "/opt/mpi/bin/mpirun -np 4 ./tide\n", "shell"),
        ("tide.cmdfile", "# @ node = 2\n./tide deck.in\n", "unclear"),
        ("a.yaml", "compute_environment: LOCAL_MACHINE\nnum_processes: 8\n", "accelerate"),
        ("a.yaml", "kind: ConfigMap\ndata:\n  a.yaml: |\n    compute_environment: X\n", "manifest"),
        ("train.py", "#!/usr/bin/env python\nx = 1\n", "program"),
        ("train.py", "for i in x:\n    y=1\n", "program"),
        ("job.py", "#OAR -n fit\n#OAR -l nodes=2\n\ncd model\npython fit.py\n", "shell"),
        ("job.py", "#!/bin/bash\n#PBS -l nodes=2\nsource ~/.bashrc\n./fit\n", "shell"),
        ("job.py", "#SBATCH -N 2\nset -x\nsrun ./fit\n", "shell"),
        ("job.py", "#SBATCH -N 2\nfrom fit import main\nmain()\n", "program"),
        ("job.py", "#SBATCH -N 2\nprint 'x'\n", "program"),
        ("job.py", "#SBATCH -N 2\nn = 2\n", "program"),
        ("job.py", "#!/usr/bin/python\n#SBATCH -N 2\ncd model\n", "program"),
        ("job.py", "# of no scheduler\ncd model\n", "program"),
    ],
)
def test_a_file_is_taken_for_what_it_is(name: str, text: str, role: str) -> None:
    assert [each.role for each in classified({name: text})] == [role]


_RANKS = "#!/bin/bash\nmpirun -np 4 python t.py\n"


@pytest.mark.parametrize(
    ("submit", "role"),
    [
        ("sbatch -N 2 ./job.sh", "shell"),
        ("sbatch -N 2 --output=a.sh.out ./job.sh --x 1", "shell"),
        ("sbatch -N 2 \\\n  --gres=gpu:4 \\\n  ./job.sh", "shell"),
        ('JOB="./job.sh" # of two\nfor i in 1 2; do sbatch $OPTIONS $JOB; done', "shell"),
        ("sbatch run.sub ./job.sh", "rank script"),
        ("sbatch -N 2 --wrap='bash job.sh'", "rank script"),
        ("sbatch a.sub; srun bash job.sh", "rank script"),
        ("srun bash job.sh", "rank script"),
    ],
)
def test_a_script_that_is_submitted_runs_beside_no_ranks(submit: str, role: str) -> None:
    found = classified({"go.sh": f"#!/bin/bash\n{submit}\n", "job.sh": _RANKS})
    assert [each.role for each in found] == ["shell", role]


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("torchrun t.py", "rank script"),
        ("deepspeed --no_local_rank t.py", "rank script"),
        ("accelerate launch t.py", "rank script"),
        ("orterun ./t", "rank script"),
        ("bindpcie ./t", "rank script"),
        ("taskset -c 1 ./t", "rank script"),
        ("pip install deepspeed accelerate", "shell"),
        ("RUN='deepspeed t.py'", "shell"),
    ],
)
def test_a_script_that_does_what_ranks_do_is_theirs_where_its_name_stands_nowhere(
    line: str, role: str
) -> None:
    run = "#!/bin/bash\n#SBATCH -N 2\nsrun $RUN\n"
    found = classified({"run.sub": run, "work.sh": f"#!/bin/bash\nset -e\n{line}\n"})
    assert [each.role for each in found] == ["shell", role]


def test_a_submitted_script_without_lines_for_slurm_is_read() -> None:
    go = "#!/bin/bash\nexport GPUS=4\nsbatch -N 2 --gres=gpu:2 ./job.sh\n"
    found = convert(classified({"go.sh": go, "job.sh": "#!/bin/bash\nmpirun -np $GPUS ./t\n"}), Options({}))
    job = loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"], job["mpi"], job["command"]) == ("2", "2", "pmix", ["./t"])


def test_lines_for_sbatch_in_a_script_that_srun_starts_are_comments_of_the_ranks_script() -> None:
    go = "#!/bin/bash\nsrun -N 2 \\\n  --ntasks-per-node=4 --mpi=none ./job.sh big\n"
    its = {"go.sh": go, "job.sh": "#!/bin/bash\n#SBATCH -t 10 -N 1\npython train.py\n"}
    job = loaded(convert(classified(its), Options({})).job)
    assert (job["nodes"], job["command"], job.get("time")) == ("2", ["./job.sh", "big"], None)
    assert "after" not in job


@pytest.mark.parametrize(
    "submit", ["sbatch -N 1 -t 9 --gres=gpu:2 ./job.sh big", "J=1 sbatch -t 9 \\\n  -G 2 job.sh big"]
)
def test_a_submitted_script_that_starts_its_run_itself_is_among_the_files(submit: str) -> None:
    its = {"go.sh": f"#!/bin/bash\n{submit}\n", "job.sh": "#!/bin/bash\nexport A=1\npython fit.py --n $1\n"}
    found = convert(classified(its), Options({}))
    job = loaded(found.job)
    assert (job["command"], job["time"], job["env"]["A"]) == (
        ["python", "fit.py", "--n", "big"],
        "00:09:00",
        "1",
    )
    assert not [
        each for each in found.findings if "among the files" in each.why or "may say more" in each.why
    ]


@pytest.mark.parametrize(
    ("go", "role"),
    [
        ("mpirun -np 4 bash one.sh", "rank script"),
        ('MPI="mpirun -npernode 4"\n$MPI bash one.sh', "rank script"),
        ("mpirun -np 4 \\\n  -x A=1 \\\n  ./one.sh", "rank script"),
        ("bash one.sh\nmpirun -np 4 ./t", "shell"),
        ("source one.sh\nmpirun -np 4 ./t", "shell"),
    ],
)
def test_a_script_that_mpirun_starts_runs_beside_the_ranks(go: str, role: str) -> None:
    one = "#!/bin/bash\nexport A=1\nCMD=./t\n$CMD x\n"
    assert [each.role for each in classified({"go.sh": f"#!/bin/bash\n{go}\n", "one.sh": one})][1] == role


_STIR = "#!/bin/bash\nmodule load brew\nmpiexec -n 6 ./stir\n"


@pytest.mark.parametrize(
    "line",
    ["./stir.sh", "bash -e stir.sh", "cd pot && KIND=tea ./stir.sh", "time ../bin/stir.sh", '"$POT/stir.sh"'],
)
def test_the_mpirun_of_a_script_that_the_script_of_sbatch_starts_is_the_run(line: str) -> None:
    go = f"#!/bin/bash\n#SBATCH -N 3 -t 9 --gres=gpu:2\n{line}\n"
    found = convert(classified({"go.sh": go, "stir.sh": _STIR}), Options({}))
    job = loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"], job["mpi"]) == ("3", "2", "pmix")
    assert "./stir" in str(job["command"])
    assert "stir.sh" not in str(job["command"])
    assert not [each for each in found.findings if "do nothing" in each.why or "stand idle" in each.why]


@pytest.mark.parametrize("line", ["srun ./stir.sh", 'docker exec it bash -c "cd pot; ./stir.sh"'])
def test_a_script_with_mpirun_that_srun_or_a_container_starts_runs_beside_the_ranks(line: str) -> None:
    go = f"#!/bin/bash\n#SBATCH -N 3\n{line}\n"
    assert [each.role for each in classified({"go.sh": go, "stir.sh": _STIR})] == ["shell", "rank script"]


@pytest.mark.parametrize(
    "line", ["srun --mpi=pmix -n 16 \\\n    ./work.sh", "mpirun -np 16 \\\n  --bind-to none \\\n  ./work.sh"]
)
def test_a_script_with_mpirun_on_a_line_that_goes_on_runs_beside_the_ranks(line: str) -> None:
    """MLPerf's run_and_time.sh: mpirun in it is for Docker, and its default of SEED is no trial's."""
    run = f"#!/bin/bash\n#SBATCH -N 2\nfor i in 1 2; do\n  export SEED=$RANDOM\n  {line}\ndone\n"
    work = '#!/bin/bash\nSEED=${SEED:-1}\n[ -n "$SLURM_LOCALID" ] || BY="mpirun -np 8"\n'
    work += "export A=0\n$BY python t.py\n"
    inputs = classified({"run.sub": run, "work.sh": work})
    assert [each.role for each in inputs] == ["shell", "rank script"]
    job = loaded(convert(inputs, Options({})).job)
    assert (job["trials"]["seed"], job["trials"]["count"]) == ("SEED", "2")
    assert "env" not in job
    assert "setup" not in job


def test_a_file_that_no_other_starts_is_said_to_be_in_no_job() -> None:
    docker = "#!/bin/bash\ndocker run --gpus all -it reg.io/a/b:c /bin/bash\n"
    train = "#!/bin/bash\nmpirun -np 16 python t.py |& tee log\n"
    found = convert(classified({"docker.sh": docker, "train.sh": train}), Options({}))
    (its,) = [each for each in found.findings if each.kind == "unread" and each.places[0].file == "train.sh"]
    assert "no line of the other files starts it" in its.todo


def test_a_script_that_a_step_starts_is_said_to_be_of_that_step() -> None:
    go = "#!/bin/bash\n#SBATCH -N 1 -n 2 --gres=gpu:2 -t 5\n./unpack.sh\nsrun --mpi=none ./t\n"
    unpack = "#!/bin/bash\nfind /in -name '*.tar' | parallel tar xf {}\n"
    found = convert(classified({"go.sub": go, "unpack.sh": unpack}), Options({}))
    assert "unpack.sh" in str(loaded(found.job)["setup"])
    (its,) = [each for each in found.findings if each.places[0].file == "unpack.sh"]
    assert (its.kind, its.what) == ("unread", "a script of a step of the job")
    assert "the step starts it" in its.todo


@pytest.mark.parametrize(
    "lines",
    [
        "case ${MODE:-all} in\nall) ./all.sh;;\none) ./one.sh;;\nesac\n",
        "srun --mpi=none ./one.sh &\nsrun --mpi=none ./all.sh\n",
    ],
)
def test_a_script_that_only_lines_left_out_start_is_not_said_to_be_started(lines: str) -> None:
    go = f"#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:2 -t 5\n{lines}"
    texts = {"go.sub": go, "one.sh": "python one.py\n", "all.sh": "python t.py\n"}
    found = convert(classified(texts), Options({}))
    assert "all.sh" in str(loaded(found.job)["command"])
    (its,) = [each for each in found.findings if each.kind == "unread" and each.places[0].file == "one.sh"]
    assert "nothing of the job starts it" in its.todo


def test_a_program_that_the_script_of_the_ranks_starts_is_said_to_be_started() -> None:
    go = "#!/bin/bash\n#SBATCH -n 1 --gres=gpu:2 -t 5\necho 'one.py in all.sh'\nsrun --mpi=none ./all.sh\n"
    texts = {"go.sub": go, "one.py": "import torch\n", "all.sh": "ulimit -l unlimited\npython one.py\n"}
    found = convert(classified(texts), Options({}))
    (its,) = [each for each in found.findings if each.kind == "unread" and each.places[0].file == "one.py"]
    assert "the job's command starts it" in its.todo


@pytest.mark.parametrize(
    "lines",
    [
        'SETUP="$ROOT/etc/setup.sh"\nsource "$SETUP"',
        "export SETUP=$(git rev-parse --show-toplevel)/setup.sh\n. ${SETUP}",
        "SETUP=setup.sh\n[ -f $SETUP ] && source $SETUP",
        "readonly SETUP=setup.sh\nsource ./${SETUP} -q",
        "declare -r SETUP='setup.sh'\n. $SETUP",
    ],
)
def test_a_file_that_is_sourced_by_a_variable_is_read_there(lines: str) -> None:
    run = f"#!/bin/bash\n#SBATCH -N 2\n{lines}\nsrun -n 8 python t.py\n"
    files = classified({"run.sub": run, "setup.sh": "export NCCL_DEBUG=INFO\n"})
    assert [each.role for each in files] == ["shell", "shell"]
    found = convert(files, Options({}))
    assert "NCCL_DEBUG: INFO" in found.job
    assert not any("not given" in each.why for each in found.findings)


@pytest.mark.parametrize("other", ["", "#!/bin/bash\nsrun --mpi=none $PART\n"])
def test_a_script_that_sources_the_launcher_is_not_taken_for_one_of_its_ranks(other: str) -> None:
    ways = "begin() { cat > job.sub <<E\n#SBATCH -N 2\nE\n}\n"
    run = '#!/bin/bash\nHERE=$(dirname "$0")\nsource "$HERE/lib/ways.sh"\nbegin\npython plot.py\n'
    texts = {"ways.sh": ways, "run.sh": run, **({"other.sub": other} if other else {})}
    roles = {each.name: each.role for each in classified(texts)}
    assert roles["run.sh"] == ("rank script" if other else "shell")
