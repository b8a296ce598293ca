"""What is another value on each node: the variable of a loop over nodes, and a name that a node's own shell
finds out. No rank has the one of the submitter's shell, or of the job's first node, in its place."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_TORCH = "torchrun --nnodes=2 --node_rank=$i --nproc_per_node=4 --master_addr=n0"
_SBATCH = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 -t 5\n"


def _converted(text: str) -> Conversion:
    return convert(classified({"run.sub": text}), Options({}))


@pytest.mark.parametrize(
    "text",
    [
        f'for i in 0 1; do ssh n$i "SHARD=$i {_TORCH} fit.py --part $i" & done',
        f"for i in 0 1; do\nssh n$i <<EOF\nexport SHARD=$i\n{_TORCH} fit.py --part $i\nEOF\ndone",
        f"{_SBATCH}for i in 0 1; do\nSHARD=$i srun -N1 -n1 -w n$i {_TORCH} fit.py --part $i &\ndone\nwait",
    ],
)
def test_what_counts_the_nodes_is_the_number_of_each(text: str) -> None:
    job = loaded(_converted(text).job)
    assert job["command"] == 'export SHARD="$NODE_RANK"; exec python -u fit.py --part "$NODE_RANK"'
    assert "inherit" not in job
    assert (job["nodes"], job["ranks_per_node"], job["rendezvous"]) == ("2", "4", "torch")


@pytest.mark.parametrize(
    "text",
    [
        f'for h in a b; do ssh $h "{_TORCH} fit.py --on $h" & done',
        f"{_SBATCH}for i in 1 2; do\nsrun -N1 -n1 -w n$i {_TORCH} fit.py --part $i &\ndone\nwait",
        f"for i in 0 1; do\nssh n$i <<EOF\n{_TORCH} fit.py --on \\$(hostname)\nEOF\ndone",
        f"for i in 0 1; do ssh n$i 'H=$(hostname -s); {_TORCH} fit.py --on $H' & done",
    ],
)
def test_what_no_rank_has_is_asked_for_with_the_command(text: str) -> None:
    job = loaded(_converted(text).job)
    assert job["command"] == "ASK"
    assert "inherit" not in job


def test_what_each_ranks_shell_asks_its_node_for_is_not_the_first_nodes_name() -> None:
    torch = _TORCH.replace("$i", "$SLURM_NODEID")
    job = loaded(_converted(f"{_SBATCH}srun -n2 bash -c 'H=$(hostname); {torch} fit.py --on $H'").job)
    assert "MASTER_ADDR" not in job["command"]
    assert "ASK" in job["env"].values()


@pytest.mark.parametrize("name", ["$(hostname)", "$H", "$HOSTNAME"])
def test_what_the_scripts_own_shell_puts_into_a_text_is(name: str) -> None:
    torch = _TORCH.replace("$i", "\\$SLURM_NODEID")
    text = f'{_SBATCH}H=$(hostname)\nsrun -n2 bash -c "{torch} fit.py --on {name}"'
    assert loaded(_converted(text).job)["command"] == 'exec python -u fit.py --on "$MASTER_ADDR"'
