"""Facts that a script tells in its own way, or not at all: neither a default nor silence stands for them."""

from typing import Any

import pytest
import script_cases
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.report.conversion import markdown, text
from hpclaunch.values.conversion import Conversion

_WHOLE = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_IN_IMAGE = "srun --mpi=pmix --container-image=r.io/x:1 ./t"


def _of(options: str, lines: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": f"#!/bin/bash\n#SBATCH {options}\n{lines}\n"}), Options({}))
    return script_cases.loaded(found.job), found


@pytest.mark.parametrize(
    "count",
    [
        "nvidia-smi -L | wc -l",
        "nvidia-smi --list-gpus | wc -l",
        "nvidia-smi --query-gpu=name --format=csv,noheader | wc -l",
    ],
)
def test_the_gpus_that_a_script_counts_are_those_of_the_job(count: str) -> None:
    lines = f"G=$({count})\nexport OMP_NUM_THREADS=$G\ntorchrun --nproc_per_node=$G t.py --accu $((64 / G))"
    job, _ = _of("-N 1 --gres=gpu:8", lines)
    assert (job["ranks_per_node"], job["env"]["OMP_NUM_THREADS"]) == ("8", "8")
    assert job["command"][-1] == "8"


@pytest.mark.parametrize(
    "count",
    [
        "nvidia-smi -L | wc -l",
        "nvidia-smi -L | wc --lines",
        "nvidia-smi  --list-gpus|wc -l",
        "nvidia-smi --query-gpu=name  --format=csv,noheader | wc -l",
    ],
)
def test_where_a_script_counts_gpus_that_no_line_tells_those_alone_are_asked_for(count: str) -> None:
    job, _ = _of("-N 2 -t 30", f"torchrun --nproc_per_node=$({count}) t.py")
    assert job["gpus_per_node"] == "ASK"
    assert "ranks_per_node" not in job


def test_threads_that_a_script_sets_are_not_those_of_the_launcher() -> None:
    job, found = _of("-N 1 --gres=gpu:8", "export OMP_NUM_THREADS=$(nproc)\ntorchrun --nproc_per_node=8 t.py")
    assert "OMP_NUM_THREADS" not in job.get("env", {})
    assert any("OMP_NUM_THREADS" in each.what for each in found.findings if each.kind == "left")


@pytest.mark.parametrize(
    ("options", "bind"),
    [
        ("--membind=0-3", {"memory": "none"}),
        ("-m 0", {"memory": "none"}),
        ("--localalloc", {"memory": "none"}),
        ("--physcpubind=0-3 --membind=0", {"cpus": "none", "memory": "none"}),
        ("-N 0", {"cpus": "none", "memory": "none"}),
    ],
)
def test_numactl_in_a_text_that_chooses_memory_leaves_the_cores_to_srun(
    options: str, bind: dict[str, str]
) -> None:
    lines = f'srun --mpi=none bash -c "RANK=\\$SLURM_PROCID numactl {options} python t.py"'
    job, _ = _of("-N 2 --ntasks-per-node=4 --gpus-per-node=4", lines)
    assert job["bind"] == bind


def test_a_command_of_which_an_argument_is_not_told_is_told_itself() -> None:
    lines = 'evaluate "model=$1" ${2:+--prompt "$2"}\npython upload.py'
    _, found = _of("-N 1 -n 1 --gres=gpu:8", lines)
    (said,) = [each for each in found.findings if each.places[0].line == 3 and each.kind == "left"]
    assert said.what.startswith("evaluate")


@pytest.mark.parametrize(("options", "asked"), [("-N 2 -n 2", True), ("-N 2 -n 2 --exclusive", False)])
def test_gpus_are_asked_for_where_nothing_is_known_to_start_ranks(options: str, asked: bool) -> None:
    job, found = _of(options, "source env.sh\neval $CMD")
    assert (job.get("gpus_per_node") == script_cases.ASK) is asked
    assert any("GPUs" in each.what or "GPUs" in each.became for each in found.findings)


@pytest.mark.parametrize("start", ["apptainer exec --nv x.sif", "shifter --image=a/b:1"])
def test_what_a_refused_launcher_does_not_tell_is_said(start: str) -> None:
    lines = f"srun {start} python t.py $1"
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4\n{lines}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    said = " ".join(each.why for each in found.findings if each.kind == "left")
    for missing in ("what each rank executes", "how many GPUs on each node", "pmix, pmi2 or none"):
        assert missing in said
    assert not [each for each in found.findings if each.kind == "question"]


@pytest.mark.parametrize(
    ("line", "command", "left"),
    [
        ("nice -n 5 srun --mpi=pmix nice -n 3 ./app", ["nice", "-n", "3", "./app"], {"nice -n 5"}),
        ("nice -n 5 mpirun -x A=1 nice -n 3 ./app", ["nice", "-n", "3", "./app"], {"nice -n 5"}),
        ("srun --mpi=pmix nice -n 3 nice -n 4 ./app", ["nice", "-n", "3", "nice", "-n", "4", "./app"], set()),
        ("ionice -c 3 srun --mpi=pmix ./app", ["./app"], {"ionice -c 3"}),
        ("timeout 3h srun --mpi=pmix timeout 2h ./app", ["timeout", "2h", "./app"], {"timeout 3h"}),
    ],
)
def test_what_stands_in_front_of_srun_is_told_and_what_stands_behind_it_is_the_ranks(
    line: str, command: list[str], left: set[str]
) -> None:
    job, found = _of("-N 2 --ntasks-per-node=4 --gpus-per-node=4", line)
    assert job["command"] == command
    assert left == {each.what for each in found.findings if each.kind == "left"}


@pytest.mark.parametrize("start", ["srun --mpi=pmix ", ""])
@pytest.mark.parametrize(
    ("before", "options", "folder"),
    [
        ("", "", "the folder from which the script is submitted"),
        ("cd /data/run\n", "", "/data/run"),
        ("cd /data/run\n", "--pwd /w", None),
        ("cd /data/run\n", "--contain", None),
    ],
)
def test_the_folder_in_which_singularity_starts_a_command_is_told(
    start: str, before: str, options: str, folder: str | None
) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1\n{before}{start}singularity exec --nv {options} x.sif python t.py\n"
    found = convert(classified({"run.sub": text}), Options({}))
    told = [each.what for each in found.findings if each.what.startswith("the working folder")]
    assert told == ([f"the working folder: {folder}"] if folder else [])


@pytest.mark.parametrize(
    ("head", "folder"),
    [
        ("#PBS -l nodes=1\n", "the home of who submits the script, where no option names another"),
        ("#PBS -l nodes=1\ncd $PBS_O_WORKDIR\n", "the folder from which the script is submitted"),
        ("#BSUB -n 1\n", "the folder from which the script is submitted"),
    ],
)
def test_a_script_that_begins_in_the_home_has_singularity_start_there(head: str, folder: str) -> None:
    text = f"#!/bin/bash\n{head}singularity exec x.sif python t.py\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert f"the working folder: {folder}" in [each.what for each in found.findings]


def test_words_of_a_file_are_no_variable_of_one_word() -> None:
    lines = 'mapfile -t ARGS < args.txt\nsrun --mpi=pmix ./app "${ARGS[@]}"'
    job, found = _of("-N 1 --ntasks-per-node=4 --gres=gpu:4", lines)
    assert {each.key for each in found.findings if each.kind == "question" and each.key} == {"command"}
    assert "ARGS" not in job.get("env", {})


@pytest.mark.parametrize(
    ("value", "command"),
    [
        ("/a:${LD_LIBRARY_PATH:-}", 'export LD_LIBRARY_PATH=/a:"$LD_LIBRARY_PATH"; exec ./app'),
        (
            "/a${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
            'export LD_LIBRARY_PATH=/a:"$LD_LIBRARY_PATH"; exec ./app',
        ),
        ("/a:${LD_LIBRARY_PATH:-/bar}", ["./app"]),
    ],
)
def test_a_list_of_modules_goes_on_with_what_a_rank_has(value: str, command: Any) -> None:
    lines = f"export LD_LIBRARY_PATH={value}\nsrun --mpi=pmix ./app"
    job, _ = _of("-N 1 --ntasks-per-node=4 --gres=gpu:4", lines)
    assert job["command"] == command
    assert job.get("env", {}) == ({} if isinstance(command, str) else {"LD_LIBRARY_PATH": "/a:/bar"})


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ('A=1\nsrun --mpi=pmix bash -c "./app \\$A"', {"$A"}),
        ('A=1\nexport A\nsrun --mpi=pmix bash -c "./app \\$A"', set()),
        ('A=1\nsrun --mpi=pmix bash -c "./app $A"', set()),
        ('A=1\nA=$A srun --mpi=pmix bash -c "./app \\$A"', set()),
        ('A=1\nsrun --mpi=pmix bash -c "for A in 1 2; do ./app \\$A; done"', set()),
        ('set -a\nA=1\nsrun --mpi=pmix bash -c "./app \\$A"', set()),
    ],
)
def test_a_variable_that_only_the_scripts_own_shell_has_is_a_defect_of_the_ranks_text(
    lines: str, names: set[str]
) -> None:
    _, found = _of("-N 1 --ntasks-per-node=4 --gres=gpu:4", lines)
    said = {each.what.split(" ")[0] for each in found.findings if "own shell" in each.what}
    assert said == names


@pytest.mark.parametrize(
    ("other", "said"),
    [("A=$(ls /y)", "$(ls /y)"), ("A=$B/x", "${B}/x"), (":", "not set"), ("A=two", "'two'")],
)
def test_a_question_names_both_ways_of_a_value(other: str, said: str) -> None:
    lines = f"if [ -e /x ]; then A=one; else {other}; fi\nsrun --mpi=pmix ./app $A"
    _, found = _of("-N 1 --ntasks-per-node=4 --gres=gpu:4", lines)
    (asked,) = (each.why for each in found.findings if each.key == "env.A")
    assert asked.startswith(f"A is 'one' or {said}, and which")


def test_what_is_made_of_a_variable_without_which_the_script_ends_has_it() -> None:
    lines = 'OUT="${OUT:-}"\nLOGS="${OUT}/logs"\n[[ -z "$OUT" ]] && exit 2\nsrun --mpi=none ./t $OUT $LOGS'
    job, _ = _of("-N 2 --ntasks-per-node=4 --gpus-per-node=4", lines)
    assert (job["command"], job["inherit"]) == ("exec ./t $OUT $OUT/logs", ["OUT"])


@pytest.mark.parametrize(("given", "is_asked"), [("$STAMP", False), ("$STAMP-x", True)])
def test_a_round_that_gives_a_variable_its_own_value_changes_nothing(given: str, is_asked: bool) -> None:
    run = 'srun --mpi=none ./t --at "$STAMP"'
    lines = f"STAMP=$(date)\nfor i in 1 2 3; do\n  export STAMP={given}\n  {run}\ndone"
    _, found = _of("-N 2 --ntasks-per-node=4 --gpus-per-node=4", lines)
    said = [each for each in found.findings if "another one in later rounds" in each.why]
    assert bool(said) == is_asked


def test_a_folder_that_the_script_goes_to_is_no_part_to_add() -> None:
    _, found = _of("-N 2 --ntasks-per-node=4", "cd sub\nsrun --mpi=none --container-image=a/b:1 ./t")
    assert not [each for each in found.findings if each.kind == "left" and "cd sub" in each.what]


@pytest.mark.parametrize("limit", ["$L", "-k 10 $L", "$((L-60))", "$1", "$O 60", '"$L"', "60"])
def test_a_limit_that_is_not_told_hides_no_launcher(limit: str) -> None:
    lines = f"L=$(($(date +%s) - 180))\ntimeout {limit} srun --mpi=none ./model"
    job, _ = _of("-N 2 --ntasks-per-node=4 --gres=gpu:4", lines)
    assert (job["nodes"], job["ranks_per_node"], job["command"]) == ("2", "4", ["./model"])


@pytest.mark.parametrize(
    ("options", "start", "is_said"),
    [("-N 1", "mpirun ./t", False), ("-t 5", "mpirun ./t", True), ("-t 5", "mpirun -np 4 ./t", False)],
)
def test_ranks_that_mpirun_counts_itself_are_said_not_to_be_told(
    options: str, start: str, is_said: bool
) -> None:
    _, found = _of(options, start)
    assert is_said == any(each.what == "no line says how many ranks" for each in found.findings)


def test_a_whole_path_behind_another_is_no_folder() -> None:
    job, _ = _of("-N 1 -n 1 --gres=gpu:1", "W=../${SLURM_SUBMIT_DIR}\ncd ${W}\npython t.py")
    assert job.get("workdir") != ".."
    assert job["command"] == script_cases.ASK


def test_a_variable_of_the_script_itself_is_no_option_of_sbatch() -> None:
    job, _ = _of("-N 2 -n 4 -t 4", "WALLTIME=30\nexport DGXNNODES=4\nsrun --mpi=none ./t $WALLTIME")
    assert (job["nodes"], job["time"]) == ("2", "00:04:00")


@pytest.mark.parametrize(("tasks", "told"), [("-n 8", True), ("-n 2", False)])
def test_tasks_of_slurm_are_told_to_be_such_where_what_starts_ranks_is_not_known(
    tasks: str, told: bool
) -> None:
    job, found = _of(f"-N 2 {tasks} -t 60", "prog=$1\neval ./$prog $2\n")
    assert (job["ranks_per_node"], job["command"]) == ("4" if told else "1", script_cases.ASK)
    said = [each for each in found.findings if each.key == "ranks_per_node" and "another number" in each.why]
    assert bool(said) == told


@pytest.mark.parametrize("lines", ["", 'cmd="run-$X"\neval $cmd\n'])
def test_the_one_command_that_is_understood_is_told_to_be_that(lines: str) -> None:
    _, found = _of("-n 1 -t 60", f"modelica --steps 4\n{lines}")
    (assumed,) = [each.why for each in found.findings if each.became == "command"]
    assert ("that is understood" in assumed) == bool(lines)


@pytest.mark.parametrize(
    ("lines", "other"),
    [
        ("if command -v uv; then\n  exec uv run fit --fast\nfi\n", "exec uv run fit --fast (run.sub:4)"),
        ("case $(hostname) in\na*) fit_a --fast;;\nesac\n", "fit_a --fast (run.sub:4)"),
        ("test -d /data || report nothing\n", ""),
        ("if [ -d /old ]; then mv /old /new; fi\n", ""),
    ],
)
def test_what_a_condition_decides_on_may_be_the_run_beside_the_one_that_is_taken(
    lines: str, other: str
) -> None:
    job, found = _of("-n 1 -t 60", f"{lines}bin/fit --all\n")
    assert job["command"] == ["bin/fit", "--all"]
    (assumed,) = [each.why for each in found.findings if each.became == "command"]
    assert assumed.partition("a condition decides on: ")[2] == other


def _of_run(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return loaded(found.job), found


def test_a_limit_made_of_a_default_that_stands_behind_it_is_said_to_be() -> None:
    head = _WHOLE.replace(" -t 60", "")
    files = {
        "run.sub": f'{head}: "${{NEXP:=5}}"\nfor i in $(seq $NEXP); do {_IN_IMAGE}; done\n',
        "config.sh": "export DGXNNODES=2 WALLTIME=$(( NEXP * 8 + 10 ))\n",
    }
    for given, said in (({}, ["5"]), ({"NEXP": "5"}, [])):
        found = convert(classified(files), Options(given))
        assert loaded(found.job)["time"] == "00:50:00"
        own = (each for each in found.findings if each.what == "NEXP" and "before the script" in each.why)
        assert [each.became for each in own] == said


def test_what_is_said_of_carried_values_stands_in_the_texts_too() -> None:
    _, found = _of_run(f"{_WHOLE}export MASTER_ADDR=$(hostname)\nsrun --mpi=none ./t\n")
    (why,) = (each.why for each in found.findings if each.key == "rendezvous")
    assert " ".join(text(found).split()).count(why) == 1
    assert why in markdown(found).replace("\\", "")


def test_a_job_name_with_no_letter_for_a_job_is_said_where_the_name_is_the_scripts() -> None:
    job, found = _of("-N 1 -J 北风 --gres=gpu:1 -t 5", "python t.py")
    assert job["name"] == "run"
    own = next(each for each in found.findings if each.key == "name")
    assert "'北风' is no name" in own.why
    assert own.places[0].line == 2
