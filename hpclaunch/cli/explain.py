"""`hpclaunch explain`."""

import click

from hpclaunch.cli.output import json_option, print_json, warn
from hpclaunch.cli.planning import job_argument, plan_job, set_option, site_option
from hpclaunch.report import ranks


@click.command()
@job_argument
@site_option
@set_option
@json_option
def explain(job_file: str, site_name: str, sets: tuple[str, ...], as_json: bool) -> None:
    """Show each rank's cores, memory, GPU and HCA."""
    plan = plan_job(job_file, site_name, sets).plan
    if as_json:
        print_json(ranks.as_data(plan))
        return
    warn(*plan.warnings)
    common = plan.common
    nodes = f"{common.nodes} x {common.shape.node_type}"
    click.echo(f"{common.name} on {plan.site}: {nodes}, the same on every node")
    click.echo(ranks.as_table(plan))
