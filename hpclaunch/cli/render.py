"""`hpclaunch render`."""

import click

from hpclaunch.cli.output import say, warn
from hpclaunch.cli.planning import job_argument, plan_all, set_option, site_option
from hpclaunch.cli.writing import put
from hpclaunch.render import script


@click.command()
@job_argument
@site_option
@set_option
@click.option("-o", "--output", metavar="PATH", help="Write there, and not to standard output.")
def render(job_file: str, site_name: str, sets: tuple[str, ...], output: str | None) -> None:
    """Print exactly what `submit` would send."""
    launches = plan_all(job_file, site_name, sets)
    planned = launches[0]
    if planned.sweep is not None:
        from hpclaunch.cli import sweeps  # most jobs need not pay for it

        sweeps.render(launches, output)
        return
    if planned.job.value.depends_on:
        say("what the job waits for is not in the script: submit gives it to sbatch")
    text = script.render(planned.plan)
    warn(*planned.plan.warnings)
    put(text, output, 0o644 if planned.plan.scheduler == "kubernetes" else 0o755)
