"""`hpclaunch submit` of several jobs: points of a sweep, files given together, and what they wait for."""

import sys
from collections.abc import Callable, Sequence
from functools import cache, partial

import click
from msgspec import Struct

from hpclaunch.cli import following
from hpclaunch.cli.output import say, warn
from hpclaunch.cli.planning import Place, Planned
from hpclaunch.cli.submit import Destination, ask_the_cluster, destination, from_this_shell, record_of, tell
from hpclaunch.plan.sweep import PlannedPoints, parts
from hpclaunch.records import files, tasks
from hpclaunch.records.record import Record, new_tag
from hpclaunch.records.sets import Among, Take
from hpclaunch.render import script
from hpclaunch.schedulers import jobarrays, many
from hpclaunch.schedulers.dependencies import is_refused
from hpclaunch.spec.dump import dump_job
from hpclaunch.spec.graph import Member, read_graph
from hpclaunch.values.errors import HpclaunchError, InputError, Problem, SchedulerError
from hpclaunch.values.sweep import KeptPoint, Points


class Launches(Struct, frozen=True):
    """A job of the graph and its launches: several where it has a sweep."""

    member: Member
    planned: tuple[Planned, ...]


def submit(
    files: Sequence[str], place: Place, sets: Sequence[str], *, dry_run: bool, wait: bool, follow: bool
) -> int:
    """Checks and plans everything, then sends it; the exit status. Raises InputError before anything is
    sent, and SchedulerError where there is no scheduler."""
    return send(_planned(read_graph(files, sets), place), dry_run=dry_run, wait=wait, follow=follow)


def send(launches: Sequence[Launches], *, dry_run: bool, wait: bool, follow: bool) -> int:
    """As `submit`, for what is planned."""
    every = [planned for each in launches for planned in each.planned]
    warn(*dict.fromkeys(warning for planned in every for warning in planned.plan.warnings))
    if follow and (len(every) > 1 or every[0].plan.common.sweep is not None):
        raise InputError("--follow prints the output of one job: give --wait, and `hpclaunch logs ID`")
    if dry_run:
        texts = [script.render(planned.plan) for planned in every]
        for text in texts:
            click.echo(text.encode(), nl=False)
        ask_the_cluster(every, texts)
        return 0
    to = destination(every[0])
    orders, owners = _orders(launches, to)
    site_folder = files.home() / "jobs" / every[0].plan.site
    sent = many.send(orders, site_folder, to.scheduler.at_once, say)
    status = _told(sent, orders, [launches[owner].member for owner in owners])
    records = [each.record for each in sent if each.job_id]
    if (wait or follow) and records:
        ends = [
            following.follow(record, sys.stderr.buffer) if follow else following.wait(record)
            for record in records
        ]
        return status or next((end for end in ends if end), 0)
    return status


def _planned(members: Sequence[Member], place: Place) -> list[Launches]:
    problems: list[Problem] = []
    found = []
    for member in members:
        try:
            found.append(Launches(member, tuple(place.plan(member.document))))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    return found


def _orders(launches: Sequence[Launches], to: Destination) -> tuple[list[many.Order], list[int]]:
    """The orders, and for each the place of the job that it is of."""
    every = [[piece for planned in each.planned for piece in _pieces(planned, to)] for each in launches]
    batches = [
        many.Batch(len(pieces), tuple((need.index, need.when) for need in each.member.needs), _in_turn(each))
        for each, pieces in zip(launches, every, strict=True)
    ]
    needs = many.needs_of(batches)
    once = cache(warn)
    orders: list[many.Order] = []
    owners: list[int] = []
    for owner, (each, pieces) in enumerate(zip(launches, every, strict=True)):
        tags = tuple(new_tag() for _ in pieces)
        whole = cache(partial(dump_job, each.member.document.value))
        for tag, piece in zip(tags, pieces, strict=True):
            make = partial(_record, piece, to, tag, tags, whole)
            name, submission = each.member.document.file, from_this_shell(piece, once)
            orders.append(many.Order(name, tag, make, submission, needs[len(orders)], each.member.singleton))
            owners.append(owner)
    return orders, owners


def _in_turn(launches: Launches) -> bool:
    """Whether of several arrays each waits for the one before it: else more points than allowed would run."""
    sweep = launches.member.document.value.sweep
    return sweep is not None and sweep.max_running is not None


def _pieces(planned: Planned, to: Destination) -> list[Planned]:
    """The launch, or as many arrays as the scheduler's limit makes of it."""
    sweep = planned.plan.common.sweep
    if sweep is None:
        return [planned]
    most = jobarrays.of(to.scheduler).largest_array()
    if most < 1:
        raise SchedulerError("this Slurm takes no job arrays (MaxArraySize=0)", "Give each point with --set.")
    if len(sweep.points) <= most:
        return [planned]
    found = parts(PlannedPoints(planned.job, planned.plan, sweep), most)
    say(f"{len(sweep.points):,} points are {len(found)} job arrays: the cluster's MaxArraySize is {most:,}")
    return [Planned(planned.job, planned.site, planned.machines, each.plan, each.sweep) for each in found]


def _record(
    planned: Planned,
    to: Destination,
    tag: str,
    tags: tuple[str, ...],
    whole: Callable[[], str],
    among: Among,
    take: Take,
) -> Record:
    """`whole` is the text of the job with all points of its sweep."""
    text = script.render(planned.plan)
    if planned.sweep is None:
        return record_of(planned, text, to, tag=tag, among=among, take=take)
    sweep = planned.sweep
    kept = tuple(KeptPoint(point.number, point.values) for point in sweep.points)
    array = planned.plan.common.sweep is not None
    more = tasks.files_of(Points(sweep.keys, kept, sweep.total, tags), sweep.words if array else b"")
    return record_of(planned, text, to, whole() if array else "", tag, more, among, take)


def _told(sent: Sequence[many.Sent], orders: Sequence[many.Order], members: Sequence[Member]) -> int:
    """Prints the ids in the order of the arguments, and says what was not sent; the exit status."""
    status = 0
    ids = [
        (member.given, each.job_id)
        for each, member in zip(sent, members, strict=True)
        if each.job_id and member.given is not None
    ]
    for _, job_id in sorted(ids, key=lambda pair: pair[0]):  # those of one file stay in their order
        tell(job_id)
    failed = any(not each.job_id for each in sent)
    for each, order, member in zip(sent, orders, members, strict=True):
        if each.error is not None:
            say(f"{order.name} is not submitted: {each.error}")
            error = each.error
            status = status or (error.exit_status if isinstance(error, HpclaunchError) else 1)
        elif each.left_out:
            later = "" if is_refused(each.record) else ": `hpclaunch submit --resume` sends it after that"
            say(f"{order.name} is not submitted, since it waits for {each.left_out}{later}")
        elif failed or member.given is None:
            say(f"{order.name} is submitted: job {each.job_id}")
    return status
