"""`hpclaunch verify`."""

import sys
from collections.abc import Iterable

import click

from hpclaunch.cli.output import json_option, print_json, say
from hpclaunch.cli.recorded import plan_of
from hpclaunch.rank.verify import Difference, Verdict, of_log
from hpclaunch.records.files import open_log
from hpclaunch.records.lookup import find
from hpclaunch.records.record import Record
from hpclaunch.report.table import aligned
from hpclaunch.schedulers import lifecycle
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.errors import InputError, SchedulerError
from hpclaunch.values.job import JobStatus
from hpclaunch.values.launchplan import LaunchPlan

_MOST_LINES = 40


@click.command()
@click.argument("job_id", metavar="JOB_ID")
@click.option("--site", "site_name", metavar="SITE", help="The site's name, where several have such a job.")
@json_option
def verify(job_id: str, site_name: str | None, as_json: bool) -> None:
    """Compare where the ranks of a job are with its plan.

    The job must have been submitted with --verify, or with `verify: true` in its file. Exit status: 0 where
    all is as planned, 1 where it is not, 2 for a job without reports, 3 where Slurm cannot be reached.
    """
    record = find(f"{site_name}/{job_id}" if site_name else job_id)
    plan = plan_of(record)
    if not plan.common.verify:
        raise InputError(
            f"the ranks of job {job_id} report nothing: it was submitted without --verify, "
            "and without `verify: true` in its file"
        )
    verdict, status = _look(record, plan)
    if as_json:
        print_json(
            {
                "job_id": job_id,
                "state": status.state,
                "as_planned": verdict.as_planned,
                "ranks": verdict.ranks,
                "reported": verdict.reported,
                "differences": verdict.differences,
                "notes": verdict.notes,
            }
        )
    elif not verdict.reported and not status.has_ended:
        say(f"job {job_id} is {status.state}: its ranks report when they start")
    else:
        _print(plan, verdict)
    sys.exit(0 if verdict.as_planned else 1)


def _look(record: Record, plan: LaunchPlan) -> tuple[Verdict, JobStatus]:
    """What the log says, and how the job is. Raises SchedulerError where ranks are missing in the log and the
    scheduler does not answer: it alone knows whether they are still to come."""
    status = JobStatus("UNKNOWN")
    trouble: SchedulerError | None = None
    try:
        # Asked before the log is read: a job that has ended by now writes no more.
        status = lifecycle.ask([record], say)[record.tag]
    except SchedulerError as error:
        trouble = error
    lifecycle.keep_log(record, say)
    ended = status.state if status.has_ended else ""
    try:
        with open_log(record.log) as lines:
            verdict = of_log(plan, lines, ended)
    except FileNotFoundError:
        verdict = of_log(plan, (), ended)
    if trouble and verdict.reported < verdict.ranks:
        raise trouble
    return verdict, status


def _print(plan: LaunchPlan, verdict: Verdict) -> None:
    for note in verdict.notes[:_MOST_LINES]:
        say(note)
    if len(verdict.notes) > _MOST_LINES:
        say(f"... and {len(verdict.notes) - _MOST_LINES} more notes: --json has them all")
    if verdict.as_planned:
        click.echo(f"all {verdict.ranks} ranks are as planned for {_types(plan)}")
        return
    rows = [
        (one.group, str(one.rank), one.node or "-", one.what, one.expected, one.observed)
        for one in verdict.differences
    ]
    shown = rows if len(rows) <= _MOST_LINES else rows[:_MOST_LINES]
    first = 0 if plan.common.groups is not None else 1
    names = ("GROUP", "RANK", "NODE", "WHAT", "PLANNED", "OBSERVED")
    click.echo(aligned(names[first:], [row[first:] for row in shown]))
    if len(rows) > len(shown):
        click.echo(f"... and {len(rows) - len(shown)} more differences: --json has them all")
    click.echo("\nLikely causes:")
    for (cause, group_name), ranks in _causes(verdict.differences).items():
        of_group = f" of group {group_name}" if group_name else ""
        click.echo(f"  {cause} ({'rank' if len(ranks) == 1 else 'ranks'} {format_list(ranks)}{of_group})")
    different = {(one.group, one.rank) for one in verdict.differences}
    click.echo(f"\n{len(different)} of {verdict.ranks} ranks are not as planned for {_types(plan)}")


def _causes(differences: Iterable[Difference]) -> dict[tuple[str, str], list[int]]:
    """Cause and group -> ranks."""
    found: dict[tuple[str, str], list[int]] = {}
    for one in differences:
        found.setdefault((one.cause, one.group), []).append(one.rank)
    return found


def _types(plan: LaunchPlan) -> str:
    return " and ".join(dict.fromkeys(shape.node_type for each in plan.each for shape in each.common.shapes))
