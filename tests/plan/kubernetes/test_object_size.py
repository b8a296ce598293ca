"""What an API server takes in one object is less than what a kernel takes to start a program."""

from typing import Any

import pytest
from pod_plans import planned, refused

SLURM: dict[str, Any] = {
    "scheduler": "slurm",
    "container": "pyxis",
    "slurm": {"version": "22.05", "pyxis": "0.20.0"},
}


@pytest.mark.parametrize("nodes", [1, 2])
def test_variables_that_are_too_much_together(nodes: int) -> None:
    job = {"nodes": nodes, "env": {f"A{number}": "x" * 120_000 for number in range(9)}}
    assert planned(job, **SLURM).scheduler == "slurm"
    (message,) = refused(job).values()
    assert "1,000,000" in message
    fewer = {"nodes": nodes, "env": dict(list(job["env"].items())[:8])}
    assert planned(fewer).scheduler == "kubernetes"


def test_one_that_no_kernel_takes() -> None:
    assert list(refused({"env": {"A": "x" * 131_072}})) == [("job", ("env", "A"))]
