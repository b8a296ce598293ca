"""numactl and taskset in front of what starts the ranks: their processes are held by it, or it is said that
the job's are not."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEADS = ("#!/bin/bash\n", "#!/bin/bash\n#SBATCH -N 1 -n 2 -t 9\n")
_LAUNCHERS = (
    "torchrun --nproc_per_node 2 t.py",
    "python -m torch.distributed.run --nproc_per_node=2 t.py",
    "deepspeed --num_gpus 2 --no_local_rank t.py",
    "accelerate launch --num_processes 2 t.py",
)


def _converted(text: str) -> Conversion:
    return convert(classified({"go.sh": text}), Options({}))


@pytest.mark.parametrize("head", _HEADS)
@pytest.mark.parametrize("launcher", _LAUNCHERS)
def test_processes_of_a_launcher_that_is_bound_are_bound(head: str, launcher: str) -> None:
    job = loaded(_converted(f"{head}taskset -c 4-7 {launcher}\n").job)
    assert (job["ranks_per_node"], job["bind"]) == ("2", {"cpus": ["4-7", "4-7"], "memory": "none"})
    job = loaded(_converted(f"{head}numactl --interleave=all {launcher}\n").job)
    assert (job["command"], job["bind"]["memory"]) == (
        ["numactl", "--interleave=all", "python", "-u", "t.py"],
        "none",
    )


@pytest.mark.parametrize("around", ["docker run lab/t:1", "docker run lab/t:1 bash -c 'cd /w;"])
def test_a_binder_that_stays_in_a_container_is_in_the_command(around: str) -> None:
    end = "'" if "'" in around else ""
    found = _converted(f"{around} numactl -N 1 torchrun --nproc_per_node 2 t.py{end}\n")
    (command,) = [each.became for each in found.findings if each.key == "command"]
    assert command == "command: numactl -N 1 python -u t.py"


@pytest.mark.parametrize("head", _HEADS)
@pytest.mark.parametrize("binder", ["numactl -N 0 -m 0", "taskset -c 0-3"])
@pytest.mark.parametrize(
    "start", ["mpirun -np 2 ./t", "srun -n 1 {} mpirun -np 2 ./t", "docker run lab/t:1 {} mpirun -np 2 ./t"]
)
def test_what_holds_mpirun_is_said_to_be_left(head: str, binder: str, start: str) -> None:
    line = start.format(binder) if "{}" in start else f"{binder} {start}"
    said = [each for each in _converted(f"{head}{line}\n").findings if each.what == binder]
    assert [(each.kind, "it held mpirun" in each.why) for each in said] == [("left", True)]


def test_what_holds_srun_holds_no_rank() -> None:
    found = _converted(f"{_HEADS[1]}taskset -c 3 srun --mpi=none ./t\n")
    (said,) = [each for each in found.findings if each.what == "taskset -c 3"]
    assert said.kind == "without effect"
    assert "cpus" not in loaded(found.job).get("bind", {})


@pytest.mark.parametrize("line", ["numactl -H", "numactl --show", "taskset -p 0x3 $$"])
def test_what_only_shows_or_changes_a_process_is_no_run(line: str) -> None:
    assert not _converted(f"{line}\n").job


@pytest.mark.parametrize(
    ("line", "binds"),
    [
        ('echo "cores of $SLURM_PROCID: $(taskset -cp $$)"', False),
        ("taskset --pid $$ >> cores.txt", False),
        ("numactl --show", False),
        ("numactl -H | head -n 2", False),
        ("taskset -cp 0-3 $$", True),
        ("taskset -p $$; taskset 0x3 ./warm", True),
        ("numactl -s; numactl -N $SLURM_LOCALID ./warm", True),
    ],
)
def test_what_a_rank_says_of_its_cores_binds_it_to_none(line: str, binds: bool) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=2 --gpus-per-node=2 -t 5\n"
    script = f"#!/bin/bash\n{line}\n./t\n"
    found = convert(classified({"run.sub": f"{head}srun --mpi=none ./r.sh\n", "r.sh": script}), Options({}))
    assert (loaded(found.job).get("bind", {}).get("cpus") == "none") is binds
    text = f"{head}srun --mpi=none bash -c '{line}; ./t'\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert (loaded(found.job).get("bind", {}).get("cpus") == "none") is binds


@pytest.mark.parametrize(("size", "may"), [("$SLURM_NNODES", True), ("2", False)])
def test_of_a_command_that_may_start_ranks_it_is_not_said_that_nothing_binds_them(
    size: str, may: bool
) -> None:
    found = _converted(f"#!/bin/bash\n#SBATCH -t 9\npin-mpirun -cores 0-9 -n {size} python t.py\n").findings
    said = [each for each in found if each.became == "bind: cpus: local"]
    assert [each.kind for each in said] == ["assumed" if may else "replaced"]
    assert said[0].what.startswith("the command, which is asked for, may bind") is may
