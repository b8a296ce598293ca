"""What a script sets up for its own end, and for signals: which of it the job does behind its ranks."""

import pytest
from step_cases import SRUN, left, of, runs, text_of


@pytest.mark.parametrize("text", ["'rm -rf /scratch/x'", "cleanup", '"rm -rf $D/x"'])
def test_a_trap_of_the_scripts_end_runs_behind_all_that_follows_the_run(text):
    lines = (
        "cleanup() { rm -rf /scratch/x; }",
        f"trap {text} EXIT INT",
        f"{SRUN} ./train",
        "touch /home/done",
    )
    job, _ = of("D=/scratch", *lines)
    assert "setup" not in job
    assert runs(job, "after") == ["touch /home/done", "rm -rf /scratch/x"]


def test_a_trap_has_the_jobs_own_variables_where_it_is_run():
    job, _ = of('trap "rm -rf /scratch/$SLURM_JOB_ID" EXIT', f"{SRUN} ./train")
    assert runs(job, "after") == ["rm -rf /scratch/$SLURM_JOB_ID"]


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
    _, found = of(f"trap {trap} EXIT", f"{SRUN} ./train")
    assert bool(left(found, 1)) == is_left


@pytest.mark.parametrize("signal", ["ERR", "USR1", "SIGTERM"])
def test_a_trap_of_another_signal_is_no_step(signal):
    job, found = of(f"trap 'touch /lustre/stop' {signal}", f"{SRUN} ./train")
    assert not {"setup", "after"} & set(job)
    assert "signal" in left(found, 1)


def test_of_two_traps_of_the_end_none_is_carried():
    job, found = of("trap 'rm -rf /a' EXIT", "trap 'rm -rf /b' EXIT", f"{SRUN} ./train")
    assert "after" not in job
    assert "rm -rf /a" in left(found, 1)
    assert "rm -rf /b" in left(found, 2)


def test_a_srun_of_a_trap_is_not_the_run():
    job, _ = of(f"{SRUN} ./train", f"trap '{SRUN} ./save.py' EXIT")
    assert text_of(job["command"]) == "./train"
