"""What a script sets up for its own end, and for signals: which of it the job does behind its ranks."""

import shlex

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_S = "srun --mpi=pmix --container-image=a/b:c"


def _of(*lines, **env):
    found = convert(classified({"run.sub": _HEAD + "\n".join(lines) + "\n"}), Options(env))
    return script_cases.loaded(found.job), found


def _text(run):
    return run if isinstance(run, str) else shlex.join(run)


def _runs(job, key):
    return [_text(each["run"]) for each in job.get(key, ())]


def _left(found, line):
    """What is said to be left of a line behind the two of the head."""
    its = [
        each for each in found.findings if each.kind == "left" and line + 2 in [p.line for p in each.places]
    ]
    return " ".join(f"{each.what}: {each.why}" for each in its)


@pytest.mark.parametrize("text", ["'rm -rf /scratch/x'", "cleanup", '"rm -rf $D/x"'])
def test_a_trap_of_the_scripts_end_runs_behind_all_that_follows_the_run(text):
    lines = ("cleanup() { rm -rf /scratch/x; }", f"trap {text} EXIT INT", f"{_S} ./train", "touch /home/done")
    job, _ = _of("D=/scratch", *lines)
    assert "setup" not in job
    assert _runs(job, "after") == ["touch /home/done", "rm -rf /scratch/x"]


def test_a_trap_has_the_jobs_own_variables_where_it_is_run():
    job, _ = _of('trap "rm -rf /scratch/$SLURM_JOB_ID" EXIT', f"{_S} ./train")
    assert _runs(job, "after") == ["rm -rf /scratch/$SLURM_JOB_ID"]


@pytest.mark.parametrize(
    ("trap", "is_left"),
    [
        ("'mytool --clean'", True),
        ('"mytool $SLURM_JOB_ID"', True),
        ('"$CLEANING"', True),
        ('"kill $PID; exit 1"', False),
        ("'echo ended'", False),
        ("-", False),
    ],
)
def test_a_trap_that_starts_something_is_never_without_effect(trap, is_left):
    _, found = _of(f"trap {trap} EXIT", f"{_S} ./train")
    assert bool(_left(found, 1)) == is_left


@pytest.mark.parametrize("signal", ["ERR", "USR1", "SIGTERM"])
def test_a_trap_of_another_signal_is_no_step(signal):
    job, found = _of(f"trap 'touch /lustre/stop' {signal}", f"{_S} ./train")
    assert not {"setup", "after"} & set(job)
    assert "signal" in _left(found, 1)


def test_of_two_traps_of_the_end_none_is_carried():
    job, found = _of("trap 'rm -rf /a' EXIT", "trap 'rm -rf /b' EXIT", f"{_S} ./train")
    assert "after" not in job
    assert "rm -rf /a" in _left(found, 1)
    assert "rm -rf /b" in _left(found, 2)


def test_a_srun_of_a_trap_is_not_the_run():
    job, _ = _of(f"{_S} ./train", f"trap '{_S} ./save.py' EXIT")
    assert _text(job["command"]) == "./train"
