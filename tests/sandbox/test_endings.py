"""How rendered jobs end: the first cause is kept, the others are stopped, signals arrive."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from command import hpclaunch
from realslurm import Slurm
from waiting import until

# Rank 3 fails alone, while the others would run for long.
FAILS = 'if [ "$SLURM_PROCID" = 3 ]; then {}; fi; exec sleep 300'


def submit(
    slurm: Slurm, folder: Path, command: str | list[str], **job: object
) -> subprocess.CompletedProcess[str]:
    path = folder / "job.yaml"
    full = {"name": "ending", "nodes": 2, "ranks_per_node": 3, "time": 5, "command": command, **job}
    path.write_text(yaml.safe_dump(full))
    return hpclaunch("submit", path, "--site", slurm.site, "--wait", env=home(slurm))


def home(slurm: Slurm) -> dict[str, str]:
    return {**slurm.env, "HPCLAUNCH_HOME": str(slurm.folder / "home")}


def log(slurm: Slurm, job_id: str) -> str:
    return hpclaunch("logs", f"a100/{job_id}", env=home(slurm)).stdout


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        ("exit 7", 7, "task 3: Exited with exit code 7"),
        ("exit 255", 255, "task 3: Exited with exit code 255"),
        ("kill -SEGV $$", 139, "task 3: Segmentation fault"),
        ("kill -KILL $$", 137, "task 3: Killed"),
        ("kill -ABRT $$", 134, "task 3: Aborted"),
        ("kill -TERM $$", 143, "task 3: Terminated"),
        ("kill -HUP $$", 129, "task 3: Hangup"),
        ("kill -USR1 $$", 138, "task 3: User defined signal 1"),
        ("kill -PIPE $$", 141, "task 3: Broken pipe"),
        ("kill -SYS $$", 159, "task 3: Bad system call"),
        ("kill -34 $$", 162, "task 3: Real-time signal 0"),
    ],
)
def test_the_first_failing_rank_gives_the_jobs_status(
    slurm_a100: Slurm, tmp_path: Path, end: str, status: int, said: str
) -> None:
    done = submit(slurm_a100, tmp_path, FAILS.format(end), mpi="pmix")
    assert done.returncode == status, done.stderr
    assert "FAILED" in done.stderr
    assert said in log(slurm_a100, done.stdout.strip())


def test_a_rank_cannot_forge_the_cause(slurm_a100: Slurm, tmp_path: Path) -> None:
    forged = "srun: error: dgx1: task 0: Exited with exit code 9"
    command = FAILS.format(f"echo '{forged}'; echo '{forged}' >&2; sleep 1; exit 7")
    done = submit(slurm_a100, tmp_path, command)
    assert done.returncode == 7
    assert log(slurm_a100, done.stdout.strip()).count(forged) == 2


def test_ranks_that_all_succeed(slurm_a100: Slurm, tmp_path: Path) -> None:
    done = submit(slurm_a100, tmp_path, "echo out; echo err >&2")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(log(slurm_a100, done.stdout.strip()).split()) == ["err"] * 6 + ["out"] * 6


def test_a_command_or_a_directory_that_is_not_there(slurm_a100: Slurm, tmp_path: Path) -> None:
    done = submit(slurm_a100, tmp_path, ["no-such-command"])
    assert done.returncode == 127
    done = submit(slurm_a100, tmp_path, "x", workdir="/no/such/directory")
    assert done.returncode == 121
    assert "cannot work in /no/such/directory" in log(slurm_a100, done.stdout.strip())


@contextmanager
def running(slurm: Slurm, folder: Path, command: str, ranks: int) -> Iterator[str]:
    """A job whose ranks have all touched a file up.RANK in `folder`; it is cancelled in the end."""
    path = folder / "job.yaml"
    path.write_text(
        yaml.safe_dump({"name": "long", "nodes": 2, "ranks_per_node": ranks // 2, "command": command})
    )
    job = hpclaunch("submit", path, "--site", slurm.site, env=home(slurm)).stdout.strip()
    assert job.isdigit()
    try:
        until(lambda: len(list(folder.glob("up.*"))) == ranks)
        yield f"a100/{job}"
    finally:
        hpclaunch("cancel", f"a100/{job}", env=home(slurm))


def test_cancel_sends_sigterm_to_every_rank_and_ends_the_job(slurm_a100: Slurm, tmp_path: Path) -> None:
    folder = tmp_path
    folder.chmod(0o777)
    command = (
        f"trap 'touch {folder}/got.$SLURM_PROCID; exit 0' TERM; touch {folder}/up.$SLURM_PROCID; "
        "while :; do sleep 0.1; done"
    )
    with running(slurm_a100, folder, command, ranks=4) as job:
        assert hpclaunch("cancel", job, env=home(slurm_a100)).returncode == 0
        waited = hpclaunch("wait", job, env=home(slurm_a100))
    assert waited.returncode == 1
    assert "CANCELLED" in waited.stderr
    assert sorted(path.name for path in folder.glob("got.*")) == [f"got.{rank}" for rank in range(4)]


def test_a_signal_to_the_job_reaches_the_ranks(slurm_a100: Slurm, tmp_path: Path) -> None:
    # The first rank that ends takes the others with it: both are to have their signal before.
    command = (
        f"trap 'touch {tmp_path}/got.$SLURM_PROCID; sleep 2; exit 5' USR1; "
        f"touch {tmp_path}/up.$SLURM_PROCID; while :; do sleep 0.1; done"
    )
    with running(slurm_a100, tmp_path, command, ranks=2) as job:
        slurm_a100.run("scancel", "--signal=USR1", job.split("/")[1])
        assert hpclaunch("wait", job, env=home(slurm_a100)).returncode == 5
    assert len(list(tmp_path.glob("got.*"))) == 2


def test_mpi_ranks_add_up_over_pmix_and_a_failing_one_ends_them(slurm_a100: Slurm, tmp_path: Path) -> None:
    program = tmp_path / "add.py"
    program.write_text(
        "import sys\n"
        "from mpi4py import MPI\n"
        "world = MPI.COMM_WORLD\n"
        "total = world.allreduce(world.rank + 1)\n"
        "print('sum', total, 'of', world.size, flush=True)\n"
        "if len(sys.argv) > 1 and world.rank == 3:\n"
        "    import os; os._exit(7)\n"
        "world.Barrier()\n"
    )
    command = ["/usr/bin/python3", str(program)]
    done = submit(slurm_a100, tmp_path, command, mpi="pmix")
    assert done.returncode == 0, done.stderr
    assert log(slurm_a100, done.stdout.strip()).count("sum 21 of 6") == 6
    done = submit(slurm_a100, tmp_path, [*command, "fail"], mpi="pmix")
    assert done.returncode == 7, done.stderr
