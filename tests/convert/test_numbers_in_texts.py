"""Variables that Slurm sets by an option of sbatch, which a job does not give it, in the ranks' text."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=2 -t 5\n"
_WHERE_GIVEN = (
    "where the operator gave -c convert again with --env SLURM_CPUS_PER_TASK=VALUE, "
    "or write the value in the command"
)
_WRITE = "write {} for it in the command, or under env.{}"


def _told(lines: str) -> dict[str, str]:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({})).findings
    left = [each for each in found if each.kind == "left" and each.what.endswith(" in the command")]
    return {each.what.split()[0]: each.todo for each in left}


@pytest.mark.parametrize(
    ("lines", "todo"),
    [
        ("srun --mpi=none ./t $SLURM_CPUS_PER_TASK", _WHERE_GIVEN),
        ("export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nsrun --mpi=none ./t", _WHERE_GIVEN),
        ("export HALF=$((SLURM_CPUS_PER_TASK / 2))\nsrun --mpi=none ./t", _WHERE_GIVEN),
        (
            "#SBATCH -c 6\nsrun --mpi=none bash -c './t $SLURM_CPUS_PER_TASK'",
            _WRITE.format("6", "SLURM_CPUS_PER_TASK"),
        ),
    ],
)
def test_a_number_that_ranks_do_not_have_is_told(lines: str, todo: str) -> None:
    assert _told(lines) == {"$SLURM_CPUS_PER_TASK": todo}


def test_gpus_of_a_node_are_asked_for_in_another_way() -> None:
    told = _told("#SBATCH --gpus-per-node=4\nsrun --mpi=none sh -c 'exec ./t ${SLURM_GPUS_PER_NODE}'")
    assert told == {"$SLURM_GPUS_PER_NODE": _WRITE.format("4", "SLURM_GPUS_PER_NODE")}


@pytest.mark.parametrize(
    "lines",
    [
        "#SBATCH -c 6\nsrun --mpi=none ./t $SLURM_CPUS_PER_TASK",
        "export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-4}\nsrun --mpi=none ./t",
        "srun --mpi=none sh -c './t $SLURM_NTASKS $SLURM_NTASKS_PER_NODE $SLURM_GPUS_ON_NODE'",
        "echo cores: $SLURM_CPUS_PER_TASK\nsrun --mpi=none ./t",
        "N=$(expr $SLURM_CPUS_PER_TASK / 2)\nsrun --mpi=none ./t $N",
    ],
)
def test_what_ranks_have_or_do_not_ask_for_is_not(lines: str) -> None:
    assert _told(lines) == {}


@pytest.mark.parametrize("name", ["SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE"])
def test_cores_that_are_counted_are_others_where_the_job_does_not_take_the_node(name: str) -> None:
    lines = f"export THREADS=$(({name} / 2))\nsrun --mpi=none ./t"
    todo = "write the number that it was in the command"
    assert _told(lines.replace(name, f"${{{name}}}")) == {f"${name}": todo}
    assert _told(f"#SBATCH --exclusive\nsrun --mpi=none ./t ${name}") == {}


def test_tasks_of_a_node_are_ranks_unless_torchrun_started_them() -> None:
    of_torch = "torchrun --nnodes 2 --nproc_per_node 4 --rdzv_backend c10d --rdzv_endpoint $(hostname):1"
    lines = "export TASKS=$SLURM_TASKS_PER_NODE\nsrun --mpi=none {} ./t.py"
    assert _told(lines.format("")) == {}
    assert _told(f"#SBATCH --ntasks-per-node=1\n{lines.format(of_torch)}").keys() == {"$SLURM_TASKS_PER_NODE"}


def test_what_srun_sets_is_nothing_where_the_script_reads_it() -> None:
    lines = "export HEAD=$SLURM_LAUNCH_NODE_IPADDR\nsrun --mpi=none {}"
    nothing = "take it out of the command where nothing was right"
    assert _told(lines.format("./t")) == {"$SLURM_LAUNCH_NODE_IPADDR": nothing}
    assert _told("srun --mpi=none sh -c './t $SLURM_LAUNCH_NODE_IPADDR'") == {}


def test_memory_that_was_asked_for_is_named_as_it_was() -> None:
    told = _told("#SBATCH --mem=20G\nsrun --mpi=none ./t $SLURM_MEM_PER_NODE")
    todo = "write what --mem=20G made of it in the command, or under env.SLURM_MEM_PER_NODE"
    assert told == {"$SLURM_MEM_PER_NODE": todo}


@pytest.mark.parametrize(
    "line",
    [
        "export OUT=runs/$SLURM_JOB_NAME\nsrun --mpi=none ./t",
        "srun --mpi=none sh -c './t $SLURM_JOB_NAME'",
    ],
)
def test_a_name_that_the_job_has_not_is_told(line: str) -> None:
    todo = "give the job that name, or write it in the command, where the program is to have it"
    assert _told(line) == {"$SLURM_JOB_NAME": todo}
    assert _told(f"#SBATCH -J bread\n{line}") == {}
    assert _told(f"#SBATCH -J 'rye bread'\n{line}") == {"$SLURM_JOB_NAME": todo}


_SIZES = "#SBATCH --gpus-per-task=2 -c 6\n"


def _of_script(script: str, sizes: str = _SIZES) -> dict[str, tuple[str, str]]:
    launcher = f"{_HEAD}{sizes}srun --mpi=none bash bake.sh\n"
    given = classified({"run.sub": launcher, "bake.sh": f"#!/bin/bash\n{script}\n"})
    found = convert(given, Options({})).findings
    its = [each for each in found if each.what.endswith(" in a script of the ranks")]
    return {each.what.split()[0]: (str(each.places[0]), each.todo) for each in its}


def test_a_number_that_a_script_of_the_ranks_reads_is_told_with_its_line() -> None:
    told = _of_script("echo $SLURM_PROCID\n./bake --ovens $(($SLURM_NNODES * $SLURM_GPUS_PER_TASK))")
    todo = "write env.SLURM_GPUS_PER_TASK: 2 in the job file, or the number in that script"
    assert told == {"$SLURM_GPUS_PER_TASK": ("bake.sh:3", todo)}
    assert _of_script("./bake ${SLURM_CPUS_PER_TASK:-1}").keys() == {"$SLURM_CPUS_PER_TASK"}
    assert _of_script("./bake -j $SLURM_CPUS_ON_NODE").keys() == {"$SLURM_CPUS_ON_NODE"}


@pytest.mark.parametrize(
    ("script", "sizes"),
    [
        ("./bake $SLURM_CPUS_PER_TASK", ""),
        ("# $SLURM_CPUS_PER_TASK trays\n./bake", _SIZES),
        ("SLURM_CPUS_PER_TASK=3\n./bake $SLURM_CPUS_PER_TASK", _SIZES),
        ("./bake $SLURM_NTASKS $SLURM_LOCALID", _SIZES),
    ],
)
def test_a_number_that_such_a_script_does_not_lose_is_not(script: str, sizes: str) -> None:
    assert _of_script(script, sizes) == {}
