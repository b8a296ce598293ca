"""What becomes of an option of srun that says nothing about sizes, containers, MPI or binding."""

import math
import re

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch import batch_options, gpu_binding
from hpclaunch.convert.mapping.slurm.batch.allocation import NO_LIMIT, WITHOUT_LIMIT
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, is_of_many
from hpclaunch.spec import scalars

# Read elsewhere: sizes, MPI, binding, container.
_READ = """
nodes ntasks ntasks-per-node ntasks-per-gpu gres gpus gpus-per-node gpus-per-task mpi cpu-bind mem-bind
container-image container-mounts container-name container-workdir container-mount-home container-save
no-container-mount-home container-remap-root no-container-remap-root container-entrypoint container-env
no-container-entrypoint container-writable container-readonly container-unshare container-entrypoint-log
"""
_READ_ELSEWHERE = frozenset(_READ.split())
ONE_AT_A_TIME = "a job's steps run one after the other, each with all that the job has"
_REPLACED = {
    "kill-on-bad-exit": "the first rank that fails ends its run, and its status is the job's",
    "wait": "the first rank that fails ends its run; where one ends well the others go on up to `time`",
    "overlap": ONE_AT_A_TIME,
    "exact": ONE_AT_A_TIME,
    "exclusive": ONE_AT_A_TIME,
    "whole": ONE_AT_A_TIME,
    "immediate": "a job waits in the queue until its nodes are free",
    "job-name": "the job has one name",
    "quiet": "`hpclaunch logs` shows the output",
    "verbose": "`hpclaunch explain` and `hpclaunch verify` show where ranks are",
    "jobid": "the step is in its own job",
    "external-launcher": "srun starts the ranks itself",
    "account": "the job has one",
    "partition": "the job has one",
    "qos": "the job has one",
    "reservation": "a step runs in what its job has, and takes no reservation of its own",
    "comment": "hpclaunch marks each submission with its own comment, so that none is lost or sent twice",
}
# What a step of srun may have of them is as it is in each job.
OF_EVERY_JOB = frozenset(_REPLACED)
_LEFT = {
    "multi-prog": "write a group for each program, or let one command choose by its rank",
    "pty": "a job has no terminal",
    "het-group": "write a group for each component, with its nodes and its command",
    "relative": "a job's ranks are on all of its nodes",
    "nodelist": "a job's ranks are on all of its nodes; to choose nodes write sites.NAME.nodelist",
    "exclude": "a job's ranks are on all of its nodes; to leave out nodes write sites.NAME.exclude",
    "input": "ranks read nothing from standard input; name the file in the command",
}
_DEPENDS = re.compile(r"\$\{\w+\+")  # ${NAME:+...}


def put(each: Asked, draft: Draft) -> None:
    """Put what the option of the run says into the draft, or a finding about it."""
    name = each.name
    if name in _READ_ELSEWHERE or name in gpu_binding.NAMES:
        return
    if name == "time":
        _limit(each, draft)
    elif name in _REPLACED:
        draft.say("replaced", each.places, each.written, why=_REPLACED[name])
    elif name in _LEFT:
        draft.say("left", each.places, each.written, why="a job file has no key for it", todo=_LEFT[name])
    elif name in ("label", "unbuffered"):
        why = "how lines of output are marked and kept back"
        batch_options.raw(each, draft, why, "srun")
    elif name in batch_options.NAMES_IMAGE:
        batch_options.ask_image(each, draft)
    elif name in batch_options.KNOWN:
        batch_options.put(each, draft)
    elif not name and "--container-mounts" in each.written:
        question = f"SRC:DST for {each.written}: whether it is mounted is not told"
        todo = "write it in the job file, or take the line out of it where it is not to be mounted"
        draft.ask(("mounts", draft.count("mounts")), question, each.places, each.written, todo=todo)
    elif not name and _DEPENDS.match(each.written):
        question = f"whether srun gets {each.written}: what it depends on is not told"
        draft.say("question", each.places, each.written, why=question, todo=batch_options.GIVE)
    elif is_of_many(each):
        question = f"which options of srun {each.written} stands for is not told"
        draft.say("question", each.places, each.written, why=question, todo=batch_options.GIVE)
    elif not name:
        draft.say("unread", each.places, each.written, why="no option of srun or Pyxis that is known")
    else:
        why = "an option of srun that a job file has no key for"
        batch_options.raw(each, draft, why, "srun")


def _limit(each: Asked, draft: Draft) -> None:
    """The limit of one run, where a job has that of all its runs and steps together."""
    of_job = draft.facts.get(("time",))
    if of_job is None:
        draft.findings[:] = [found for found in draft.findings if found.what != NO_LIMIT]
        question = (
            f"the time limit of the job: {each.written} is that of this run alone, and no line gives another"
        )
        draft.ask(("time",), question, each.places, each.written)
    elif not of_job.is_open and _minutes(each.text) >= _minutes(of_job.value):
        draft.say("replaced", each.places, each.written, why="the job's limit, `time`, is no longer")
    else:
        why = "it ends this run alone, and a job has one limit for all that it does"
        todo = (
            "lower `time`, or start the command by `timeout`, where a run that hangs is to end before the job"
        )
        draft.say("left", each.places, each.written, why=why, todo=todo)


def _minutes(text: str | None) -> float:
    """A limit as srun takes it: 0 is none (srun(1), --time); 0 minutes for one that is not told."""
    if text is None:
        return 0
    if text.lower() in WITHOUT_LIMIT:
        return math.inf
    try:
        return scalars.minutes(text)
    except ValueError:
        return 0
