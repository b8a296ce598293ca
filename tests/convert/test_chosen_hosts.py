"""Hosts of an allocation that mpirun is told to take: its nodes are those, or are asked for."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -t 60 -N 4 --gpus-per-node=8 --ntasks-per-node=8\n"
_NODES = "nodes=($(scontrol show hostnames $SLURM_JOB_NODELIST))\n"
_ALL = "HOSTS=$(scontrol show hostnames | sed 's/$/:8/' | tr '\\n' ,)\n"


def _job(lines: str) -> dict[str, Any]:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    job: dict[str, Any] = loaded(found.job)
    return job


@pytest.mark.parametrize(
    ("lines", "nodes", "ranks"),
    [
        ("mpirun -host n1,n2 -npernode 4 ./x", "2", "4"),
        ("mpirun -host n1:4,n2:4 ./x", "2", "4"),
        ("mpirun -host n1,n2 ./x", "2", ASK),  # one slot each, or Slurm's tasks
        (f"{_NODES}mpirun -host ${{nodes[0]}}:4,${{nodes[1]}}:4 ./x", "2", "4"),
        (f"{_NODES}mpirun -host ${{nodes[0]}} -np 4 ./x", "1", "4"),
        (f"{_NODES}mpirun -host ${{nodes[2]}} -np 4 ./x", ASK, ASK),
        (f'{_NODES}mpirun -host $(IFS=,; echo "${{nodes[*]:0:2}}") -np 4 ./x', ASK, ASK),
        ("mpirun -H localhost -np 4 ./x", "1", "4"),
        ("mpirun -H $(hostname) -np 4 ./x", "1", "4"),
        ("mpirun -H $(scontrol show hostnames | head -2 | paste -sd,) -npernode 4 ./x", ASK, "4"),
        ("mpirun -H $(scontrol show hostnames | sed -n 1,2p | tr '\\n' ,) -np 8 ./x", ASK, ASK),
        ("mpirun -H $(srun -N2 -n2 hostname | paste -sd,) -npernode 8 ./x", ASK, "8"),
        ("scontrol show hostnames | head -n 2 > hf\nmpirun --hostfile hf -npernode 4 ./x", ASK, "4"),
        ("for n in $(scontrol show hostnames); do mpirun -host $n -np 8 ./x & done; wait", ASK, ASK),
        # All of them.
        ("mpirun -H n1,n2,n3,n4 -np 32 ./x", "4", "8"),
        (f"{_ALL}mpirun -H $HOSTS -np 32 ./x", "4", "8"),
        (f"{_ALL}mpirun -H ${{HOSTS%,}} -npernode 2 ./x", "4", "2"),
        ("mpirun -H $SLURM_JOB_NODELIST -npernode 4 ./x", "4", "4"),
        ("mpirun -H $MACHINES -np 32 ./x", "4", "8"),  # as many as the job has tasks
        ("scontrol show hostnames > hf\nmpirun --hostfile hf -npernode 4 ./x", "4", "4"),
        ("scontrol show hostnames | head -c -1 > hf\nmpirun --hostfile hf -npernode 4 ./x", "4", "4"),
    ],
)
def test_nodes_are_the_hosts_that_mpirun_takes(lines: str, nodes: str, ranks: str) -> None:
    job = _job(lines)
    assert (job["nodes"], job["ranks_per_node"]) == (nodes, ranks)


@pytest.mark.parametrize(
    ("lines", "env", "inherit"),
    [
        ("mpirun --mca mca_base_env_list 'FOO=1;BAR' ./x", {"FOO": "1"}, ["BAR"]),
        (
            "mpirun --mca mca_base_env_list_delimiter , --mca mca_base_env_list FOO=1,BAR=2 ./x",
            {"FOO": "1", "BAR": "2"},
            None,
        ),
        ("export OMPI_MCA_mca_base_env_list='FOO=1;BAR=2'\nmpirun ./x", {"FOO": "1", "BAR": "2"}, None),
    ],
)
def test_variables_that_a_parameter_lists_are_as_those_of_x(
    lines: str, env: dict[str, str], inherit: list[str] | None
) -> None:
    job = _job(lines)
    assert (job.get("env"), job.get("inherit")) == (env, inherit)


def test_the_one_node_of_an_allocation_is_not_asked_for() -> None:
    job = _job("#SBATCH -N 1\nmpirun -H $HOSTS -np 8 ./x")
    assert (job["nodes"], job["ranks_per_node"]) == ("1", "8")


@pytest.mark.parametrize(
    ("lines", "nodes"),
    [
        ("for n in $(scontrol show hostnames); do srun -N 1 -n 1 -w $n ./x & done; wait", ASK),
        (f"{_NODES}i=0\nwhile ((i < M)); do n=${{nodes[i++]}}; srun -N1 -n1 -w $n ./x & done; wait", ASK),
        ("for n in $(scontrol show hostnames); do srun -N 1 -n 1 -w $n ./x; done", "1"),
        (f"{_NODES}srun -N 1 -n 1 -w ${{nodes[0]}} ./x", "1"),
        ("srun -N 1 -n 1 -w $1 ./x", "1"),
    ],
)
def test_nodes_on_which_a_loop_starts_the_run_side_by_side_are_asked_for(lines: str, nodes: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -t 60 --gpus-per-node=8\n{lines}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert loaded(found.job)["nodes"] == nodes
    lines_of_run = [text[: text.index("srun")].count("\n") + 1]
    said = [each for each in found.findings if "side by side" in each.why]
    assert [each.places[0].line for each in said] == (lines_of_run if nodes == ASK else [])
