"""`hpclaunch rerun`."""

import os
import sys
from collections.abc import Sequence

import click
from msgspec import structs

from hpclaunch.cli import locking, runs, several
from hpclaunch.cli.outcomes import all_of, failed_points
from hpclaunch.cli.output import say
from hpclaunch.cli.planning import Planned, read_both, set_option
from hpclaunch.cli.recorded import plan_of
from hpclaunch.plan.kubernetes import interactive
from hpclaunch.plan.sweep import PlannedPoints, with_points
from hpclaunch.records import lock, tasks
from hpclaunch.records.lookup import find_task
from hpclaunch.records.record import Record
from hpclaunch.report.runs import Unlike, lines_that_differ, scripts, unlike
from hpclaunch.spec.document import Document
from hpclaunch.spec.graph import Member
from hpclaunch.spec.job import Job
from hpclaunch.values.errors import HpclaunchError, InputError
from hpclaunch.values.job import JobStatus
from hpclaunch.values.sweep import PointWords, Sweep

SHOWN, SHOWN_LINES = 20, 40


@click.command()
@click.argument("job_id", metavar="JOB_ID")
@click.option("--site", "site_name", metavar="SITE", help="Another site than the one that it ran on.")
@set_option
@click.option("--failed", is_flag=True, help="Of a sweep those points alone that failed.")
@click.option("--exact", is_flag=True, help="Send nothing where anything is not as it was.")
@click.option("--dry-run", is_flag=True, help="Print what would be sent, and send nothing.")
@click.option("--wait", is_flag=True, help="Wait for the end, and exit with the job's own status.")
@click.option("--follow", is_flag=True, help="Print the job's output on standard error until it ends.")
def rerun(
    job_id: str,
    site_name: str | None,
    sets: tuple[str, ...],
    failed: bool,
    exact: bool,
    dry_run: bool,
    wait: bool,
    follow: bool,
) -> None:
    """Submit a job again from its record, and say what is not as it was.

    JOB_ID_TASK is one point of a sweep, or JOB_ID_POINT where each point is a job of its own.
    """
    if exact and (site_name is not None or sets):
        raise InputError("--exact repeats a run as it was: neither --site nor --set goes with it")
    record, task = find_task(job_id)
    if record.intent.scheduler == "kubernetes" and interactive.is_held(plan_of(record)):
        raise InputError(
            f"{job_id} was a shell, and has one pod of its job: `hpclaunch shell JOB` opens another, and "
            "`hpclaunch submit JOB` submits the job itself"
        )
    chosen = _chosen(record, task, failed)
    member: Member | None = None
    launches: list[Planned] = []
    differences: list[Unlike] = []
    lines: list[str] = []
    for each, numbers in chosen:
        where = _site(each) if site_name is None else site_name
        document, place = read_both(str(each.folder / "job.yaml"), where, sets)
        locking.begin_in(document.value.directory)
        planned = _of_points(_of_sweep(each, place.plan(document)), numbers)
        member = member or _member(document)  # points with a job each are one sweep again
        launches += planned
        found, of_script = _differences(each, planned, whole=numbers is None)
        differences += found
        lines = lines or of_script
    _say(list(dict.fromkeys(differences)), lines)
    if exact and differences:
        raise HpclaunchError("nothing is sent: --exact wants everything as it was")
    assert member is not None
    together = several.Launches(member, tuple(launches))
    sys.exit(several.send([together], dry_run=dry_run, wait=wait, follow=follow))


def _chosen(record: Record, task: int | None, failed: bool) -> list[tuple[Record, frozenset[int] | None]]:
    """The records whose jobs are planned again, each with the numbers of its points (None: all).

    Of a sweep every array has the job of the whole in its record; other points have one of their own, and
    its id is the point's.
    """
    points = tasks.points(record)
    if points is None:
        if failed or task is not None:
            raise InputError("only a sweep has points: say the job's id alone")
        return [(record, None)]
    if task is not None:
        if failed:
            raise InputError("--failed is of a whole sweep: one point is sent again whatever became of it")
        return [(record, frozenset((points.points[task].number,)))]
    if not (failed or record.intent.tasks):
        return [(record, None)]
    records = all_of(record)
    numbers = failed_points(records) if failed else None
    if numbers is not None and not numbers:
        raise InputError("no point of the sweep is known to have failed")
    array = next((each for each in records if each.intent.tasks), None)
    if array is not None:
        return [(array, numbers)]
    return [(each, None) for each in records if numbers is None or _number(each) in numbers]


def _number(record: Record) -> int:
    points = tasks.points(record)
    assert points is not None
    return points.points[0].number


def _of_sweep(record: Record, planned: Sequence[Planned]) -> Sequence[Planned]:
    """The launches, where the record's job is one point's alone as the sweep's point that it is."""
    points = tasks.points(record)
    if points is None or record.intent.tasks:
        return planned
    kept = tuple(PointWords(point.number, point.values, (), ()) for point in points.points)
    sweep = Sweep(points.keys, kept, points.total, f"{record.intent.name}.points")
    return [structs.replace(each, sweep=sweep) for each in planned]


def _of_points(planned: Sequence[Planned], numbers: frozenset[int] | None) -> list[Planned]:
    found = []
    for each in planned:
        if numbers is None or each.sweep is None:
            found.append(each)
            continue
        own = [point for point in each.sweep.points if point.number in numbers]
        if own and each.plan.common.sweep is not None:
            part = with_points(PlannedPoints(each.job, each.plan, each.sweep), own)
            found.append(structs.replace(each, plan=part.plan, sweep=part.sweep))
        elif own:
            found.append(each)
    return found


def _member(document: Document[Job]) -> Member:
    job = document.value
    if job.depends_on:
        say(f"{job.name} waits for no other job this time: those of its depends_on are not sent")
    return Member(document, 0)


def _site(record: Record) -> str:
    """The site's file of today, or where that is gone the record's own."""
    file = lock.read(record).site_file
    if os.path.isfile(file):
        return file
    say(f"the site's file {file} is gone: the site is taken as the record has it")
    return str(record.folder / "site.yaml")


def _differences(record: Record, planned: Sequence[Planned], whole: bool) -> tuple[list[Unlike], list[str]]:
    """What is not as it was, but for what the user changes with --set; and the lines of the script."""
    before = runs.of_record(record, None, JobStatus("UNKNOWN"))
    today = runs.of_plan(planned[0])
    # A record may know less than what is known today: git did not answer then, or there was no repository.
    lacks = {name for name in today.made_of if name not in before.made_of and not name.startswith("site.")}
    found = [
        each
        for each in unlike(before.made_of, today.made_of)
        if each.what not in lacks and not each.what.startswith(("job.", "version of scheduler"))
    ]
    points = tasks.points(record)
    if len(planned) == 1 and whole and (points is None or len(points.parts) == 1 or not record.intent.tasks):
        of_script = scripts(before.script, today.script)
        if of_script is not None:
            return [*found, of_script], lines_that_differ(before.script, today.script, SHOWN_LINES)
    return found, []


def _say(differences: Sequence[Unlike], lines: Sequence[str]) -> None:
    for each in differences[:SHOWN]:
        say(f"not as it was: {each.line}")
    if len(differences) > SHOWN:
        say(f"... and {len(differences) - SHOWN} more")
    for line in lines:
        say(line, prefix="  ")
