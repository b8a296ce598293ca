"""What is wrong with the keys for what a job does beside its ranks. Jobs without them do not load this."""

import os.path
from functools import partial

from hpclaunch.spec import check_text, findings, scalars, stagein
from hpclaunch.spec.job import ImageSpec, Job, StageInSpec, StepSpec, TrialsSpec
from hpclaunch.values.errors import Path, Problem
from hpclaunch.values.names import TRIAL, acts_on_commands

MAX_TRIALS = 100
MAX_SEED = 2**31 - 1  # what every generator of random numbers takes: a C int that is not negative

# Names that the plan, MPI or the GPUs' libraries give a meaning: a random number there breaks the ranks.
_TAKEN = ("CUDA_", "NVIDIA_", "NCCL_", "UCX_", "OMPI_", "PMIX_", "PMI_", "MELLANOX_", "HPCLAUNCH_")

_LONGEST_NAME = 100

_check = partial(findings.check, "job")
_problem = partial(findings.problem, "job")


def steps_problems(job: Job) -> list[Problem]:
    """All of it."""
    found: list[Problem] = []
    if isinstance(job.image, ImageSpec) and job.image.import_ is not None:
        _check(found, ("image", "import"), _import, job.image.import_)
    for index, entry in enumerate(job.stage_in):
        _check(found, ("stage_in", index), _stage_in, entry)
    for when in ("setup", "before_each", "after"):
        for index, step in enumerate(getattr(job, when)):
            found += _step_problems(step, (when, index))
    if isinstance(job.trials, int):
        found += _trials_problems(job, TrialsSpec(job.trials), ())
    elif job.trials is not None:
        found += _trials_problems(job, job.trials, ("count",))
    return found


def _import(text: str) -> None:
    if text == "shared":
        return
    if not text.startswith("/"):
        raise ValueError(f"{scalars.shown(text)}: write shared, or a folder that all nodes see, with / first")
    check_text.line(text)


def _stage_in(entry: str | StageInSpec) -> None:
    complaint = stagein.complaint(stagein.long_form(entry) if isinstance(entry, str) else entry)
    if complaint:
        raise ValueError(complaint)


def _step_problems(step: StepSpec, path: Path) -> list[Problem]:
    found: list[Problem] = []
    words = (step.run,) if isinstance(step.run, str) else step.run
    if not words or not words[0].strip():
        found.append(_problem((*path, "run"), "the command is empty"))
    for word in words:
        _check(found, (*path, "run"), scalars.carried, word)
    if step.name is not None:
        _check(found, (*path, "name"), _name, step.name)
    return found


def _name(text: str) -> None:
    check_text.line(text)
    if not text.isprintable():
        raise ValueError(f"{scalars.shown(text)} has a character that cannot be printed")
    if len(text) > _LONGEST_NAME:
        raise ValueError(f"{len(text)} characters, and messages say it: at most {_LONGEST_NAME}")


def _trials_problems(job: Job, trials: TrialsSpec, count: Path) -> list[Problem]:
    found: list[Problem] = []
    if not 1 <= trials.count <= MAX_TRIALS:
        message = f"{trials.count} must be from 1 to {MAX_TRIALS}: they run one after the other"
        found.append(_problem(("trials", *count), message))
    if trials.seed is not None:
        found += _seed_problems(job, trials.seed, () if count == () else ("seed",))
    elif trials.first_seed is not None:
        message = "no variable has it: `seed` is null"
        found.append(_problem(("trials", "first_seed"), message))
    if trials.first_seed is not None:
        last = trials.first_seed + max(trials.count, 1) - 1
        if trials.first_seed < 0 or last > MAX_SEED:
            message = f"the seeds {trials.first_seed} to {last} must be from 0 to {MAX_SEED}"
            found.append(_problem(("trials", "first_seed"), message))
    if trials.log is not None:
        _check(found, ("trials", "log"), partial(_log, trials.count), trials.log)
    found += _set_elsewhere(job, TRIAL, "it is the number of the trial")
    return found


def _log(count: int, text: str) -> None:
    check_text.line(text)
    if text.startswith("~"):
        raise ValueError(f"~ is not expanded in {scalars.shown(text)}: write the whole path")
    if text.rpartition("/")[2] in ("", ".", ".."):
        raise ValueError(f"{scalars.shown(text)} is a folder, not a file")
    if count > 1 and "{trial}" not in os.path.normpath(text):
        raise ValueError(f"{scalars.shown(text)} has no {{trial}} in it: each trial needs a file of its own")


def _seed_problems(job: Job, name: str, path: Path) -> list[Problem]:
    found: list[Problem] = []
    _check(found, ("trials", *path), scalars.variable_name, name)
    if name in ("PATH", "HOME") or name.startswith(_TAKEN) or acts_on_commands(name):
        message = f"{name} means something to what starts the job: take another name"
        found.append(_problem(("trials", *path), message))
    advice = "each trial has its own; leave it out and write `first_seed` there, or write `seed: null`"
    return found + _set_elsewhere(job, name, f"trials.seed sets it, {advice}")


def _set_elsewhere(job: Job, name: str, why: str) -> list[Problem]:
    if name in job.env:
        return [_problem(("env", name), why)]
    for key, names in (("inherit", job.inherit), ("secrets", job.secrets)):
        if name in names:
            return [_problem((key, names.index(name)), f"{name}: {why}")]
    return []
