"""Where it is said what becomes of a job that does not end by itself."""

from collections.abc import Iterator

from hpclaunch.plan.origin import Origin, Place
from hpclaunch.spec.job import Job


def of_long_run(job: Job) -> Iterator[Origin]:
    """A row for each of it."""
    if job.requeue:
        yield Origin("requeue", "true", (_job("requeue"),))
    if job.signal is not None:
        text = f"{job.signal.name}, {job.signal.before} s before the time limit"
        yield Origin("signal", text, (_job("signal", "name"), _job("signal")))
    if job.chain is not None:
        yield Origin("chain", f"at most {job.chain} jobs, one after the other", (_job("chain"),))
    notify = job.notify
    if notify is not None:
        who = notify.webhook or notify.command or ""
        text = who if isinstance(who, str) else " ".join(who)
        yield Origin("notify", f"{text}{' (each start too)' if notify.start else ''}", (_job("notify"),))


def _job(*path: str) -> Place:
    return Place("job", path)
