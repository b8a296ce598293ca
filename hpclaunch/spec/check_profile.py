"""What is wrong with a profile. Jobs without one do not load this."""

from functools import partial

from hpclaunch.spec import check_text, findings
from hpclaunch.spec.job import Job
from hpclaunch.spec.profile import ProfileSpec
from hpclaunch.values.errors import Problem

_check = partial(findings.check, "job")
_problem = partial(findings.problem, "job")


def problems(job: Job, profile: ProfileSpec) -> list[Problem]:
    """All of it."""
    found: list[Problem] = []
    if not profile.ranks:
        found.append(_problem(("profile", "ranks"), "the list is empty: leave `profile` out"))
    for index, rank in enumerate(profile.ranks):
        if rank in profile.ranks[:index]:
            found.append(_problem(("profile", "ranks", index), f"rank {rank} stands twice"))
    for index, word in enumerate(profile.args):
        _check(found, ("profile", "args", index), check_text.line, word)
    if profile.output is not None:
        _check(found, ("profile", "output"), check_text.line, profile.output)
        if job.image is not None and not profile.output.startswith("/"):
            message = "with an image it is a folder in the container, a whole path such as /results/profiles"
            found.append(_problem(("profile", "output"), message))
    elif job.image is not None:
        message = "with an image say in which folder of the container, such as one of a mount"
        found.append(_problem(("profile",), f"output is missing: {message}"))
    for key in ("trials", "setup", "before_each", "after"):
        if getattr(job, key):
            message = f"a job with `{key}` cannot be profiled: its steps are started as its ranks are"
            found.append(_problem(("profile",), message))
    if job.groups:
        message = "a job with `groups` cannot be profiled: put the profiler into a group's command"
        found.append(_problem(("profile",), message))
    return found
