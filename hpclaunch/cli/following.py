"""Standing by a job: printing its output while it runs, and waiting for its end."""

from typing import BinaryIO

import click

from hpclaunch.records.record import Record
from hpclaunch.schedulers import follow as log
from hpclaunch.schedulers import lifecycle
from hpclaunch.values.job import JobStatus


def say(message: str) -> None:
    """A line on standard error."""
    for line in message.splitlines():
        click.echo(f"hpclaunch: {line}", err=True)


def follow(record: Record, out: BinaryIO) -> JobStatus:
    """Prints the job's output until it has ended and all of it is out. Raises WaitFailed."""
    reader = log.LogReader(record.log)
    log.copy(reader, out)
    status = lifecycle.wait(record, say, log.copying_pause(reader, out))
    log.copy(reader, out)
    return status


def wait(record: Record) -> int:
    """Waits for the end and gives the job's own exit status; says on standard error why it did not
    complete. Raises WaitFailed."""
    status = lifecycle.wait(record, say)
    if status.state != "COMPLETED":
        say(f"job {record.state().job_id}: {describe(status)}")
    return status.exit_status


def describe(status: JobStatus) -> str:
    """The state and the reason: "FAILED with exit code 7: its script ended with an error"."""
    how = ""
    if status.state == "FAILED" and status.signal:
        how = f" by signal {status.signal}"
    elif status.state == "FAILED" and status.exit_code:
        how = f" with exit code {status.exit_code}"
    return f"{status.state}{how}{': ' + status.reason if status.reason else ''}"
