"""A launcher's command in a variable, which the ranks' own shell reads: srun bash -c '$LAUNCHER train.py'."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
{before}
srun bash -c {text}
"""
_FIRST = "FIRST=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\n"


def _converted(before: str, text: str) -> dict[str, Any]:
    script = _SCRIPT.format(before=before, text=shlex.quote(text))
    job: dict[str, Any] = script_cases.loaded(convert(classified({"run.sub": script}), Options({})).job)
    return job


@pytest.mark.parametrize(
    ("before", "text", "said"),
    [
        (
            _FIRST + 'export LAUNCHER="start --nnodes 2 --master_addr $FIRST --port 6000"',
            "$LAUNCHER --node_rank $SLURM_PROCID t.py",
            "--nnodes 2 --master_addr first-node --port 6000 --node_rank 1 t.py",
        ),
        (
            _FIRST + 'export LAUNCHER="start --rdzv_endpoint=$FIRST:29500"\nexport CMD="t.py -x"',
            "${LAUNCHER} $CMD",
            "--rdzv_endpoint=first-node:29500 t.py -x",
        ),
    ],
)
def test_the_first_node_in_a_variable_is_that_of_the_job(
    before: str, text: str, said: str, tmp_path: Path
) -> None:
    job = _converted(before, text)
    assert job["rendezvous"] == "torch"
    start = tmp_path / "start"
    start.write_text('#!/bin/sh\necho "$@"\n')
    start.chmod(0o755)
    own = {"MASTER_ADDR": "first-node", "SLURM_PROCID": "1", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    run = ["/bin/sh", "-c", job["command"]]
    done = subprocess.run(run, env={**own, **job.get("env", {})}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == said.split()


@pytest.mark.parametrize(
    ("text", "asked"),
    [("$LAUNCHER t.py", True), ("exec ${LAUNCHER} t.py", True), ("$LAUNCHERS t.py", False), ("./t", False)],
)
def test_a_value_that_the_script_makes_is_asked_for_where_the_command_names_it(
    text: str, asked: bool
) -> None:
    job = _converted('export LAUNCHER="start $(./options)"', text)
    assert (job.get("env", {}).get("LAUNCHER") == script_cases.ASK) == asked


@pytest.mark.parametrize("body", ["echo a \\\n&& echo $DATA/b", "\n  echo $DATA; echo c\n", "echo $DATA"])
def test_a_text_that_read_takes_whole_is_the_command_also_where_a_part_is_not_told(
    body: str, tmp_path: Path
) -> None:
    before = f"read -r -d '' cmd <<EOF\n{body}\nEOF"
    script = tmp_path / "run.sub"
    script.write_text(f'#!/bin/bash\n#SBATCH -N 1\n{before}\nsrun bash -c "$cmd"\n')
    found = convert(classified({"run.sub": script.read_text()}), Options({}))
    job: dict[str, Any] = script_cases.loaded(found.job)
    assert job["inherit"] == ["DATA"]
    own = {"DATA": "/d", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\nexec "$@"\n')
    srun.chmod(0o755)
    of_job, of_script = (
        subprocess.run(run, env=own, capture_output=True, text=True, check=True).stdout
        for run in (["/bin/sh", "-c", job["command"]], ["bash", str(script)])
    )
    assert of_job == of_script != ""


@pytest.mark.parametrize(
    ("run", "command"),
    [
        ('srun ./t -x "$@"', ["./t", "-x"]),
        ("srun ./t $*", ["./t"]),
        ('srun torchrun --nproc_per_node 2 t.py "$@"', ["python", "-u", "t.py"]),
        ('srun "$@"', script_cases.ASK),
        ('srun ./t "$1" "$@"', script_cases.ASK),
        ('DATA=$1\nshift\nsrun ./t "$@"', script_cases.ASK),
    ],
)
def test_arguments_that_nobody_gave_are_none_where_the_script_does_without(run: str, command: Any) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1\n#SBATCH --gpus-per-node=2\n{run}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    job: dict[str, Any] = script_cases.loaded(found.job)
    assert job["command"] == command
    said = [each for each in found.findings if each.kind == "assumed" and "$@" in each.what]
    assert bool(said) == (command != script_cases.ASK)


def test_what_the_command_was_to_set_is_not_carried_where_the_command_is_asked_for() -> None:
    text = "#!/bin/bash\n#SBATCH -N 1\nexport A=$HOME/a\nsrun ./t{}\n"
    kinds = {}
    for ending in ("", " *.[cd]at"):
        found = convert(classified({"run.sub": text.format(ending)}), Options({}))
        kinds[ending] = [each.kind for each in found.findings if each.what == "A"]
    assert kinds == {"": ["carried"], " *.[cd]at": ["left"]}


@pytest.mark.parametrize(
    ("run", "nodes"),
    [
        ("mpirun -np 16 -hostfile $HOSTS ./t", script_cases.ASK),
        ("mpirun -np 16 -npernode 8 -hostfile $HOSTS ./t", "2"),
        ("mpirun -np 16 --map-by ppr:2:node --machinefile hosts.txt ./t", "8"),
        ("mpirun -np 16 -npernode 8 -H a,b ./t", "2"),
        ("mpirun -np 2 ./t", None),
    ],
)
def test_hosts_in_a_file_that_is_not_given_are_asked_for(run: str, nodes: str | None) -> None:
    found = convert(classified({"run.sh": f"#!/bin/bash\n{run}\n"}), Options({}))
    told: Any = script_cases.loaded(found.job).get("nodes")
    assert (None if told is None else str(told)) == nodes


_ASKS = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=2 --gpus-per-node=4 -t 30\n"


def test_ranks_asked_of_sbatch_are_the_job_s_where_nothing_that_is_known_starts_them() -> None:
    found = convert(classified({"run.sh": _ASKS + "upcxx-run -n 4 ./namd3 x\n"}), Options({}))
    job = script_cases.loaded(found.job)
    assert (job["ranks_per_node"], job["command"]) == ("2", script_cases.ASK)
    text = _ASKS.replace("--ntasks-per-node=2 ", "") + "upcxx-run -n 4 ./namd3 x\n"
    job = script_cases.loaded(convert(classified({"run.sh": text}), Options({})).job)
    assert job["ranks_per_node"] == script_cases.ASK


def test_a_script_that_puts_its_job_back_is_told_of_chain_and_gets_no_signal_that_would_end_it() -> None:
    """A job's script awaits TERM, and would end by USR1."""
    text = (
        f"{_ASKS}#SBATCH --signal=B:%s@300\n"
        "trap 'scontrol requeue $SLURM_JOB_ID' USR1\n"
        "[ -f done ] || sbatch --dependency=afterany:$SLURM_JOB_ID $0\n"
        "srun --mpi=none ./t\n"
    )
    for name, passed_on in (("USR1", []), ("TERM", ["--signal=B:TERM@300"])):
        found = convert(classified({"run.sh": text % name}), Options({}, site="here"))
        job = script_cases.loaded(found.job)
        assert job.get("sites", {}).get("here", {}).get("sbatch", []) == passed_on
        advised = [each.todo for each in found.findings if "requeue" in each.what or "afterany" in each.what]
        assert len(advised) == 2
        assert all("chain" in todo for todo in advised)
        assert not [each for each in found.findings if each.kind == "unread"]


@pytest.mark.parametrize(("ending", "lost"), [("", 1), ("exit ${PIPESTATUS[0]}\n", 0)])
def test_the_status_of_a_pipe_is_not_lost_where_the_script_looks_at_it(ending: str, lost: int) -> None:
    text = f"{_ASKS}srun --mpi=none ./t | tee log\n{ending}"
    found = convert(classified({"run.sh": text}), Options({}))
    assert sum("pipefail" in each.why for each in found.findings if each.kind == "defect") == lost


def test_what_a_refused_launcher_mounts_and_sets_is_told_though_nobody_is_asked() -> None:
    text = (
        f"{_ASKS}export APPTAINER_BIND=/fast:/fast SINGULARITYENV_MODE=LEARN APPTAINERENV_HF_TOKEN=Hunter2\n"
        "srun apptainer exec --nv -B $SCRATCH:/scr docker://a/b:1 ./t\n"
    )
    found = convert(classified({"run.sh": text}), Options({}))
    assert found.refused
    told = {each.key: each.became for each in found.findings if each.kind == "carried"}
    assert "mounts.1: /fast:/fast" in told.values()
    assert told["env.MODE"] == "env.MODE: LEARN"
    assert told["secrets.0"] == "secrets.0: HF_TOKEN"
    assert "Hunter2" not in repr(found)
    assert [each.why for each in found.findings if "SCRATCH" in each.what] == [
        "SRC:DST for ${SCRATCH}:/scr, and SCRATCH is not told"
    ]
    assert not [each for each in found.findings if each.kind == "question"]


@pytest.mark.parametrize(("tasks", "ranks", "asked"), [(1, "4", 0), (4, "16", 1)])
def test_a_launcher_that_srun_starts_several_times_on_a_node_is_named(
    tasks: int, ranks: str, asked: int
) -> None:
    ask = _ASKS.replace("per-node=2", f"per-node={tasks}")
    found = convert(
        classified({"run.sh": f"{ask}srun --mpi=none torchrun --nproc_per_node=4 t.py\n"}), Options({})
    )
    assert script_cases.loaded(found.job)["ranks_per_node"] == ranks
    told = [each.todo for each in found.findings if each.kind == "question"]
    assert sum("ranks_per_node: 4" in todo for todo in told) == asked


def test_the_words_of_an_array_that_nobody_gave_are_none_and_not_an_empty_one() -> None:
    text = f'{_ASKS}srun --mpi=none python t.py "${{MORE[@]}}" last\n'
    job = script_cases.loaded(convert(classified({"run.sh": text}), Options({})).job)
    assert job["inherit"] == ["MORE"]
    shown = job["command"].replace("exec python t.py", "printf '<%s>'")
    for given, words in (({}, "<last>"), ({"MORE": "a b"}, "<a b><last>")):
        done = subprocess.run(["sh", "-c", shown], env=given, capture_output=True, text=True, check=True)
        assert done.stdout == words


def test_a_command_that_is_asked_for_is_not_to_be_written_in_front_of_itself() -> None:
    found = convert(classified({"run.sh": f"{_ASKS}mpirun -np 1 ./a : -np 4 ./b\n"}), Options({}))
    assert script_cases.loaded(found.job)["command"] == script_cases.ASK
    assert not [each for each in found.findings if "in front of the command" in each.todo]


_OF_LINE = 'export LAUNCHER="python -u t.py"\nexport ARGS=" --lr 0.1 \\\n  --tp $TP"\n'


@pytest.mark.parametrize(
    "run",
    ["srun $LAUNCHER $ARGS", 'srun bash -c "$LAUNCHER --rank 1 $ARGS"', 'CMD="$LAUNCHER $ARGS"\nsrun $CMD'],
)
def test_what_the_line_of_the_run_is_made_of_is_not_exported_to_it(run: str) -> None:
    script = _SCRIPT.format(before=_OF_LINE, text="")
    found = convert(classified({"run.sub": script.rpartition("srun")[0] + run}), Options({}))
    job = script_cases.loaded(found.job)
    assert "env" not in job
    assert job["command"].startswith(("exec python -u t.py", "exec bash -c 'python -u t.py"))
    assumed = {each.what: each.places[0].line for each in found.findings if "makes the line" in each.why}
    assert assumed == {"LAUNCHER": 4, "ARGS": 5}


@pytest.mark.parametrize(
    ("before", "run"),
    [
        ('export ARGS="--lr 0.1"', "srun ./run.sh $ARGS"),  # which may read it
        ('export ARGS="--lr 0.1"', "srun bash run.sh $ARGS"),
        ('export ARGS="--lr 0.1"', 'srun bash -c "python t.py $ARGS; ./end.sh"'),
        ('export ARGS="--lr 0.1"', 'srun bash -c "echo \\$ARGS; python t.py $ARGS"'),
        ('export ARGS="--lr 0.1"', "srun bash -c 'echo $ARGS'\nsrun --mpi=pmix python t.py $ARGS"),
        ('export ARGS="--lr 0.1"', "srun python t.py --lr 0.1"),  # by chance
        ("export ARGS=bert", "srun python t.py $ARGS"),  # a variable that a program may well read
        ('export ARGS="--lr 0.1"', "srun ./$RUNNER $ARGS"),
    ],
)
def test_what_ranks_may_read_is_exported_to_them(before: str, run: str) -> None:
    script = _SCRIPT.format(before=before, text="").rpartition("srun")[0] + run
    job = script_cases.loaded(convert(classified({"run.sub": script}), Options({})).job)
    assert "ARGS" in job["env"]


def test_a_text_with_a_number_of_an_array_that_may_have_none_is_the_shell_s_own(tmp_path: Path) -> None:
    job = _converted("", "torchrun --nproc_per_node=4 t.py --fold ${SLURM_ARRAY_TASK_ID:-all}")
    show = tmp_path / "torchrun"
    show.write_text('#!/bin/sh\nprintf "%s " "$@"\n')
    show.chmod(0o755)
    run = subprocess.run(
        job["command"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert run.stdout == "--nproc_per_node=4 t.py --fold all "


@pytest.mark.parametrize(
    ("line", "is_said"),
    [
        ("srun torchrun --nnodes=2 --nproc_per_node=8 t.py --world $WORLD_SIZE", True),
        ('srun bash -c "torchrun --nnodes=2 --nproc_per_node=8 t.py --world $WORLD_SIZE"', True),
        ("srun bash -c 'torchrun --nnodes=2 --nproc_per_node=8 t.py --world $WORLD_SIZE'", False),
        ("WORLD_SIZE=16\nsrun torchrun --nnodes=2 --nproc_per_node=8 t.py --world $WORLD_SIZE", False),
    ],
)
def test_a_number_of_the_ranks_that_the_scripts_own_shell_never_had_is_said(
    line: str, *, is_said: bool
) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gres=gpu:8 -t 60\n{line}\n"
    found = convert(classified({"run.sub": text}), Options({})).findings
    said = [each.what for each in found if each.became == "that of each rank"]
    assert said == ["WORLD_SIZE in the command"] * is_said
