"""Standing by a job: printing its output while it runs, and waiting for its end."""

from typing import BinaryIO

from hpclaunch.cli.output import say
from hpclaunch.records.record import Record
from hpclaunch.schedulers import follow as log
from hpclaunch.schedulers import lifecycle
from hpclaunch.values.job import JobStatus


def follow(record: Record, out: BinaryIO) -> int:
    """Prints the job's output until it has ended and all of it is out; then as `wait`."""
    reader = log.LogReader(record.log)
    log.copy(reader, out)
    status = lifecycle.wait(record, say, log.copying_pause(reader, out))
    log.copy(reader, out)
    return _own_status(record, status)


def wait(record: Record) -> int:
    """Waits for the end and gives the job's own exit status; says on standard error why it did not
    complete. Raises WaitFailed."""
    return _own_status(record, lifecycle.wait(record, say))


def _own_status(record: Record, status: JobStatus) -> int:
    if status.state != "COMPLETED":
        say(f"job {record.state().job_id or record.tag}: {describe(status)}")
    return status.exit_status


def describe(status: JobStatus) -> str:
    """The state and the reason: "FAILED with exit code 7: its script ended with an error"."""
    how = ""
    if status.state == "FAILED" and status.signal:
        how = f" by signal {status.signal}"
    elif status.state == "FAILED" and status.exit_code:
        how = f" with exit code {status.exit_code}"
    return f"{status.state}{how}{': ' + status.reason if status.reason else ''}"
