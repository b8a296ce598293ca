"""`hpclaunch render`."""

import os
import tempfile

import click

from hpclaunch.cli.output import warn
from hpclaunch.cli.planning import job_argument, plan_job, set_option, site_option
from hpclaunch.render import script
from hpclaunch.values.errors import InputError


@click.command()
@job_argument
@site_option
@set_option
@click.option("-o", "--output", metavar="PATH", help="Write there, and not to standard output.")
def render(job_file: str, site_name: str, sets: tuple[str, ...], output: str | None) -> None:
    """Print exactly what `submit` would send."""
    planned = plan_job(job_file, site_name, sets)
    text = script.render(planned.plan)
    warn(*planned.plan.warnings)
    if output is None:
        click.echo(text.encode(), nl=False)  # UTF-8 in every locale, as submit sends it
        return
    try:
        _write(os.path.realpath(output), text)
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}") from None


def _write(path: str, text: str) -> None:
    """A file appears whole or not at all: a script that was cut short must not be submitted. What is no file
    (/dev/stdout, a pipe) is written to, and never replaced. Raises OSError."""
    if os.path.lexists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8", newline="") as device:
            device.write(text)
        return
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".hpclaunch-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o755)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
