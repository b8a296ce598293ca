"""Options that torchrun takes of variables (PET_NPROC_PER_NODE): the ranks are as many as with the option."""

from typing import Any

import pytest
from manifest_cases import converted
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -t 60 -N 2 --gpus-per-node=8 --ntasks-per-node=1\n"
_RUN = "torchrun --nnodes=2 --rdzv-endpoint=$(hostname):29500"
_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: tune}
spec:
  containers:
  - name: c
    image: reg/x:1
    command: [bash, -c, "COMMAND"]
    env: [{name: PET_NPROC_PER_NODE, value: "2"}]
    resources: {limits: {nvidia.com/gpu: 8}}
"""


def _job(lines: str) -> dict[str, Any]:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    job: dict[str, Any] = loaded(found.job)
    return job


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        (f"export PET_NPROC_PER_NODE=4\nsrun {_RUN} t.py", "4"),
        (f"PET_NPROC_PER_NODE=4 srun {_RUN} t.py", "4"),
        (f"export PET_NPROC_PER_NODE=gpu\nsrun python -m torch.distributed.run {_RUN[9:]} t.py", "8"),
        (f"export PET_NPROC_PER_NODE=4\nsrun {_RUN} --nproc-per-node=2 t.py", "2"),  # the option counts more
        (f"srun --export=ALL,PET_NPROC_PER_NODE=4 {_RUN} t.py", "4"),
        (f"export PET_NPROC_PER_NODE=4\nsrun --export=HOME {_RUN} t.py", "1"),
        (f"export PET_NPROC_PER_NODE=4\nsrun --export=HOME,PET_NPROC_PER_NODE {_RUN} t.py", "4"),
        (f"srun env PET_NPROC_PER_NODE=4 {_RUN} t.py", "4"),
        (f"export PET_NPROC_PER_NODE=4\nsrun env -u PET_NPROC_PER_NODE {_RUN} t.py", "1"),
        (f"srun bash -c 'export PET_NPROC_PER_NODE=4; {_RUN[:18]} t.py'", "4"),
        (f"srun bash -c 'PET_NPROC_PER_NODE=4 {_RUN[:18]} t.py'", "4"),
        (f"export PET_NPROC_PER_NODE=4\nsrun docker run reg/x:1 {_RUN} t.py", "1"),
        (f"srun docker run -e PET_NPROC_PER_NODE=4 reg/x:1 {_RUN} t.py", "4"),
        (f"export PET_NPROC_PER_NODE=4\nsrun docker run -e PET_NPROC_PER_NODE reg/x:1 {_RUN} t.py", "4"),
        (f"export PET_NPROC_PER_NODE=$(./count)\nsrun {_RUN} t.py", ASK),
        ("export PET_NPROC_PER_NODE=4 ACCELERATE_NUM=2\nsrun composer -n 8 t.py", "8"),
    ],
)
def test_ranks_are_as_many_as_the_variable_says(lines: str, ranks: str) -> None:
    assert str(_job(lines)["ranks_per_node"]) == ranks


@pytest.mark.parametrize(
    ("visible", "line", "ranks"),
    [
        ("0,1,2,3", f"srun {_RUN} --nproc-per-node gpu t.py", ASK),
        ("0,1,2,3", "srun deepspeed --hostfile hf t.py", ASK),
        ("0,1,2,3,4,5,6,7", f"srun {_RUN} --nproc-per-node gpu t.py", "8"),
        ("0,1,2,3", f"srun {_RUN} --nproc-per-node 8 t.py", "8"),
        ("$GPUS", f"srun {_RUN} --nproc-per-node gpu t.py", "8"),
    ],
)
def test_gpus_that_a_launcher_does_not_see_are_not_counted(visible: str, line: str, ranks: str) -> None:
    assert str(_job(f"export CUDA_VISIBLE_DEVICES={visible}\n{line}")["ranks_per_node"]) == ranks


@pytest.mark.parametrize(
    ("command", "ranks"),
    [("torchrun t.py", 2), ("export PET_NPROC_PER_NODE=4; torchrun t.py", 4), ("python t.py", 1)],
)
def test_ranks_of_a_pod_are_as_many_as_the_variable_says(command: str, ranks: int) -> None:
    fact = converted(_POD.replace("COMMAND", command)).facts[("ranks_per_node",)]
    assert fact.value == ranks


@pytest.mark.parametrize(
    ("head", "line", "told"),
    [
        ("--gpus-per-node=8", "srun --mpi=none ./t", True),
        ("--gres=gpu:8", "srun --mpi=none ./t", True),
        ("-A a", "srun --mpi=none --gpus-per-task=1 ./t", True),
        ("--gres=nvme:1", "srun --mpi=none ./t", False),
        ("--gpus-per-node=8", "mpirun -np 8 ./t", False),
        ("--gpus-per-node=8", "./t", False),
        ("--gpus-per-node=8", "srun --mpi=none env CUDA_VISIBLE_DEVICES=1 ./t", True),
    ],
)
def test_gpus_that_the_script_chooses_are_said_to_be_slurms_under_srun(
    head: str, line: str, told: bool
) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -t 5 {head}\nexport CUDA_VISIBLE_DEVICES=2,3\n{line}\n"
    found = convert(classified({"run.sub": text}), Options({})).findings
    assert any(each.kind == "question" and each.what == "CUDA_VISIBLE_DEVICES=2,3" for each in found) == told
