"""What is wrong with the keys of long runs. Jobs without them do not load this."""

from functools import partial

from hpclaunch.spec import check_text, findings, scalars
from hpclaunch.spec.job import Job
from hpclaunch.spec.longrun import NotifySpec
from hpclaunch.values.errors import Problem
from hpclaunch.values.longrun import LINK, RESTARTS

MAX_BEFORE = 65_535  # get_signal_opts in Slurm's src/common/proc_args.c

MAX_LINKS = 1000  # MaxArraySize of Slurm counts tasks, and is 1001 unless a site sets it

_check = partial(findings.check, "job")
_problem = partial(findings.problem, "job")


def problems(job: Job) -> list[Problem]:
    """All of it."""
    found: list[Problem] = []
    if job.signal is not None:
        found += _signal_problems(job, job.signal.before)
    if job.requeue:
        found += _set_elsewhere(job, RESTARTS, "with `requeue` it is how often the job was started again")
    if job.chain is not None:
        found += _chain_problems(job, job.chain)
    if job.notify is not None:
        found += _notify_problems(job, job.notify)
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


def _chain_problems(job: Job, links: int) -> list[Problem]:
    found = _set_elsewhere(job, LINK, "with `chain` it is the number of the link")
    if not 2 <= links <= MAX_LINKS:
        found.append(
            _problem(("chain",), f"{links} must be from 2 to {MAX_LINKS}: so many jobs follow each other")
        )
    if job.sweep is not None:
        found.append(_problem(("chain",), "a job is either a sweep or a chain: its points end by themselves"))
    return found


def _notify_problems(job: Job, notify: NotifySpec) -> list[Problem]:
    if (notify.command is None) == (notify.webhook is None):
        return [_problem(("notify",), "say who is told: either `command` or `webhook`")]
    found: list[Problem] = []
    if notify.command is not None:
        words = (notify.command,) if isinstance(notify.command, str) else notify.command
        if not words or not words[0].strip():
            found.append(_problem(("notify", "command"), "the command is empty"))
        for word in words:
            _check(found, ("notify", "command"), scalars.carried, word)
    if notify.webhook is not None and notify.webhook not in job.secrets:
        _check(found, ("notify", "webhook"), _url, notify.webhook)
    if notify.token is not None and notify.webhook is None:
        found.append(
            _problem(("notify", "token"), "it goes with a `webhook`: a command reads its own secrets")
        )
    elif notify.token is not None and notify.token not in job.secrets:
        message = f"{scalars.shown(notify.token)} is no name in `secrets`: a token is never in a job file"
        found.append(_problem(("notify", "token"), message))
    return found


def _url(text: str) -> None:
    check_text.line(text)
    scheme, _, rest = text.partition("://")
    if (
        scheme not in ("http", "https")
        or not rest.strip("/")
        or any(not 32 < ord(char) < 127 for char in text)
    ):
        raise ValueError(f"{scalars.shown(text)} is neither http(s)://HOST/... nor a name in `secrets`")
    if "@" in rest.partition("/")[0]:
        raise ValueError("the URL has a password in it: put the URL in a secret, and its name here")


def _set_elsewhere(job: Job, name: str, why: str) -> list[Problem]:
    found = [_problem(("env", name), why)] if name in job.env else []
    for key, names in (("inherit", job.inherit), ("secrets", job.secrets)):
        if name in names:
            found.append(_problem((key, names.index(name)), f"{name}: {why}"))
    return found
