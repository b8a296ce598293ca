"""`hpclaunch site`: the sites that --site knows."""

import click

from hpclaunch.cli.output import json_option, print_json
from hpclaunch.report.table import aligned
from hpclaunch.spec.dump import dump_site
from hpclaunch.spec.read import read_site
from hpclaunch.spec.search import by_name, site_folders


@click.group()
def site() -> None:
    """Sites: where jobs can go."""


@site.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the sites that can be named: yours, the system's and the shipped ones."""
    found = by_name(site_folders())
    if as_json:
        print_json([{"name": name, "file": file} for name, file in found.items()])
    else:
        click.echo(aligned(("NAME", "FILE"), list(found.items())))


@site.command()
@click.argument("name")
def show(name: str) -> None:
    """Show the site NAME (or a file's path) with everything that it extends put in."""
    click.echo(dump_site(read_site(name).value), nl=False)
