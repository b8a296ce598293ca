"""Standing by a job: printing its output while it runs, and waiting for its end."""

import contextlib
import time
from collections.abc import Iterator
from typing import BinaryIO

from hpclaunch.cli.output import say
from hpclaunch.records.record import Record
from hpclaunch.schedulers import follow as log
from hpclaunch.schedulers import joblogs, lifecycle
from hpclaunch.schedulers.patience import WaitFailed
from hpclaunch.values.errors import HpclaunchError, InputError, told
from hpclaunch.values.job import JobStatus


@contextlib.contextmanager
def standing_by() -> Iterator[None]:
    """What ends the waiting in here is a WaitFailed, also a record that was removed or damaged meanwhile: its
    exit status is no job's own. Who reads no longer what is followed (BrokenPipeError) knows it."""
    try:
        yield
    except (InputError, BrokenPipeError):
        raise
    except HpclaunchError as error:
        raise WaitFailed(str(error)) from error
    except OSError as error:
        raise WaitFailed(told(error)) from error


def follow(record: Record, out: BinaryIO) -> int:
    """Prints the job's output until it has ended and all of it is out; then as `wait`."""
    reader = log.LogReader(record.log)
    with standing_by():
        bring, interval = joblogs.log_bringer(record, say)
        bring()
        log.copy(reader, out)
        status = lifecycle.wait(record, say, log.copying_pause(reader, out, bring, interval))
        log.copy(reader, out)
        return _own_status(record, status)


def follow_workers(record: Record, pod: str | None, out: BinaryIO) -> int:
    """As `follow`, for what the workers themselves write, or one pod."""
    lines = log.NamedLines(out)

    def pause(seconds: float) -> None:
        show_workers(record, pod, lines)
        time.sleep(seconds)

    status = lifecycle.wait(record, say, pause)
    show_workers(record, pod, lines)
    lines.end()
    return _own_status(record, status)


def show_workers(record: Record, pod: str | None, lines: log.NamedLines) -> None:
    """Prints what is new in the logs of the workers, or of one pod. Raises InputError for a job that has no
    such pods."""
    for path in joblogs.worker_logs(record, say):
        if pod in (None, path.stem):
            lines.copy(path.stem, path)


def wait(record: Record) -> int:
    """Waits for the end and gives the job's own exit status; says on standard error why it did not
    complete. Raises WaitFailed."""
    with standing_by():
        return _own_status(record, lifecycle.wait(record, say))


def _own_status(record: Record, status: JobStatus) -> int:
    if status.state != "COMPLETED":
        say(f"job {record.state().job_id or record.tag}: {status.described}")
    return status.exit_status
