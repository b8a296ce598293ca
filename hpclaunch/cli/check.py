"""`hpclaunch check`."""

import click

from hpclaunch.cli.output import warn
from hpclaunch.cli.planning import job_argument, plan_all, set_option
from hpclaunch.spec.read import read_job


@click.command()
@job_argument
@click.option("--site", "site_name", metavar="SITE", help="Also check that this site can run it.")
@set_option
def check(job_file: str, site_name: str | None, sets: tuple[str, ...]) -> None:
    """Check a job file; nothing is asked of a scheduler."""
    points = ""
    if site_name is None:
        job = read_job(job_file, sets)
        if job.value.sweep is not None:
            from hpclaunch.cli.sweeps import of_document

            points = of_document(job)
        click.echo(f"{job_file}: {job.value.name} is a valid job{points}")
        return
    planned = plan_all(job_file, site_name, sets)
    first = planned[0]
    if first.sweep is not None:
        from hpclaunch.cli.sweeps import of_launches

        points = of_launches(planned)
    warn(*dict.fromkeys(warning for each in planned for warning in each.plan.warnings))
    click.echo(f"{job_file}: {first.job.value.name} can run on {first.plan.site}{points}")
