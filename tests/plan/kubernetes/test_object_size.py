"""What an API server takes in one object is less than what a kernel takes to start a program."""

import subprocess
from typing import Any

import pytest
from pod_plans import planned, refused, target

from hpclaunch.plan import size
from hpclaunch.rank import PARTS, wrapper_text

LONGEST = wrapper_text([setting for _, needed in PARTS for setting in needed])
SLURM: dict[str, Any] = {
    "scheduler": "slurm",
    "container": "pyxis",
    "slurm": {"version": "22.05", "pyxis": "0.20.0"},
}


@pytest.mark.parametrize("more", [{"nodes": 1, "ranks_per_node": 1}, {"container": {"mpi": "mpich"}}])
def test_variables_that_are_too_much_together(more: dict[str, Any]) -> None:
    job = {**more, "env": {f"A{number}": "x" * 120_000 for number in range(9)}}
    assert planned(job, **SLURM).scheduler == "slurm"
    (message,) = refused(job).values()
    assert "1,000,000" in message
    fewer = {**more, "env": dict(list(job["env"].items())[:8])}
    assert planned(fewer).scheduler == "kubernetes"


def test_one_that_no_kernel_takes() -> None:
    assert list(refused({"env": {"A": "x" * 131_072}})) == [("job", ("env", "A"))]


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_command_line_that_open_mpi_makes_one_variable_of(nodes: int) -> None:
    """mpirun joins the words of what it starts, in OMPI_ARGV, which is as long as one string may be."""
    job = {"nodes": nodes, "ranks_per_node": 2, "command": ["true", *["x" * 89] * 1_000]}
    plan = planned(job)
    options = [option.text for option in target(plan).wrapper]
    variables = [f"{each.name}={each.value}" for each in plan.common.environment]
    words = ["-c", LONGEST, "rank", *options, "--", *variables, "--"]
    joined = " ".join([*words, *(f"={word}" for word in plan.common.argv)])
    done = subprocess.run(["/bin/sh", "-c", ":"], env={"OMPI_ARGV": joined})
    assert done.returncode == 0
    (message,) = refused({**job, "env": {"A": "x" * 6_000}}).values()
    assert "94,071" in message
    assert "A has 6,002" in message


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_steps_are_command_lines_of_their_own_and_one_object(mpi: str) -> None:
    """Each step's words are in one mpirun's, and all are in the launcher's."""
    step = {"run": ["true", *["x" * 899] * 100]}
    fits = {"container": {"mpi": mpi}, "setup": [step] * 8, "command": step["run"]}
    assert planned(fits).scheduler == "kubernetes"
    (message,) = refused({**fits, "after": [step] * 3}).values()
    assert "1,000,000" in message
    longer = {"run": ["true", *["x" * 899] * 110]}
    if mpi == "openmpi":
        found = refused({**fits, "after": [longer]})
        assert [path for _, path in found] == [("after",)]
        assert "94,071" in next(iter(found.values()))
    else:
        assert planned({**fits, "after": [longer]}).scheduler == "kubernetes"


def test_a_word_of_a_step_that_no_kernel_takes() -> None:
    (message,) = refused({"before_each": [{"run": "x" * 131_071, "name": "long"}]}).values()
    assert "word 2 of before_each 1: long is 131,072 bytes long" in message


def test_room_for_the_wrapper_itself() -> None:
    assert len(LONGEST.encode()) < size.WRAPPER - 1_000
