"""`hpclaunch shell` on Kubernetes."""

import secrets
import signal
import time
from contextlib import ExitStack
from functools import partial

import click
from msgspec import structs

from hpclaunch.cli import following
from hpclaunch.cli.output import say, warn
from hpclaunch.cli.planning import Place, Planned
from hpclaunch.cli.submit import ask_the_cluster, destination, from_this_shell, record_of
from hpclaunch.plan.kubernetes import interactive
from hpclaunch.rank.pod import beside_rank
from hpclaunch.records.record import Record
from hpclaunch.render import script
from hpclaunch.render.interactive import SHELL
from hpclaunch.schedulers import ending, lifecycle
from hpclaunch.schedulers import kubernetes_inside as pods
from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.patience import Patience
from hpclaunch.spec.document import Document
from hpclaunch.spec.job import Job
from hpclaunch.values.errors import HpclaunchError, SchedulerError, first_line
from hpclaunch.values.job import JobStatus
from hpclaunch.values.pods import KubernetesTarget

_POLL_S = 0.5
_SLOWEST_POLL_S = 5.0
_MOMENTS = 10
_KILLED = (128 + signal.SIGKILL, 128 + signal.SIGTERM)  # by somebody, or with all that is in the pod


def run(job: Document[Job], place: Place, words: tuple[str, ...], dry_run: bool) -> int:
    """A pod for as long as `words`, or a shell, run in it; their exit status. Raises InputError, and
    SchedulerError."""
    planned = _planned(job, place)
    text = script.render(planned.plan)
    warn(*planned.plan.warnings)
    if not job.value.time:
        hours = interactive.LONGEST // 60
        warn(f"the job has no time limit, so the pod goes after {hours} hours: --set time=2h, for another")
    if dry_run:
        click.echo(text.encode(), nl=False)
        ask_the_cluster([planned], [text])
        return 0
    submission = from_this_shell(planned, warn)
    target = planned.plan.target
    assert isinstance(target, KubernetesTarget)
    container = pods.Place(target.worker.container)
    command = beside_rank("local", 0, 1, words or ("/bin/sh", "-c", SHELL))
    to = destination(planned)
    with ending.heeded(), ExitStack() as at_the_end:
        with ending.held_off():
            record = record_of(planned, text, to)
            at_the_end.callback(_give_back, record)
            try:
                lifecycle.submit(record, submission, say)
            except Refused:
                at_the_end.pop_all()
                raise
        _await(record)
        try:
            status = pods.run(record, container, command, warn)
        except SchedulerError as error:
            raise _ended(record) or error from None
        if status in _KILLED and (ended := _ended(record)):
            raise ended
        return status


def _planned(job: Document[Job], place: Place) -> Planned:
    if job.value.sweep is not None:
        job = place.plan(job, first=True)[0].job
    one = structs.replace(job, value=interactive.one_pod(job.value, secrets.token_hex(2)))
    (planned,) = place.plan(one)
    assert isinstance(planned.plan.target, KubernetesTarget)
    return structs.replace(planned, plan=interactive.held(planned.plan, planned.plan.target))


def _await(record: Record) -> None:
    """Until the pod runs; meanwhile says why it does not. Raises SchedulerError where it never will."""
    patience, interval, said = Patience(say), _POLL_S, ""
    while True:
        status = patience.ask(partial(_asked, record))
        if status is not None:
            if status.state == "RUNNING":
                return
            if status.has_ended or status.state == "UNKNOWN":
                raise SchedulerError(f"there is no pod to work in: {following.describe(status)}")
            if status.reason not in ("", said):
                say(f"{record.intent.name} waits: {status.reason}")
                said = status.reason
        time.sleep(interval)
        interval = min(interval * 1.5, _SLOWEST_POLL_S)


def _asked(record: Record) -> JobStatus:
    return lifecycle.ask([record], say)[record.tag]


def _ended(record: Record) -> SchedulerError | None:
    """Why the pod is no more, if it is not and that is known, which takes the cluster a moment."""
    for _ in range(_MOMENTS):
        try:
            status = _asked(record)
        except HpclaunchError:
            return None
        if status.has_ended:
            return SchedulerError(f"the pod has ended: {following.describe(status)}")
        time.sleep(_POLL_S)
    return None


def _give_back(record: Record) -> None:
    """Deletes the pod with all that belongs to it, whatever signal comes. Raises SchedulerError."""
    with ending.held_off():
        try:
            lifecycle.scheduler_of(record).cancel(record)
        except SchedulerError as error:
            name = record.intent.name
            raise SchedulerError(
                f"the pod of {name} may go on until its time is over: {first_line(error)}",
                f"`hpclaunch cancel {record.intent.site}/{name}` ends it.",
            ) from error
        last = record.state().status
        if last is None or not last.has_ended:
            done = structs.replace(
                last or JobStatus("COMPLETED"), state="COMPLETED", reason="its shell has ended"
            )
            lifecycle.note(say, "", partial(record.update, done))
