"""A rank that fails ends the job on both sides, with the same exit status: the first cause."""

import signal
from pathlib import Path

import pytest
import yaml
from both_sides import EVERYTHING, Place, in_pods, submit, under_slurm


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
@pytest.mark.parametrize(
    ("nodes", "first_to_end", "status"),
    [(2, "exit 7", 7), (1, "exit 255", 255), (2, "kill -SEGV $$", 128 + signal.SIGSEGV)],
)
def test_a_failing_rank(
    place: Place, tmp_path: Path, nodes: int, first_to_end: str, status: int, mpi: str
) -> None:
    job = tmp_path / "job.yaml"
    command = f'[ "$RANK" != {2 * nodes - 1} ] || {first_to_end}; exec /bin/sleep 100'
    full = {
        "name": "fails",
        "image": "made/up:1",
        "command": command,
        "nodes": nodes,
        "ranks_per_node": 2,
        "container": {"mpi": mpi},
    }
    job.write_text(yaml.safe_dump({"version": 1, "rendezvous": "torch", "mpi": "pmix", **full}))
    both = submit(place, job)
    here, there = (
        under_slurm(place, both),
        in_pods(place, both, {node: EVERYTHING[node] for node in range(nodes)}),
    )
    assert (here.status, there.status) == (status, status), there.said
