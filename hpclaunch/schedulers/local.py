"""This machine without a scheduler: the script runs under a supervisor that outlives the submitting shell."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

import hpclaunch
from hpclaunch.records import index, secrets
from hpclaunch.records.record import Record
from hpclaunch.schedulers import processes
from hpclaunch.schedulers.contract import AT_ONCE, Refused, Warn
from hpclaunch.schedulers.environment import closed
from hpclaunch.schedulers.follow import FIRST_POLL_S
from hpclaunch.schedulers.supervisor import Order, Running, read_running
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import JobStatus, Submission

START_S = 60.0


class Local:
    """Jobs as processes of the user on this machine."""

    slowest_poll_s = 0.5
    log_poll_s = FIRST_POLL_S
    keeps_ended = False
    settled_after_s = 0.0  # a second supervisor finds the first one's note
    tries_again = True
    at_once = AT_ONCE

    def version(self) -> str:
        """The kernel's release."""
        return f"{os.uname().sysname} {os.uname().release}"

    def submit(self, record: Record, submission: Submission, warn: Warn) -> str:
        """Starts a supervisor and waits until it runs the script. Raises Refused, HpclaunchError where the
        disk refuses, and SchedulerError where the supervisor does not answer."""
        environment = closed(os.environ, submission.environment, None)
        job_id = index.allocate(record.folder.parent, record.tag)
        # No claim: the supervisor has made sure that it is the only one.
        arguments = ["", str(secrets.write(record, submission.secrets))] if submission.secrets else []
        limit_s = 60.0 * submission.minutes if submission.minutes else None
        values = {name: os.fsencode(value) for name, value in environment.items()}
        start(Order(str(record.folder), job_id, values, tuple(arguments), limit_s))
        return job_id

    def locate(self, records: Sequence[Record]) -> dict[str, str]:
        """A supervisor notes its job id before it starts the script."""
        return {record.tag: running.job_id for record in records if (running := read_running(record.folder))}

    def doubts(self, records: Sequence[Record]) -> dict[str, str]:
        """None: the note of a supervisor stays."""
        return {}

    def status(self, records: Sequence[Record]) -> dict[str, JobStatus]:
        """What the supervisor noted; where it died without a last note, that."""
        return {record.tag: self._status(record) for record in records}

    def cancel(self, record: Record) -> None:
        """Tells the supervisor. Where that is dead, its guard has ended what it left."""
        running = read_running(record.folder)
        if running is None:
            raise SchedulerError(f"the job {record.state().job_id} has no supervisor that could be told")
        if not processes.is_here(running.supervisor):
            raise SchedulerError(
                f"the job runs on {running.supervisor.host}",
                f"Run the same command on {running.supervisor.host}.",
            )
        processes.send(running.supervisor, signal.SIGTERM)

    def bring_log(self, record: Record) -> None:
        """Nothing to do: the job itself writes there."""

    def _status(self, record: Record) -> JobStatus:
        known = record.state().status or JobStatus("PENDING")
        running = read_running(record.folder)
        if known.has_ended or running is None:
            return known
        if not processes.is_here(running.supervisor):
            host = running.supervisor.host
            return JobStatus("UNKNOWN", f"it was started on {host} and only {host} can tell", nodes=host)
        if processes.is_running(running.supervisor):
            return known
        return self._abandoned(record, running)

    def _abandoned(self, record: Record, running: Running) -> JobStatus:
        known = record.state().status  # again: the supervisor may have written its last note meanwhile
        if known and known.has_ended:
            return known
        return JobStatus(
            "FAILED",
            "its supervisor was killed, or the machine was restarted",
            nodes=running.supervisor.host,
            submitted=record.intent.created,
            started=running.started,
        )


def start(order: Order) -> None:
    """Starts a supervisor; returns when it runs the script. Raises Refused, or SchedulerError where it does
    not answer."""
    try:
        started = subprocess.run(
            [sys.executable, "-m", "hpclaunch.schedulers.supervisor"],
            # the supervisor must find this very package, also where it is not installed
            cwd=Path(hpclaunch.__file__).parent.parent,
            input=msgspec.json.encode(order),
            capture_output=True,
            timeout=START_S,
        )
    except OSError as error:
        raise Refused(f"the job could not be started on this machine: {error}") from error
    except subprocess.TimeoutExpired:
        raise SchedulerError(f"the job did not start within {START_S:.0f} s") from None
    if started.returncode:
        said = started.stderr.decode("utf-8", "replace").strip()
        raise Refused(f"the job could not be started on this machine: {said}")
