"""A launcher as sbatch runs it, and the job that it is converted to: the same ranks, under the same Slurm."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from beside import Done, Note, Place, noting
from command import hpclaunch
from realslurm import Slurm

_ASKED = ("BATCHSIZE", "EXTRA", "SEED", "DGXSYSTEM", "DATASET", "MODE", "NCCL_DEBUG")

_CONFIG = """\
export DGXNNODES=2
export WALLTIME=$(( 2 * 5 ))
export DGXNGPU=8
export DGXSYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//' | sed 's/\\.sh$//' )
export BATCHSIZE=408
export EXTRA='--label "a  b" $HOME'
export SLURM_NTASKS=8
"""
_PYXIS = """\
#!/bin/bash
#SBATCH --job-name=classify
set -euxo pipefail
: "${NEXP:=2}"
: "${LOGDIR:=./results}"
name=classify_${SLURM_JOB_ID}
srun --ntasks="${SLURM_JOB_NUM_NODES}" mkdir -p "${LOGDIR}"
srun --ntasks="${SLURM_JOB_NUM_NODES}" --container-image="${CONT}" --container-name="${name}" true
for i in $(seq 1 "${NEXP}"); do
    (
        if [ "${CLEAR_CACHES:-1}" -eq 1 ]; then
            srun --ntasks="${SLURM_JOB_NUM_NODES}" /bin/sh -c "python3 $NOTE caches"
        fi
        srun -N1 -n1 --container-name="${name}" python3 $NOTE log
        export SEED=${override:-$RANDOM}
        srun --mpi=none --ntasks="$(( SLURM_JOB_NUM_NODES * DGXNGPU ))" --ntasks-per-node="${DGXNGPU}" \\
            --container-name="${name}" --container-mounts="${DATADIR}:/data:ro,${LOGDIR}:/results" \\
            python3 $NOTE run
    ) |& tee "${LOGDIR}/trial_${i}.log"
done
"""
_PLAIN = """\
#!/bin/bash
#SBATCH -J plain -N 2 --ntasks-per-node=4 --gres=gpu:8 --exclusive --mem=0
#SBATCH -t 00:10:00
export NCCL_DEBUG=INFO
export MODE="quick and $dirty"
data=/data/set
srun -N1 -n1 python3 $NOTE prepare
DATASET=$data srun --mpi=none --cpu-bind=mask_cpu:0xff,0xff00,0xff0000,0xff000000 \\
    python3 $NOTE run --at "$SLURM_JOB_NUM_NODES"
srun --ntasks-per-node=1 -n2 python3 $NOTE tidy
"""


@pytest.fixture(scope="module")
def place(start_slurm: Callable[..., Slurm], tmp_path_factory: pytest.TempPathFactory) -> Place:
    slurm = start_slurm("--nodes", "2", "--node-type", "dgx-a100", "--name", "converted")
    return Place(slurm, tmp_path_factory.mktemp("converted"))


def original(place: Place, folder: Path, command: str, env: dict[str, str]) -> list[Note]:
    """What ran when the operator typed `command`, an sbatch with what comes before it."""
    words = f"{command} --parsable --exclusive --mem=0 --output={folder}/out"
    shell = {**place.slurm.env, **env}
    script = words.replace("sbatch", "exec sbatch", 1) + f" {folder}/run.sub"
    done = place.slurm.run("bash", "-c", script, env=shell, cwd=folder)
    assert done.stdout.strip().isdigit(), done.stderr
    status = place.slurm.wait(int(done.stdout))
    assert status == 0, (folder / "out").read_text()
    return taken(folder / "notes")


def taken(path: Path) -> list[Note]:
    notes = [Note(*json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    path.unlink()
    return notes


def converted(place: Place, folder: Path, files: list[str], env: dict[str, str], *sets: str) -> Done:
    """What ran of the job that the files are converted to."""
    given = [word for name, value in env.items() for word in ("--env", f"{name}={value}")]
    job = folder / "job.yaml"
    made = hpclaunch("convert", *files, *given, "-o", job, cwd=folder)
    assert made.returncode == 0, made.stdout + made.stderr
    done = hpclaunch("submit", job, "--site", place.site, *sets, env=place.env, cwd=folder)
    assert done.stdout.strip().isdigit(), done.stderr
    return place.wait(done.stdout.strip(), folder / "notes")


def ran(notes: list[Note]) -> Counter[tuple[str, ...]]:
    """What ran how often on each node, with the variables that it was given. A job has one environment: what
    only the run had in the original (DATASET) steps have too."""
    return Counter(
        (
            note.what,
            note.node,
            note.rank if note.what == "run" else "",
            *(
                f"{name}={value}"
                for name, value in sorted(note.env.items())
                if name != "SEED" and (name != "DATASET" or note.what == "run")
            ),
        )
        for note in notes
        if note.what in ("run", "log", "prepare", "tidy")
    )


def test_run_sub_and_its_job_start_the_same_ranks(place: Place, tmp_path: Path) -> None:
    noting(tmp_path, *_ASKED)
    (tmp_path / "config_two.sh").write_text(_CONFIG)
    (tmp_path / "run.sub").write_text(_PYXIS)
    env = {"CONT": "nvcr.io#nvidia/mxnet:21.09-py3", "DATADIR": str(tmp_path), "NOTE": f"{tmp_path}/note.py"}
    was = original(place, tmp_path, "source ./config_two.sh; sbatch -N $DGXNNODES -t $WALLTIME", env)
    done = converted(place, tmp_path, ["config_two.sh", "run.sub"], env)
    assert done.status == 0, done.log
    assert ran(done.notes) == ran(was)
    assert sum(ran(was).values()) == 2 * 16 + 2
    assert done.order() == ["caches", "log", "run"] * 2
    for notes in (was, done.notes):
        assert len({note.env["SEED"] for note in notes if note.what == "run"}) == 2
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["trial_1.log", "trial_2.log"]


def test_a_plain_script_and_its_job_start_the_same_ranks(place: Place, tmp_path: Path) -> None:
    noting(tmp_path, *_ASKED)
    (tmp_path / "run.sub").write_text(_PLAIN)
    env = {"NOTE": f"{tmp_path}/note.py", "dirty": "clean"}
    was = original(place, tmp_path, "sbatch", env)
    done = converted(place, tmp_path, ["run.sub"], env)
    assert done.status == 0, done.log
    assert ran(done.notes) == ran(was)
    assert done.order() == ["prepare", "run", "tidy"]
