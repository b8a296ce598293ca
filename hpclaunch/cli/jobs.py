"""`hpclaunch status`, `logs`, `cancel`, `wait` and `list`. A job's record knows its site and scheduler."""

import sys
from datetime import datetime
from typing import Any

import click

from hpclaunch.cli import following
from hpclaunch.cli.output import json_option, print_facts, print_json, say
from hpclaunch.records import checks, sentby
from hpclaunch.records.lookup import all_records, find_task
from hpclaunch.records.record import Record
from hpclaunch.report.table import aligned
from hpclaunch.schedulers import follow as log
from hpclaunch.schedulers import lifecycle
from hpclaunch.values.errors import HpclaunchError, InputError, SchedulerError, first_line
from hpclaunch.values.job import JobStatus
from hpclaunch.values.slurmaccess import SlurmAccess

job_id_argument = click.argument("job_id", metavar="JOB_ID")


@click.command()
@job_id_argument
@json_option
def status(job_id: str, as_json: bool) -> None:
    """Show the state of a job. JOB_ID is the scheduler's own, or site/id."""
    record, task = find_task(job_id)
    known = lifecycle.ask_of(record, say)
    if known.has_ended:
        lifecycle.keep_log(record, say)  # its pods do not stay
    facts = _facts(record, known)
    if record.intent.scheduler == "slurm":
        facts |= _way(record)
    checked = checks.lines(record.folder)
    if checked:
        facts["preflight"] = checked if as_json else "; ".join(checked)
    if record.intent.is_array:
        from hpclaunch.cli import tasks  # most jobs are no arrays

        tasks.status(record, task, facts, as_json)
    elif as_json:
        print_json(facts)
    else:
        print_facts(facts)


@click.command()
@job_id_argument
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--workers", is_flag=True, help="What the worker pods wrote, each line after its pod's name.")
@click.option("--pod", metavar="NAME", help="The same of one worker pod.")
def logs(job_id: str, follow: bool, workers: bool, pod: str | None) -> None:
    """Print what a job wrote to its standard output and error.

    On Kubernetes that is the launcher's log, to which mpirun passes what the ranks write.
    """
    record, task = find_task(job_id)
    if record.intent.is_array:
        from hpclaunch.cli import tasks

        tasks.logs(record, task, follow)
        return
    if workers or pod:
        if follow:
            following.follow_workers(record, pod, sys.stdout.buffer)
        else:
            lines = log.NamedLines(sys.stdout.buffer)
            following.show_workers(record, pod, lines)
            lines.end()
        return
    if follow:
        following.follow(record, sys.stdout.buffer)
        return
    is_whole = lifecycle.keep_log(record, say)
    if not record.log.exists():
        if not is_whole:
            sys.exit(SchedulerError.exit_status)
        say("the job has written nothing yet")
    log.copy(log.LogReader(record.log), sys.stdout.buffer)


@click.command()
@job_id_argument
def cancel(job_id: str) -> None:
    """End a job, or take it out of the queue. JOB_ID_TASK is one task of a job array."""
    record, task = find_task(job_id)
    if task is not None:
        from hpclaunch.cli import tasks

        tasks.cancel(record, task)
        return
    known = lifecycle.ask([record], say)[record.tag]
    if known.has_ended:
        freed = "; its name is free again" if lifecycle.free_name(record) else ""
        say(f"job {job_id} has ended already: {known.described}{freed}")
        return
    lifecycle.cancel(record, say, known)


@click.command()
@job_id_argument
@click.option("--junit", "junit_file", metavar="FILE", help="Write its end there, as JUnit XML.")
def wait(job_id: str, junit_file: str | None) -> None:
    """Wait for the end of a job, and exit with its own status.

    128+N for signal N; 1 where a time limit, a node or somebody's cancel ended it; 125 where hpclaunch
    could not wait to the end. JOB_ID_TASK is one task of a job array.
    """
    with following.standing_by():
        record, task = find_task(job_id)
    if task is not None and not record.intent.chain:
        from hpclaunch.cli import tasks

        if junit_file is not None:
            raise InputError("--junit is of a whole job, which has a case for each task")
        sys.exit(tasks.wait(record, task))
    if junit_file is None:
        sys.exit(following.wait(record))
    from hpclaunch.cli import junit  # pipelines alone want it

    sys.exit(junit.wait(record, junit_file))


@click.command("list")
@click.option("--all", "shows_all", is_flag=True, help="Also those given up with `hpclaunch forget`.")
@json_option
def list_jobs(shows_all: bool, as_json: bool) -> None:
    """List the jobs that were submitted with hpclaunch, newest first."""
    records, problems = all_records()
    for problem in problems:
        say(problem)
    if not shows_all:
        records = [record for record in records if not _is_given_up(record)]
    statuses = lifecycle.refresh(records, say)
    rows = [_facts(record, statuses[record.tag]) for record in records if record.tag in statuses]
    if as_json:
        print_json(rows)
        return
    cells = [
        (
            row["job_id"] or row["tag"],
            row["site"],
            row["name"],
            _local_time(row["created"]),
            statuses[row["tag"]].described,
        )
        for row in rows
    ]
    click.echo(aligned(("JOB_ID", "SITE", "NAME", "CREATED", "STATE"), cells))


def _is_given_up(record: Record) -> bool:
    try:
        return bool(record.state().given_up)
    except HpclaunchError:  # `refresh` says it
        return False


def _facts(record: Record, known: JobStatus) -> dict[str, Any]:
    """What is shown of a job. `job_id` is null where the job is not known to be submitted."""
    intent = record.intent
    return {
        "job_id": record.state().job_id,
        "site": intent.site,
        "name": intent.name,
        "state": known.state,
        "cause": known.cause,
        "reason": known.reason,
        "exit_code": known.exit_code,
        "signal": known.signal,
        "rank": known.rank,
        "nodes": known.nodes,
        "scheduler": intent.scheduler,
        "created": intent.created,
        "submitted": known.submitted,
        "started": known.started,
        "ended": known.ended,
        "tag": record.tag,
        "record": str(record.folder),
        "log": str(record.log),
    }


def _way(record: Record) -> dict[str, Any]:
    """By which way the job was sent; of one that was not, how its cluster is reached from here."""
    from hpclaunch.schedulers.ways.choose import choice

    noted = sentby.read(record)
    if noted is not None:
        return {"via": noted.via, "via_reason": noted.why}
    access = record.intent.slurm or SlurmAccess()
    try:
        taken = choice(record.intent.slurm_conf, access)
    except SchedulerError as error:
        return {"via": access.via, "via_reason": first_line(error)}
    if taken.name != "commands" and record.state().job_id is not None:
        return {"via": "commands", "via_reason": f"so it was when it was sent; now it would be {taken.name}"}
    return {"via": taken.name, "via_reason": taken.why}


def _local_time(text: str) -> str:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone().strftime("%Y-%m-%d %H:%M:%S")
