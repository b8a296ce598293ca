"""`hpclaunch check`."""

import click

from hpclaunch.cli.output import warn
from hpclaunch.cli.planning import job_argument, plan_job, set_option
from hpclaunch.spec.read import read_job


@click.command()
@job_argument
@click.option("--site", "site_name", metavar="SITE", help="Also check that this site can run it.")
@set_option
def check(job_file: str, site_name: str | None, sets: tuple[str, ...]) -> None:
    """Check a job file; nothing is asked of a scheduler."""
    if site_name is None:
        job = read_job(job_file, sets).value
        click.echo(f"{job_file}: {job.name} is a valid job")
        return
    planned = plan_job(job_file, site_name, sets)
    warn(*planned.plan.warnings)
    click.echo(f"{job_file}: {planned.plan.common.name} can run on {planned.plan.site}")
