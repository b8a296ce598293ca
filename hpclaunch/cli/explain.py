"""`hpclaunch explain`."""

import click

from hpclaunch.cli.output import json_option, print_json, warn
from hpclaunch.cli.planning import Planned, job_argument, plan_job, set_option, site_option
from hpclaunch.cli.writing import put
from hpclaunch.plan.origins import Sources, origins, said
from hpclaunch.report import origins as origin_table
from hpclaunch.report import ranks
from hpclaunch.values.errors import InputError
from hpclaunch.values.outline import Outline


@click.command()
@job_argument
@site_option
@set_option
@json_option
@click.option("--svg", metavar="FILE", help="Write a picture of one node there; - prints it, and no table.")
@click.option("--html", metavar="FILE", help="Write a page with picture, tables and script; - prints it.")
def explain(
    job_file: str, site_name: str, sets: tuple[str, ...], as_json: bool, svg: str | None, html: str | None
) -> None:
    """Show each rank's cores, memory, GPU and HCA, and the file and line that set each value."""
    if [svg, html].count("-") + as_json > 1:
        raise InputError("standard output takes one result: name a file for the others")
    planned = plan_job(job_file, site_name, sets)
    plan = planned.plan
    rows = _origins(planned)
    if svg is not None:
        from hpclaunch.report import picture
        from hpclaunch.report.svg import document

        put(document(picture.of_plan(plan, _outlines(planned))), svg)
    if html is not None:
        from hpclaunch.render import script
        from hpclaunch.report.page import page

        put(page(plan, _outlines(planned), rows, script.render(plan)), html)
    if as_json:
        print_json({**ranks.as_data(plan), "origins": origin_table.as_data(rows)})
        return
    warn(*plan.warnings)
    if "-" in (svg, html):
        return
    common = plan.common
    names = [group.name for group in common.groups.members] if common.groups is not None else []
    for index, each in enumerate(plan.each):
        types = " or ".join(shape.node_type for shape in each.common.shapes)
        same = ", the same on every node" if len(each.common.shapes) == 1 else ""
        group = f", group {names[index]}" if plan.parts else ""
        click.echo(f"{common.name} on {plan.site}{group}: {each.common.nodes} x {types}{same}")
        if planned.sweep is not None and not index:
            click.echo(
                f"point 0 of {planned.sweep.total}; the others differ in: {', '.join(planned.sweep.keys)}"
            )
        click.echo(ranks.as_table(each))
        click.echo()
    click.echo(origin_table.as_table(rows))


def _origins(planned: Planned) -> list[origin_table.Row]:
    sources = Sources(planned.job, planned.site, planned.machines)
    return [(origin.what, origin.value, said(origin, sources)) for origin in origins(sources, planned.plan)]


def _outlines(planned: Planned) -> tuple[Outline, ...]:
    """That of each shape of node, in the plan's order."""
    from hpclaunch.plan.groups import Groups, of_shapes
    from hpclaunch.topology.outline import outline

    site, job = planned.site.value, planned.job.value
    machines = {name: document.value for name, document in planned.machines.items()}
    alone = [job]
    if job.groups:
        from hpclaunch.plan import rankgroups  # most jobs have none

        names = list(job.groups)[: len(planned.plan.parts) or 1]  # others are like the first
        alone = [rankgroups.by_itself(job, name) for name in names]
    found = []
    for each, part in zip(alone, planned.plan.each, strict=True):
        chosen = [(index, site.node_types[index]) for index in Groups(site, machines).choose(each)[0]]
        for _, group in of_shapes(chosen, part.common.shapes):
            found.append(outline(machines[group.type], group.variant, group.reserved_cpus))
    return tuple(found)
