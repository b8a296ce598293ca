"""Slurm behind a login node: the record here is what hpclaunch goes by, and its twin there what Slurm
sees."""

from collections.abc import Sequence

from hpclaunch.records import secrets
from hpclaunch.records.record import Record
from hpclaunch.schedulers.contract import Refused, Warn
from hpclaunch.schedulers.slurm import Slurm
from hpclaunch.schedulers.ssh import checked, logs, staging, twin
from hpclaunch.schedulers.ssh.remote_commands import still_sent
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import JobStatus, Submission
from hpclaunch.values.slurmaccess import SlurmAccess


class SlurmOverSsh(Slurm):
    """As Slurm, by its commands on the login node of `access`."""

    log_poll_s = 1.0

    def __init__(self, slurm_conf: str | None, access: SlurmAccess):
        super().__init__(slurm_conf, access)
        assert access.login is not None
        self._login = access.login

    def submit(self, record: Record, submission: Submission, warn: Warn) -> str:
        """As there."""
        try:
            return super().submit(record, submission, warn)
        except Refused:
            if submission.secrets:
                self._forget_secrets(record, warn)
            raise

    def locate(self, records: Sequence[Record]) -> dict[str, str]:
        """As there, and by the claims of jobs that Slurm has forgotten. Raises SchedulerError where an
        sbatch of one has outlived its connection: nobody can tell yet whether it succeeds."""
        marks = twin.bring_marks(records, self._login)
        if any(each.is_sent for each in marks.values()):
            raise still_sent(self._login)
        return super().locate(records) | {tag: each.claim for tag, each in marks.items() if each.claim}

    def status(self, records: Sequence[Record]) -> dict[str, JobStatus]:
        """As there. Of those that have ended the log comes here, and no secret stays there."""
        chains = [record for record in records if record.intent.chain]
        if chains:
            twin.bring_marks(chains, self._login)  # what the state of a chain follows from
        found = super().status(records)
        going_on = {tag for tag, status in found.items() if not status.has_ended}
        others = [record for record in records if record.tag not in going_on]
        if others:
            twin.bring_marks(others, self._login)
        ended = [record for record in others if record.tag in found]
        if ended:
            twin.forget_secrets(ended, self._login)
        for record in ended:
            self.bring_log(record)
        checked.bring(records, self._login)
        return found

    def cancel(self, record: Record) -> None:
        """As there. The job has read its secrets by now, or never will."""
        super().cancel(record)
        try:
            twin.forget_secrets([record], self._login)
        except SchedulerError as error:
            path = secrets.path_of(self._seen(record))
            raise SchedulerError(
                f"the job is cancelled, but its secrets may stay in {path}: {error}"
            ) from error

    def bring_log(self, record: Record) -> None:
        """Brings what is new there."""
        logs.bring(record, self._login)

    def _forget_secrets(self, record: Record, warn: Warn) -> None:
        try:
            twin.forget_secrets([record], self._login)
        except SchedulerError as error:
            path = secrets.path_of(self._seen(record))
            warn(f"the job's secrets stay in {path} on {self._login}, remove them: {error}")

    def _logs(self, record: Record) -> None:
        """They lie on the cluster."""

    def _seen(self, record: Record) -> Record:
        return twin.twin_of(record, self._login)

    def _prepared(self, record: Record, submission: Submission) -> Record:
        staging.send(record, self._login)
        return twin.prepare(record, self._login, submission)
