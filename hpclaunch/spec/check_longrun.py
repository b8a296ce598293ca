"""What is wrong with the keys of long runs. Jobs without them do not load this."""

from functools import partial

from hpclaunch.spec import findings
from hpclaunch.spec.job import Job
from hpclaunch.values.errors import Problem
from hpclaunch.values.longrun import RESTARTS

MAX_BEFORE = 65_535  # get_signal_opts in Slurm's src/common/proc_args.c

_problem = partial(findings.problem, "job")


def problems(job: Job) -> list[Problem]:
    """All of it."""
    found: list[Problem] = []
    if job.signal is not None:
        found += _signal_problems(job, job.signal.before)
    if job.requeue:
        found += _set_elsewhere(job, RESTARTS, "with `requeue` it is how often the job was started again")
    return found


def _signal_problems(job: Job, before: int) -> list[Problem]:
    path = ("signal", "before")
    if not 1 <= before <= MAX_BEFORE:
        return [_problem(path, f"{before} s must be from 1 to {MAX_BEFORE} s")]
    if job.time == 0:
        return [_problem(("signal",), "`time` is without limit, so there is nothing to send it before")]
    if job.time is not None and before >= job.time * 60:
        return [_problem(path, f"{before} s is all of the time that the job has ({job.time * 60} s)")]
    return []


def _set_elsewhere(job: Job, name: str, why: str) -> list[Problem]:
    found = [_problem(("env", name), why)] if name in job.env else []
    for key, names in (("inherit", job.inherit), ("secrets", job.secrets)):
        if name in names:
            found.append(_problem((key, names.index(name)), f"{name}: {why}"))
    return found
