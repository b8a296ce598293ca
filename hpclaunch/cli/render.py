"""`hpclaunch render`."""

import os
import tempfile

import click

from hpclaunch.cli.planning import job_argument, plan_job, set_option, site_option, warn
from hpclaunch.render import script


@click.command()
@job_argument
@site_option
@set_option
@click.option("-o", "--output", metavar="PATH", help="Write there, and not to standard output.")
def render(job_file: str, site_name: str, sets: tuple[str, ...], output: str | None) -> None:
    """Print exactly what `submit` would send."""
    planned = plan_job(job_file, site_name, sets)
    text = script.render(planned.plan)
    warn(planned.plan)
    if output is None:
        click.echo(text, nl=False)
        return
    # Whole or not at all: a script that was cut short must not be submitted.
    folder = os.path.dirname(os.path.abspath(output))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".hpclaunch-")
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        os.fchmod(file.fileno(), 0o755)
    os.replace(temporary, output)
