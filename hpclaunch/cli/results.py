"""`hpclaunch results`."""

import csv
import io
from collections.abc import Sequence

import click
import msgspec

from hpclaunch.cli.outcomes import Row, all_of, metrics_of, rows_of
from hpclaunch.cli.output import json_option, print_json
from hpclaunch.cli.writing import put
from hpclaunch.records.lookup import find_task
from hpclaunch.report.table import aligned
from hpclaunch.values.errors import InputError
from hpclaunch.values.job import JobStatus


@click.command()
@click.argument("job_id", metavar="JOB_ID")
@click.option("--csv", "csv_file", metavar="FILE", help="Write the table there as CSV; - prints it.")
@json_option
def results(job_id: str, csv_file: str | None, as_json: bool) -> None:
    """Show what became of each point of a sweep: its state, how long it ran, and its metrics.

    JOB_ID is any job of the sweep, or ID_POINT one point of it. A metric is what its regular expression finds
    in the log of the point.
    """
    record, task = find_task(job_id)
    if task is not None and record.intent.chain:
        raise InputError(f"the links of a chain write one log: say {record.state().job_id}")
    # ID_POINT of a point with a job of its own names another job than its record.
    alone = task is not None or job_id.rpartition("/")[2] not in (record.state().job_id, record.tag)
    records = [record] if alone else all_of(record)
    wanted = metrics_of(record)
    rows = [row for each in rows_of(records, wanted) for row in each]
    if task is not None:
        rows = [row for row in rows if row["job_id"] == f"{record.state().job_id}_{task}"]
    keys = list(dict.fromkeys(key for row in rows for key in row["values"]))
    if csv_file is not None:
        put(_csv(rows, keys, list(wanted)), csv_file)
    if as_json:
        print_json(rows)
    elif csv_file is None:
        header = ("JOB_ID", *keys, "STATE", "SECONDS", *wanted)
        click.echo(aligned(header, [_cells(row, keys, list(wanted)) for row in rows]))


def _cells(row: Row, keys: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    values = (_shown(row["values"].get(key, "")) for key in keys)
    measured = (_shown(row["metrics"].get(name, "")) for name in names)
    state = row["state"]
    if row["signal"] or (row["exit_code"] and state == "FAILED"):
        state = JobStatus(state, exit_code=row["exit_code"], signal=row["signal"]).described
    seconds = "" if row["seconds"] is None else str(row["seconds"])
    return (row["job_id"], *values, state, seconds, *measured)


def _shown(text: str) -> str:
    return text if text.isprintable() else msgspec.json.encode(text).decode()


def _csv(rows: Sequence[Row], keys: Sequence[str], names: Sequence[str]) -> str:
    table = [["job_id", "point", *keys, "state", "exit_code", "signal", "seconds", *names]]
    for row in rows:
        values = [row["values"].get(key) for key in keys]
        ended = [row[name] for name in ("state", "exit_code", "signal", "seconds")]
        measured = [row["metrics"].get(name) for name in names]
        table.append([row["job_id"], row["point"], *values, *ended, *measured])
    # A carriage return ends a row too, and the module quotes it where rows end with one.
    odd = any("\r" in cell for row in table for cell in row if isinstance(cell, str))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL)
    writer.writerows(table)
    return text.getvalue()
