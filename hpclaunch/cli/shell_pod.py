"""`hpclaunch shell` on Kubernetes."""

import secrets

import click
from msgspec import structs

from hpclaunch.cli.output import say, warn
from hpclaunch.cli.planning import Place, Planned
from hpclaunch.cli.submit import ask_the_cluster, destination, from_this_shell, record_of
from hpclaunch.plan.kubernetes import interactive
from hpclaunch.rank.pod import beside_rank
from hpclaunch.render import script
from hpclaunch.render.interactive import SHELL
from hpclaunch.schedulers import kubernetes_shell
from hpclaunch.spec.document import Document
from hpclaunch.spec.job import Job
from hpclaunch.values.pods import KubernetesTarget


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
    command = beside_rank("local", 0, 1, words or ("/bin/sh", "-c", SHELL))
    to = destination(planned)
    return kubernetes_shell.run(
        lambda: record_of(planned, text, to), submission, target.worker.container, command, say, warn
    )


def _planned(job: Document[Job], place: Place) -> Planned:
    if job.value.sweep is not None:
        job = place.plan(job, first=True)[0].job
    one = structs.replace(job, value=interactive.one_pod(job.value, secrets.token_hex(2)))
    (planned,) = place.plan(one)
    assert isinstance(planned.plan.target, KubernetesTarget)
    return structs.replace(planned, plan=interactive.held(planned.plan, planned.plan.target))
