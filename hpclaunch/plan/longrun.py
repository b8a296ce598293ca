"""What becomes of a job that does not end by itself: signals before its time limit, and further starts. Only
jobs that say something of it load this."""

from hpclaunch.spec.job import Job
from hpclaunch.spec.longrun import NotifySpec
from hpclaunch.values.launchplan import Common
from hpclaunch.values.longrun import LINK, RESTARTS, LongRun, Notify, WarnSignal
from hpclaunch.values.words import EnvVar, Option


def of_job(job: Job) -> LongRun:
    """What the job says of it, in no scheduler's words."""
    warn = WarnSignal(job.signal.name, job.signal.before) if job.signal is not None else None
    notify = _notify(job, job.notify) if job.notify is not None else None
    return LongRun(requeue=job.requeue, signal=warn, notify=notify, chain=job.chain or 0)


def _notify(job: Job, spec: NotifySpec) -> Notify:
    named = spec.webhook is not None and spec.webhook in job.secrets
    command = spec.command or ()
    return Notify(
        command=("/bin/sh", "-c", command) if isinstance(command, str) else command,
        folder=job.directory or "/",
        webhook="" if named else spec.webhook or "",
        webhook_secret=spec.webhook or "" if named else "",
        token=spec.token or "",
        start=spec.start,
    )


def of_sbatch(run: LongRun) -> tuple[Option, ...]:
    """Options of sbatch. Without `B:` before its name a signal goes to the steps' processes and not to the
    script (send_job_warn_signal in src/slurmctld/job_mgr.c, 20.11 to 26.05)."""
    found = []
    if run.signal is not None:
        text = f"--signal={run.signal.name}@{run.signal.before}"
        found.append(Option(text, "to the ranks; Slurm may send it up to a minute earlier"))
    if run.chain:
        found.append(Option(f"--array=0-{run.chain - 1}%1", "links, one after the other until one is done"))
    return tuple(found)


def told_by_slurm(run: LongRun) -> tuple[EnvVar, ...]:
    """Variables of ranks, each with the name of Slurm's own that has its value. Slurm sets none before the
    first restart."""
    found = []
    if run.requeue:
        found.append(EnvVar(RESTARTS, "SLURM_RESTART_COUNT", "hpclaunch"))
    if run.chain:
        found.append(EnvVar(LINK, "SLURM_ARRAY_TASK_ID", "hpclaunch"))
    return tuple(found)


def warnings_of_slurm(run: LongRun, common: Common) -> list[str]:
    """What Slurm does not do."""
    after = any(step.when == "after" for step in common.steps)
    if run.signal is None or run.signal.name == "TERM" or not after:
        return []
    return [
        f"Slurm sends one signal before a time limit, and that is {run.signal.name} of `signal`: the `after` "
        "steps are run before the limit only where the ranks end on that signal"
    ]


def unheeded(job: Job, scheduler: str) -> list[str]:
    """A warning for each key that another scheduler than Slurm does nothing with."""
    found = []
    if job.requeue:
        found.append(f"requeue has no effect: {_RETRIES[scheduler]}")
    if job.signal is not None:
        found.append(f"signal has no effect: {_SIGNALS[scheduler]}")
    if job.chain is not None:
        found.append("chain has no effect: the job runs once, and no other follows it")
    if job.notify is not None:
        found.append("notify has no effect: only scripts of Slurm tell others of a job's end")
    return found


_RETRIES = {
    "kubernetes": "a job that loses a pod ends here, and is not started again",
    "local": "this machine has no scheduler that would start the job again",
}
_SIGNALS = {
    "kubernetes": "nothing signals pods before their time limit; at the limit they get SIGTERM, and 30 s "
    "later SIGKILL",
    "local": "on this machine nothing signals ranks before the time limit; at the limit they get SIGTERM",
}
