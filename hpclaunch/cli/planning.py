"""Reading the documents that a command names, and planning with them."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from msgspec import Struct, structs

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
    """A plan and what it was made of; `machines` by the name that the site uses."""

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
    documents = documents_of(site)
    try:
        plan = Planner(site.value, values_of(documents)).plan(job.value)
    except InputError as error:
        raise located(error.problems, job, site) from None
    return Planned(job, site, documents, plan)


def machines_of(site: Document[Site]) -> dict[str, NodeType]:
    """The node type of each name that the site uses. Raises InputError with file:line:col."""
    return values_of(documents_of(site))


def values_of(documents: dict[str, Document[NodeType]]) -> dict[str, NodeType]:
    """The node types without their places."""
    return {name: document.value for name, document in documents.items()}


def documents_of(site: Document[Site]) -> dict[str, Document[NodeType]]:
    """As `machines_of`, with the place of each key in its file."""
    machines: dict[str, Document[NodeType]] = {}
    for index, group in enumerate(site.value.node_types):
        if group.type not in machines:
            try:
                machines[group.type] = catalogue.load(group.type)
            except InputError as error:
                here = site.locate(("node_types", index, "type"))
                raise InputError(
                    [structs.replace(problem, where=problem.where or here) for problem in error.problems]
                ) from None
    return machines


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
