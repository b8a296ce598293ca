"""`hpclaunch compare`."""

import click

from hpclaunch.cli import runs
from hpclaunch.cli.outcomes import status_of
from hpclaunch.cli.output import json_option, print_json, say
from hpclaunch.records.lookup import find_task
from hpclaunch.report.runs import Run, compared, table


@click.command()
@click.argument("job_ids", metavar="JOB_ID JOB_ID", nargs=2)
@json_option
def compare(job_ids: tuple[str, str], as_json: bool) -> None:
    """Show what two runs differ in: what they were made of, and what became of them.

    JOB_ID_TASK is one task of a job array.
    """
    a, b = (_run(job_id) for job_id in job_ids)
    differences = compared(a, b)
    if as_json:
        rows = [{"what": each.what, "a": each.a, "b": each.b} for each in differences]
        print_json({"runs": [a.name, b.name], "differences": rows})
    elif differences:
        click.echo(table(a, b, differences))
    else:
        say("the two runs differ in nothing that is known")


def _run(job_id: str) -> Run:
    record, task = find_task(job_id)
    return runs.of_record(record, task, status_of(record, task))
