"""${SLURM_X:-default} of what Slurm tells only where sbatch was asked for it: as bash, run for real in a job
with no more than the script asks for, has it."""

import subprocess

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=8 -t 60\n"


@pytest.mark.parametrize(
    ("asked", "given", "lines"),
    [
        ("", {}, "A=${SLURM_CPUS_PER_TASK:-1}"),
        ("-c 4", {"SLURM_CPUS_PER_TASK": "4"}, "A=${SLURM_CPUS_PER_TASK:-1}"),
        ("", {}, "export A=${SLURM_CPUS_PER_TASK-1}${SLURM_RESTART_COUNT:-0}"),
        ("", {}, "A=${SLURM_GPUS_PER_TASK:-1}/${SLURM_MEM_PER_NODE:-4}"),
        ("", {}, '[ -z "$SLURM_CPUS_PER_TASK" ] && SLURM_CPUS_PER_TASK=6\nA=$SLURM_CPUS_PER_TASK'),
        ("", {}, 'if [ -n "$SLURM_CPUS_PER_TASK" ]; then A=$SLURM_CPUS_PER_TASK; else A=1; fi'),
        ("", {}, "if [[ -v SLURM_HINT ]]; then A=hint; else A=none; fi"),
        ("", {"SLURM_GPUS_PER_NODE": "8"}, "A=${SLURM_GPUS_PER_NODE:-3}"),
        ("", {}, "A=${SLURM_CPUS_PER_TASK:+set}"),
        ("--ntasks-per-node=8", {"SLURM_NTASKS_PER_NODE": "8"}, "A=${SLURM_NTASKS_PER_NODE:-3}"),
    ],
)
def test_a_default_counts_where_nobody_asks_slurm_for_more(
    asked: str, given: dict[str, str], lines: str
) -> None:
    own = f"#SBATCH {asked}\n" if asked else ""
    text = f"{_HEAD}{own}{lines}\nsrun --mpi=none -n16 ./t x$A\n"
    script = text.replace("srun --mpi=none -n16 ./t", "echo")
    done = subprocess.run(
        ["bash", "-c", script], env=given, capture_output=True, text=True, timeout=60, check=True
    )
    assert script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)["command"] == [
        "./t",
        done.stdout.strip(),
    ]


@pytest.mark.parametrize("asks", ["sbatch --mem=4G run.sub", "sbatch \\\n --mem 4G run.sub"])
def test_what_another_line_asks_for_is_not_taken_for_unset(asks: str) -> None:
    files = {"run.sub": f"{_HEAD}srun --mpi=none -n16 ./t ${{SLURM_MEM_PER_NODE:-2}}\n", "go.sh": f"{asks}\n"}
    job = script_cases.loaded(convert(classified(files), Options({})).job)
    assert "2" not in str(job["command"])


def test_it_is_said_that_the_default_counts() -> None:
    text = f"{_HEAD}export OMP_NUM_THREADS=${{SLURM_CPUS_PER_TASK:-1}}\nsrun --mpi=none -n16 ./t\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert script_cases.loaded(found.job)["env"] == {"OMP_NUM_THREADS": "1"}
    (told,) = (each for each in found.findings if each.what == "SLURM_CPUS_PER_TASK")
    assert (told.kind, told.became) == ("assumed", "its default: 1")


@pytest.mark.parametrize(
    "lines",
    [
        'echo "$A" > log\nsrun --mpi=none ./t ${A:-none}',
        "export G=$A\nsrun --mpi=none ./t ${A:-none}",
        "echo $A > log\nA=${A:-4}\nsrun --mpi=none ./t $A",
        "echo ${A} > log; : ${A:=5}; srun --mpi=none ./t $A",
    ],
)
def test_a_default_counts_of_a_name_that_was_read_before(lines: str) -> None:
    means = subprocess.run(
        ["bash", "-c", lines.replace("srun --mpi=none ./t", "echo").replace(" > log", " > /dev/null")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={},
    )
    command = script_cases.loaded(convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({})).job)[
        "command"
    ]
    assert (command[-1] if isinstance(command, list) else command.split()[-1]) == means.stdout.strip()


@pytest.mark.parametrize(("gpus", "why"), [("2", "Slurm sets it"), ("0", "nobody gave it")])
def test_the_gpus_that_slurm_gives_a_job_are_not_said_to_be_given_by_nobody(gpus: str, why: str) -> None:
    lines = 'echo "on ${CUDA_VISIBLE_DEVICES:-none}"\npython fit.py --name "${NAME:-a}"\n'
    text = f"#!/bin/bash\n#SBATCH -N 1 -t 5 --gpus-per-node={gpus}\n{lines}"
    found = convert(classified({"run.sub": text}), Options({}))
    its = {each.what: each.why for each in found.findings if each.kind == "assumed"}
    assert (why in its["CUDA_VISIBLE_DEVICES"], its["NAME"]) == (True, "nobody gave it")


@pytest.mark.parametrize(("asked", "is_said"), [("--gres=gpu:2", True), ("--gpus=2", False)])
def test_a_script_that_ends_without_what_slurm_sets_by_an_option_is_read_as_one_that_has_it(
    asked: str, is_said: bool
) -> None:
    guard = 'if [ -z "$SLURM_GPUS" ]; then\n  echo "no GPU"\n  exit 0\nfi\n'
    text = f"#!/bin/bash\n#SBATCH -N 1 -t 60 {asked}\n{guard}torchrun --nproc_per_node=$SLURM_GPUS t.py\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert script_cases.loaded(found.job)["command"][-1] == "t.py"
    asks = [each.why for each in found.findings if each.key == "ranks_per_node" and each.kind == "question"]
    said = [each for each in asks if "Slurm sets SLURM_GPUS where --gpus is asked for" in each]
    assert bool(said) is is_said
