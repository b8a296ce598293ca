"""A script as sbatch runs it, and the job that hpclaunch makes of it and submits: each rank has the same
words and the same variables, under the same Slurm."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from command import hpclaunch
from realslurm import Slurm

_NAMES = ("HEAD", "TAG", "RATE", "MODE", "SEED", "SHARE", "OMP_NUM_THREADS")
# What each rank says of itself: one line, of less than a page, so that no two mix. The first node may have
# another name in each job.
_RANK = f"""\
#!/usr/bin/python3
import json, os, sys
def plain(text):
    return text.replace(os.environ["FIRST_NODE"], "FIRST") if text else text
own = {{name: plain(os.environ.get(name)) for name in {_NAMES!r}}}
line = [os.environ["SLURM_PROCID"], [plain(word) for word in sys.argv[1:]], own]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "said"), "ab", 0) as said:
    said.write((json.dumps(line) + "\\n").encode())
"""
_BEGIN = """\
#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=2 --gres=gpu:2 -t 5
export FIRST_NODE=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
"""
_TOLD_BY_SLURM = """\
MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | sed -n 1p)
export HEAD="tcp://${MASTER_ADDR}:1234" TAG=n$SLURM_NNODES-t$SLURM_NTASKS
export SHARE=$((SLURM_NTASKS / SLURM_JOB_NUM_NODES)) OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-3}
srun --mpi=none ./rank --world $SLURM_NTASKS --at "$HEAD"
"""
_DEFAULTS = """\
DATA=$UNGIVEN_SET
RATE=$RATE
MODE=${1:-slow}
export MODE SEED=${UNGIVEN_SEED:-7}
[[ -n "$DATA" ]] || DATA=/raid/sets
srun --mpi=none ./rank ${DATA} --rate ${RATE:-0.1} --fold ${SLURM_ARRAY_TASK_ID:-all}
"""
_TEXT = """\
export TAG='a  b'
LOCAL=here
srun --mpi=none bash -c 'export SHARE=$SLURM_LOCALID; ./rank "$TAG" ${SLURM_ARRAY_TASK_ID:-none} "$LOCAL"'
"""
_ARRAY = """\
RATES=(0.1 '0 2')
ARGS=(--rate "${RATES[1]}" '$HOME' '*')
ARGS+=("${RATES[@]}")
export RATE=${RATES[0]}
CMD=(srun --mpi=none ./rank)
"${CMD[@]}" "${ARGS[@]}"
"""
_BRANCHES = """\
launch() { local MODE=$1; shift; export MODE; srun --mpi=none ./rank "$@"; }
case $SLURM_NNODES in 1) TAG=one ;; *) TAG=many ;; esac
export TAG
if (( SLURM_NTASKS > 2 )); then export RATE=big; else export RATE=small; fi
launch quick x "y z"
"""
_OWN_WORDS = """\
#!/bin/bash
export RATE=0.5
sbatch --parsable --output=log -N 2 run.sh small "$UNGIVEN_SET"
"""
_OF_OWN_WORDS = """\
export MODE=$1
srun --mpi=none ./rank ${2:-none} $RATE
"""
_HERE_DOCUMENT = """\
#!/bin/bash
TAG=outer
export MODE=kept
sbatch --parsable --output=log <<EOF
#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=2 --gres=gpu:2 -t 5
export FIRST_NODE=\\$(scontrol show hostnames \\$SLURM_JOB_NODELIST | head -n 1)
export SHARE=\\$SLURM_NTASKS SEED=$TAG
srun --mpi=none ./rank $TAG \\$SHARE \\$MODE
EOF
"""
_FILES = {
    "values that Slurm tells": {"run.sh": _BEGIN + _TOLD_BY_SLURM},
    "defaults of what nobody gave": {"run.sh": _BEGIN + _DEFAULTS},
    "a text for a shell": {"run.sh": _BEGIN + _TEXT},
    "words of an array": {"run.sh": _BEGIN + _ARRAY},
    "functions and branches": {"run.sh": _BEGIN + _BRANCHES},
    "a submitter with words of its own": {"submit.sh": _OWN_WORDS, "run.sh": _BEGIN + _OF_OWN_WORDS},
    "a text that is submitted": {"submit.sh": _HERE_DOCUMENT},
}


def _said(folder: Path) -> list[Any]:
    lines = (folder / "said").read_text().splitlines()
    (folder / "said").unlink()
    return sorted(map(json.loads, lines))


def _original(slurm: Slurm, folder: Path, files: Mapping[str, str]) -> list[Any]:
    starts = ["./submit.sh"] if "submit.sh" in files else ["sbatch", "--parsable", "--output=log", "run.sh"]
    sent = slurm.run("bash", "-c", shlex.join(starts), cwd=folder)
    assert sent.stdout.strip().isdigit(), sent.stderr
    assert slurm.wait(int(sent.stdout)) == 0, (folder / "log").read_text()
    return _said(folder)


def _converted(slurm: Slurm, folder: Path, files: Mapping[str, str]) -> list[Any]:
    env = {**slurm.env, "HPCLAUNCH_HOME": str(folder / "home")}
    made = hpclaunch("convert", *files, "-o", "job.yaml", cwd=folder, env=env)
    assert made.returncode == 0, made.stderr
    assert "<ask: " not in (folder / "job.yaml").read_text()
    sent = hpclaunch("submit", "job.yaml", "--site", slurm.site, cwd=folder, env=env)
    assert sent.stdout.strip().isdigit(), sent.stderr
    assert slurm.wait(int(sent.stdout)) == 0
    return _said(folder)


@pytest.mark.parametrize("files", _FILES.values(), ids=_FILES)
def test_the_ranks_of_the_job_have_what_those_of_the_script_had(
    slurm_a100: Slurm, tmp_path: Path, files: dict[str, str]
) -> None:
    tmp_path.chmod(0o777)
    for name, text in {**files, "rank": _RANK}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    was = _original(slurm_a100, tmp_path, files)
    assert len(was) == 4
    assert _converted(slurm_a100, tmp_path, files) == was
