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
from hpclaunch.values.sweep import Sweep

F = TypeVar("F", bound=Callable[..., Any])


class Planned(Struct, frozen=True):
    """A plan and what it was made of; `machines` by the name that the site uses. `sweep` are the points of it
    that the plan is for, where the job has a sweep."""

    job: Document[Job]
    site: Document[Site]
    machines: dict[str, Document[NodeType]]
    plan: LaunchPlan
    sweep: Sweep | None = None


class Place(Struct, frozen=True):
    """A site that was read, and what plans for it."""

    site: Document[Site]
    machines: dict[str, Document[NodeType]]
    planner: Planner

    def plan(self, job: Document[Job], *, first: bool = False) -> list[Planned]:
        """The launches of the job: several where it has a sweep, of which `first` takes the first point's
        alone. Raises InputError with file:line:col."""
        if job.value.sweep is not None:
            from hpclaunch.plan.sweep import launches  # most jobs need not pay for it
            from hpclaunch.spec.check_sweep import overridden

            if problems := overridden(job):
                raise located(problems, job)
            made = launches(job, self.site, self.planner, first=first)
            return [Planned(each.document, self.site, self.machines, each.plan, each.sweep) for each in made]
        try:
            plan = self.planner.plan(job.value)
        except InputError as error:
            raise located(error.problems, job, self.site) from None
        return [Planned(job, self.site, self.machines, plan)]


def plan_job(job_file: str, site_name: str, sets: Sequence[str]) -> Planned:
    """Reads job, site and node types, and plans; of a sweep the first point, as a job of its own. Raises
    InputError with file:line:col."""
    job, place = read_both(job_file, site_name, sets)
    (planned,) = place.plan(job, first=True)
    return planned


def plan_all(job_file: str, site_name: str, sets: Sequence[str]) -> list[Planned]:
    """As `plan_job`, with all launches of a sweep."""
    job, place = read_both(job_file, site_name, sets)
    return place.plan(job)


def read_both(job_file: str, site_name: str, sets: Sequence[str]) -> tuple[Document[Job], Place]:
    """Reads job, site and node types. Raises InputError with all problems of both, with file:line:col."""
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
    return job, place_of(site)


def place_of(site: Document[Site]) -> Place:
    """The site with its node types. Raises InputError with file:line:col."""
    documents = documents_of(site)
    kind: type[Planner] = Planner
    if site.value.ssh is not None:
        from hpclaunch.cli.staging import StagingPlanner  # others need not pay for it

        kind = StagingPlanner
    return Place(site, documents, kind(site.value, values_of(documents)))


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
