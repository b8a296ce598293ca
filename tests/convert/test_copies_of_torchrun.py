"""Launchers that are copies of torch's, or start it on hosts: Bagua's, OneFlow's and Colossal-AI's. Options
that Python's argparse reads may be shortened."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


def _job(text: str) -> dict[str, Any]:
    found = convert(classified({"run.sh": f"#!/bin/bash\n{text}\n"}), Options({}))
    assert found.job
    return loaded(found.job)


@pytest.mark.parametrize(
    ("line", "nodes", "ranks"),
    [
        ("python -m bagua.distributed.launch --nnodes=2 --nproc_per_node=4 --autotune_level 1", "2", "4"),
        ("python3 -m bagua.distributed.run --nnodes 2 --nproc_per_node 4", "2", "4"),
        ("baguarun --host_list a:22,b:22 --ssh_port 22 --nproc_per_node 4", "2", "4"),
        ("python3 -m oneflow.distributed.launch --nnodes 2 --nproc_per_node 8 --node_rank 0", "2", "8"),
        ("python3 -m oneflow.distributed.launch", "1", "1"),
        ("colossalai run --nproc_per_node 2 --host 10.0.0.1,10.0.0.2 --master_addr 10.0.0.1", "2", "2"),
        ("colossalai run --nproc_per_node 2", "1", "2"),
        ("colossalai run --nproc_per_node 2 --hostfile hosts", ASK, "2"),
        ("torchrun --nnode 2 --nproc-per-n=4 --node_ra 0 --master_a h", "2", "4"),
        ("python -m torch.distributed.run --nnode=2 --nproc 4", "2", "4"),
        ("deepspeed --num_node 2 --num_g 4", "2", "4"),
    ],
)
def test_their_nodes_and_ranks_are_told(line: str, nodes: str, ranks: str) -> None:
    job = _job(f"{line} train.py --nnode 9 --x 1")
    assert (job.get("nodes", "1"), job["ranks_per_node"]) == (nodes, ranks)
    assert job["rendezvous"] == "torch"
    command = job["command"] if isinstance(job["command"], str) else " ".join(job["command"])
    assert command.endswith("--nnode 9 --x 1")


def test_a_begin_that_several_options_have_is_none_of_them() -> None:
    job = _job("torchrun --nnodes 2 --nproc_per_node 4 --master=h train.py")
    assert (job["nodes"], job["ranks_per_node"]) == ("2", "4")


def test_other_commands_of_colossalai_start_no_ranks() -> None:
    text = "#!/bin/bash\n#SBATCH -N 2 --gres=gpu:4\ncolossalai check -i\nsrun --mpi=none ./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert loaded(found.job)["command"] == ["./t"]


_OVER_HOSTS = "for n in $(scontrol show hostnames); do\n  srun -N1 -n1 -w $n {} &\ndone\nwait"


@pytest.mark.parametrize(
    ("head", "start", "nnodes", "nodes"),
    [
        ("#SBATCH --gres=gpu:4", "{}", "1:2", "1"),
        ("#SBATCH -N 3 --gres=gpu:4", "srun {}", "1:3", "3"),
        ("#SBATCH -N 3 --gres=gpu:4", _OVER_HOSTS, "1:3", "3"),
        ("#SBATCH --gres=gpu:4", "srun {}", "2:3", ASK),
    ],
)
def test_a_range_of_nodes_from_one_on_has_those_that_it_is_started_on(
    head: str, start: str, nnodes: str, nodes: str
) -> None:
    line = start.format(f"torchrun --nnodes={nnodes} --nproc_per_node=4 t.py")
    job = _job(f"{head}\n{line}")
    assert (job.get("nodes", "1"), job["ranks_per_node"]) == (nodes, "4")


_RANGE = "goes on with 1 to 4 nodes, as many as it is started on, and no line says on how many that is"


@pytest.mark.parametrize(
    ("head", "line", "said"),
    [
        ("", "torchrun --nnodes=1:4 --nproc_per_node=2 sow.py", True),
        ("", "export PET_NNODES=1:4\ntorchrun --nproc_per_node=2 sow.py", True),
        (
            "#SBATCH --gres=gpu:2",
            "python -m torch.distributed.run --nnodes 1:4 --nproc_per_node=2 sow.py",
            True,
        ),
        ("#SBATCH -N 2 --gres=gpu:2", "srun torchrun --nnodes=1:4 --nproc_per_node=2 sow.py", False),
        ("", "torchrun --nnodes=1:1 --nproc_per_node=2 sow.py", False),
        ("", "torchrun --nnodes=2:4 --nproc_per_node=2 sow.py", False),
        ("", "torchrun --nnodes=1 --nproc_per_node=2 sow.py", False),
    ],
)
def test_a_range_of_nodes_is_said_where_no_line_tells_how_many_they_are(
    head: str, line: str, *, said: bool
) -> None:
    found = convert(classified({"run.sh": f"#!/bin/bash\n{head}\n{line}\n"}), Options({}))
    its = [each for each in found.findings if _RANGE in each.why]
    assert [(each.kind, each.became) for each in its] == [("assumed", "nodes: 1")] * said


@pytest.mark.parametrize("rank", ["--node_rank={}", "--node_rank {}", "--node-rank={}"])
@pytest.mark.parametrize(("first", "second", "is_one"), [(0, 1, True), (0, 0, False), ("$1", "$1", False)])
def test_a_line_for_each_node_is_one_run(rank: str, first: object, second: object, *, is_one: bool) -> None:
    line = "torchrun --nnodes=2 --nproc_per_node=4 {} --master_addr=h --master_port=29500 till.py\n"
    text = "#!/bin/bash\n" + "".join(line.format(rank.format(each)) for each in (first, second))
    found = convert(classified({"run.sh": text}), Options({}))
    asked = loaded(found.job)["command"] == ASK
    assert asked is not is_one
    its = [each.places[0].line for each in found.findings if "run on another node" in each.why]
    assert its == ([2] if is_one else [])


@pytest.mark.parametrize("start", ["torchrun_jsc", "python -u -m torchrun_jsc"])
def test_the_one_of_juelich_is_torchs(start: str) -> None:
    job = _job(f"#SBATCH -N 2 --gres=gpu:4\nsrun {start} --nnodes=2 --nproc_per_node=4 till.py")
    assert (job["nodes"], job["ranks_per_node"], job["rendezvous"]) == ("2", "4", "torch")
    assert job["command"] == ["python", "-u", "till.py"]


@pytest.mark.parametrize(
    ("command", "is_said"),
    [
        ("lab_run --nproc_per_node=4 till.py", True),
        ('bash -c "lab_run --nproc-per-node 4 till.py"', True),
        ("torchrun --nproc_per_node=4 till.py", False),
        ("python till.py --nproc 4", False),
    ],
)
def test_a_program_with_torchruns_option_may_start_ranks_of_its_own(command: str, *, is_said: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --gres=gpu:4\nsrun --mpi=none {command}\n"
    found = convert(classified({"run.sub": text}), Options({})).findings
    assert any("it has an option of torchrun" in each.why for each in found) is is_said
