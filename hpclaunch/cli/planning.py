"""Reading the documents that a command names, and planning with them."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from msgspec import Struct

from hpclaunch.plan.planner import Planner
from hpclaunch.spec.document import Document, located
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.read import read_job, read_site
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launchplan import LaunchPlan

F = TypeVar("F", bound=Callable[..., Any])


class Planned(Struct, frozen=True):
    """A plan and what it was made of."""

    job: Document[Job]
    site: Document[Site]
    machines: dict[str, Document[NodeType]]
    plan: LaunchPlan


def plan_job(job_file: str, site_name: str, sets: Sequence[str]) -> Planned:
    """Reads job, site and node types, and plans. Raises InputError with file:line:col."""
    problems: list[Problem] = []
    job = site = None
    try:
        job = read_job(job_file, sets)
    except InputError as error:
        problems.extend(error.problems)
    try:
        site = read_site(site_name)
    except InputError as error:
        problems.extend(error.problems)
    if job is None or site is None:
        raise InputError(problems)
    machines = {}
    for index, group in enumerate(site.value.node_types):
        if group.type not in machines:
            try:
                machines[group.type] = catalogue.load(group.type)
            except InputError as error:
                where = site.locate(("node_types", index, "type"))
                raise InputError(f"{where}: {error}") from None
    try:
        planner = Planner(site.value, {name: machine.value for name, machine in machines.items()})
        plan = planner.plan(job.value)
    except InputError as error:
        raise located(error.problems, job, site) from None
    return Planned(job, site, machines, plan)


def warn(plan: LaunchPlan) -> None:
    """Says on standard error what the tool did not do."""
    for text in plan.warnings:
        click.echo(f"hpclaunch: warning: {text}", err=True)


def job_argument(command: F) -> F:
    """The job file."""
    return click.argument("job_file", metavar="JOB", type=click.Path())(command)


def site_option(command: F) -> F:
    """--site."""
    text = "A site's name (hpclaunch site list), or the path of a site file."
    option = click.option("--site", "site_name", metavar="SITE", required=True, help=text)
    return option(command)


def set_option(command: F) -> F:
    """--set."""
    text = "Sets one key of the job, over the file: --set nodes=4, --set env.LR=0.1."
    return click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, help=text)(command)
