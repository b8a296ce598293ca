"""The rank wrapper under Open MPI's and Hydra's mpirun, as they tell ranks of several nodes their numbers."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from running import RECORD, Runner, environment, recorded


def variables(launcher: str, rank: int, ranks: int, local: int, local_ranks: int) -> dict[str, str]:
    values = map(str, (rank, ranks, local, local_ranks))
    names = {
        "openmpi": ("COMM_WORLD_RANK", "COMM_WORLD_SIZE", "COMM_WORLD_LOCAL_RANK", "COMM_WORLD_LOCAL_SIZE"),
        "hydra": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    }[launcher]
    return {
        ("OMPI_" if launcher == "openmpi" else "") + name: value
        for name, value in zip(names, values, strict=True)
    }


@pytest.mark.parametrize("launcher", ["openmpi", "hydra"])
@pytest.mark.parametrize(
    ("place", "node"),
    [((0, 16, 0, 8), "0"), ((7, 16, 7, 8), "0"), ((13, 16, 5, 8), "1"), ((2, 3, 0, 1), "2")],
)
def test_a_rank_of_several_nodes(run: Runner, launcher: str, place: tuple[int, ...], node: str) -> None:
    env = variables(launcher, *place) | {"HPCLAUNCH_MASTER": "job-worker-0.job.space.svc"}
    arguments = (
        f"from={launcher}",
        "rendezvous=torch",
        "port=29500",
        "--",
        "--",
        sys.executable,
        "-c",
        RECORD,
    )
    _, got = recorded(run(*arguments, env=env))
    rank, ranks, local, local_ranks = (str(number).encode() for number in place)
    assert (got[b"RANK"], got[b"WORLD_SIZE"], got[b"LOCAL_RANK"], got[b"LOCAL_WORLD_SIZE"]) == (
        rank,
        ranks,
        local,
        local_ranks,
    )
    assert got[b"NODE_RANK"].decode() == node
    assert (got[b"MASTER_ADDR"], got[b"MASTER_PORT"]) == (b"job-worker-0.job.space.svc", b"29500")
    assert b"HPCLAUNCH_MASTER" not in got


@pytest.mark.parametrize("launcher", ["openmpi", "hydra"])
def test_without_a_launchers_pod_all_is_on_this_machine(run: Runner, launcher: str) -> None:
    arguments = (f"from={launcher}", "rendezvous=torch", "port=1", "--", "--", "env", "-0")
    got = environment(run(*arguments, env=variables(launcher, 1, 2, 1, 2)))
    assert (got["MASTER_ADDR"], got["NODE_RANK"]) == ("127.0.0.1", "0")


@pytest.mark.parametrize("place", [(1, 4, 0, 2), (3, 5, 0, 2), (2, 4, 0, 3)])
def test_ranks_that_are_not_in_blocks_end_the_job(run: Runner, place: tuple[int, ...]) -> None:
    """By node instead of by slot, and nodes with more ranks than others."""
    result = run("from=openmpi", "--", "--", "echo", "ran", env=variables("openmpi", *place))
    assert (result.returncode, result.stdout) == (121, b"")
    assert b"not laid out in blocks" in result.stderr


@contextmanager
def at_descriptor(number: int, file: int) -> Iterator[None]:
    """`file` under this number, for a while."""
    try:
        saved = os.dup(number)
    except OSError:
        saved = None
    os.dup2(file, number)
    try:
        yield
    finally:
        os.close(number)
        if saved is not None:
            os.dup2(saved, number, inheritable=False)
            os.close(saved)


@pytest.mark.parametrize("descriptor", [9, 14])
@pytest.mark.parametrize(("status", "told"), [(0, b""), (7, b"cmd=abort exitcode=7\n")])
def test_hydra_is_told_of_a_command_that_fails(
    run: Runner, descriptor: int, status: int, told: bytes
) -> None:
    """By PMI's own message, on its socket, whose number may be too large for dash."""
    reading, writing = os.pipe()
    env = variables("hydra", 1, 2, 1, 2) | {"PMI_FD": str(descriptor)}
    arguments = ("from=hydra", "--", "--", "sh", "-c", f"exit {status}")
    with at_descriptor(descriptor, writing):
        assert run(*arguments, env=env, pass_fds=(descriptor,)).returncode == status
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        assert file.read() == told


def test_without_a_way_to_tell_it_its_process_here_is_ended(run: Runner, tmp_path: Path) -> None:
    """That process is stood in for: its end is Hydra's sign."""
    for tool in ("sh", "false"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    env = variables("hydra", 1, 2, 1, 2) | {"PMI_FD": "77", "PATH": str(tmp_path)}
    proxy = (
        sys.executable,
        "-c",
        "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)",
    )
    result = run("from=hydra", "--", "--", "false", env=env, before=proxy)
    assert result.returncode == -signal.SIGTERM


def test_a_command_that_ends_well_is_left_alone_by_hydras_wrapper(run: Runner) -> None:
    arguments = ("from=hydra", "membind=", "--", "A=1", "--", "sh", "-c", 'echo "$A $0" "$@"', "x y", ":")
    result = run(*arguments, env=variables("hydra", 0, 1, 0, 1))
    assert (result.returncode, result.stdout, result.stderr) == (0, b"1 x y :\n", b"")
