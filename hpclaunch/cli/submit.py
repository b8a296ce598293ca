"""`hpclaunch submit`."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import click
import msgspec
from msgspec import Struct

from hpclaunch.cli import following, locking
from hpclaunch.cli.output import say, warn
from hpclaunch.cli.planning import Planned, read_both, set_option
from hpclaunch.cli.reach import slurm_conf_of
from hpclaunch.cli.submission import submission_of
from hpclaunch.records.record import Cluster, Record
from hpclaunch.records.sets import ALONE, Among, Take, take_alone
from hpclaunch.render import script
from hpclaunch.schedulers import lifecycle
from hpclaunch.schedulers.contract import Refused, Scheduler
from hpclaunch.spec.dump import dump_job, dump_site
from hpclaunch.values.errors import InputError, SchedulerError, first_line
from hpclaunch.values.job import Submission
from hpclaunch.values.pods import KubernetesTarget
from hpclaunch.values.slurmaccess import SlurmAccess


@click.command()
@click.argument("job_files", metavar="JOB...", nargs=-1, type=click.Path())
@click.option("--site", "site_name", metavar="SITE", help="A site's name, or the path of its file.")
@click.option("--local", "here", is_flag=True, help="Run it on this machine: --site local.")
@set_option
@click.option("--verify", is_flag=True, help="Ranks report where they are, for `hpclaunch verify`.")
@click.option("--dry-run", is_flag=True, help="Print what would be sent, and send nothing.")
@click.option(
    "--resume",
    "resumes",
    is_flag=True,
    help="Of submissions whose end nobody saw (all, or those of these tags): find the jobs, or send them.",
)
@click.option("--wait", is_flag=True, help="Wait for the end, and exit with the job's own status.")
@click.option("--follow", is_flag=True, help="Print the job's output on standard error until it ends.")
def submit(
    job_files: tuple[str, ...],
    site_name: str | None,
    here: bool,
    sets: tuple[str, ...],
    verify: bool,
    dry_run: bool,
    resumes: bool,
    wait: bool,
    follow: bool,
) -> None:
    """Submit a job, or several. Prints the job id alone on standard output; of several each on its line."""
    if resumes:
        if site_name is not None or here or sets or verify:
            raise InputError(
                "--resume sends what was recorded: --dry-run, --wait and --follow may go with it"
            )
        sys.exit(_resume(job_files, dry_run, wait, follow))
    if not job_files:
        raise InputError("say which job: hpclaunch submit JOB --site SITE")
    if here == (site_name is not None):
        raise InputError("say where the job runs: either --site SITE or --local")
    sets += ("verify=true",) if verify else ()
    if not dry_run:
        locking.begin(job_files[0])
    # An empty name is that of no site: a variable that is not set is no reason to run here.
    job, place = read_both(job_files[0], "local" if site_name is None else site_name, sets)
    if len(job_files) > 1 or job.value.sweep is not None or job.value.depends_on:
        from hpclaunch.cli import several  # most submissions are of one job

        sys.exit(several.submit(job_files, place, sets, dry_run=dry_run, wait=wait, follow=follow))
    (planned,) = place.plan(job)
    text = script.render(planned.plan)
    warn(*planned.plan.warnings)
    if dry_run:
        click.echo(text.encode(), nl=False)
        ask_the_cluster([planned], [text])
        return
    submission = from_this_shell(planned, warn)
    record = record_of(planned, text, destination(planned))
    tell(lifecycle.submit(record, submission, say))
    if follow:
        sys.exit(following.follow(record, sys.stderr.buffer))
    if wait:
        sys.exit(following.wait(record))


def _resume(tags: tuple[str, ...], dry_run: bool, wait: bool, follow: bool) -> int:
    """The exit status."""
    from hpclaunch.cli import resume  # hardly a submission breaks off

    if follow and len(tags) != 1:
        raise InputError("--follow prints the output of one job: give its tag")
    records, status = resume.run(tags, not dry_run)
    ends = [
        following.follow(record, sys.stderr.buffer) if follow else following.wait(record)
        for record in records
        if follow or wait
    ]
    return status or next((end for end in ends if end), 0)


def tell(job_id: str) -> None:
    """Prints the id, at once: whoever reads it need not wait for the job's end."""
    try:
        click.echo(job_id)
        sys.stdout.flush()
    except OSError as error:
        # The job is there, and must not be submitted again because nobody learnt of it.
        say(f"the job is submitted, and its id is {job_id}; standard output did not take it: {error}")


def from_this_shell(planned: Planned, warn: Callable[[str], None]) -> Submission:
    """The values that the job takes from here. Raises InputError for a secret that is not set."""
    return submission_of(planned.plan, lambda index: planned.job.locate(("secrets", index)), warn)


class Destination(Struct, frozen=True):
    """The scheduler that jobs of a site go to, and how later commands reach it."""

    scheduler: Scheduler
    version: str
    slurm_conf: str | None
    cluster: Cluster | None
    access: SlurmAccess | None
    site_yaml: str


def destination(planned: Planned) -> Destination:
    """Where the job goes. Raises SchedulerError where there is no scheduler."""
    site = planned.site.value
    slurm_conf, access = slurm_conf_of(site), site.access
    cluster = _cluster(planned)
    scheduler = lifecycle.scheduler(planned.plan.scheduler, slurm_conf, cluster, access)
    return Destination(
        scheduler, scheduler.version(), slurm_conf, cluster, access, dump_site(planned.site.value)
    )


def record_of(
    planned: Planned,
    text: str,
    to: Destination,
    job_yaml: str = "",
    tag: str = "",
    more: Mapping[str, bytes] = MappingProxyType({}),
    among: Among = ALONE,
    take: Take = take_alone,
) -> Record:
    """The record of what is about to leave; `job_yaml` is what its job file says, where that is more than the
    plan's own job. Raises HpclaunchError."""
    plan = planned.plan
    long_run = plan.common.long_run
    links = long_run.chain if long_run is not None and plan.scheduler == "slurm" else 0
    if planned.site.value.ssh is not None:
        from hpclaunch.cli.staging import kept

        more = {**more, **kept(planned.job.value, planned.site.value)}
    more = {**more, **locking.kept(planned)}
    return Record.create(
        site=plan.site,
        scheduler=plan.scheduler,
        name=plan.common.name,
        script=text,
        plan=msgspec.json.encode(plan),
        job_yaml=job_yaml or dump_job(planned.job.value),
        site_yaml=to.site_yaml,
        directory=planned.job.value.directory,
        argv=sys.argv,
        scheduler_version=to.version,
        slurm_conf=to.slurm_conf,
        cluster=to.cluster,
        slurm=to.access,
        tasks=len(plan.common.sweep.points) if plan.common.sweep else links,
        chain=links > 0,
        tag=tag,
        more=more,
        among=among,
        take=take,
    )


def _cluster(planned: Planned) -> Cluster | None:
    """The Kubernetes cluster that the job goes to. Raises SchedulerError where this shell knows of none."""
    target = planned.plan.target
    if not isinstance(target, KubernetesTarget):
        return None
    from hpclaunch.schedulers.kubernetes_login import resolve

    return resolve(target.namespace, target.context or None, os.environ)


def ask_the_cluster(planned: Sequence[Planned], texts: Sequence[str]) -> None:
    """A dry run by the cluster itself. It needs no cluster: who prints texts for others has none. Raises
    Refused where the cluster would not take them."""
    sys.stdout.flush()
    if planned[0].plan.scheduler == "slurm":
        from hpclaunch.cli import estimate

        estimate.tell(planned, texts)
    elif len(planned) == 1:
        _ask_kubernetes(planned[0], texts[0])


def _ask_kubernetes(planned: Planned, text: str) -> None:
    try:
        cluster = _cluster(planned)
        if cluster is None:
            return
        from hpclaunch.schedulers.kubernetes import Kubernetes

        remarks = Kubernetes(cluster).check(text)
    except Refused:
        raise
    except SchedulerError as error:
        say(f"not checked by the cluster: {first_line(error)}")
        return
    warn(*remarks)
    say(f"the cluster would take it ({cluster.context or 'the cluster of this pod'}, {cluster.namespace})")
