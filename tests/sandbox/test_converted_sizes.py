"""How many ranks a real Slurm starts, or a real mpirun under it, and on how many nodes: those of the job that
the script is converted to, or it asks."""

from collections import Counter
from pathlib import Path

import pytest
import yaml
from realslurm import Slurm

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_RANK = '#!/bin/sh\necho "$SLURMD_NODENAME" > "ran.${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}"\n'


def _ran(slurm: Slurm, folder: Path, text: str) -> Counter[str]:
    """By the node how many ranks of ./rank there were."""
    folder.chmod(0o777)
    (folder / "rank").write_text(
        '#!/bin/sh\necho "$SLURMD_NODENAME" > "ran.${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}"\n'
    )
    (folder / "rank").chmod(0o755)
    (folder / "run.sh").write_text(text)
    env = {**slurm.env, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    sent = slurm.run("sbatch", "--parsable", "--output=log", "run.sh", cwd=folder, env=env)
    assert sent.stdout.strip().isdigit(), sent.stderr
    assert slurm.wait(int(sent.stdout)) == 0, (folder / "log").read_text()
    return Counter(path.read_text().strip() for path in folder.glob("ran.*"))


@pytest.mark.parametrize(
    ("options", "run", "is_told"),
    [
        ("-N 2 --ntasks-per-node=4", "srun --mpi=none", True),
        ("-N 2 -n 16 --exclusive", "srun --mpi=none", True),
        ("-N 2 -n 1", "srun --mpi=none", True),
        ("-N 2 --ntasks-per-node=4", "srun --mpi=none --ntasks=2", True),
        ("-N 2 --ntasks-per-node=4", "srun --mpi=none -N 1 --ntasks=4", True),
        ("-N 2 -c 8", "srun --mpi=none -c 8", True),
        ("-N 2 -c 8", "srun --mpi=none -c 2", True),
        ("-N 2 -c 8 --exclusive", "srun --mpi=none", True),
        ("-N 2 -c 8 --exclusive", "srun --mpi=none -c 8", False),
        ("-N 2 -c 1", "srun --mpi=none -c 1", False),
        ("-N 1 -n 16", "srun --mpi=none --ntasks-per-node=4", False),
        ("-N 1-2 -n 2 --ntasks-per-node=2", "srun --mpi=none", False),
        ("-N 2 --ntasks-per-node=4", "mpirun", True),
        ("-N 2 --ntasks-per-node=4", "mpirun -np 4", True),
        ("-N 2 --ntasks-per-node=4", "mpirun -np 4 --map-by node", True),
        ("-N 2 -c 8", "mpirun", True),
        ("-N 2", "mpirun", False),
        ("-N 2 -n 4 --ntasks-per-node=4", "mpirun", False),
    ],
)
def test_the_job_has_the_ranks_that_slurm_starts(
    slurm_a100: Slurm, tmp_path: Path, options: str, run: str, is_told: bool
) -> None:
    text = f"#!/bin/bash\n#SBATCH -t 5 {options}\n{run} ./rank\n"
    job = yaml.safe_load(convert(classified({"run.sh": text}), Options({})).job)
    ran = _ran(slurm_a100, tmp_path, text)
    told = (job.get("nodes", 1), job["ranks_per_node"])
    if is_told:
        assert ([told[0]], [told[1]] * told[0]) == ([len(ran)], list(ran.values()))
    else:
        assert "<ask: " in f"{told[0]}{told[1]}"


def test_where_slurm_fills_one_node_after_the_other_the_job_has_as_many_in_all(
    slurm_a100: Slurm, tmp_path: Path
) -> None:
    text = "#!/bin/bash\n#SBATCH -t 5 -N 2 -n 16\nsrun --mpi=none ./rank\n"
    found = convert(classified({"run.sh": text}), Options({}))
    job = yaml.safe_load(found.job)
    ran = _ran(slurm_a100, tmp_path, text)
    assert (job["nodes"], job["nodes"] * job["ranks_per_node"]) == (len(ran), ran.total())
    said = [each for each in found.findings if each.kind == "assumed" and "ranks_per_node" in each.became]
    assert bool(said) == (len(set(ran.values())) > 1)
