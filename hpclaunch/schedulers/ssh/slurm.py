"""Slurm behind a login node: the record here is what hpclaunch goes by, and its twin there what Slurm
sees."""

from collections.abc import Sequence

from hpclaunch.records import secrets
from hpclaunch.records.record import Record
from hpclaunch.schedulers.contract import Refused, Warn
from hpclaunch.schedulers.slurm import Slurm
from hpclaunch.schedulers.ssh import logs, staging, twin
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
        begun = twin.claims(records, self._login)
        return super().locate(records) | begun

    def status(self, records: Sequence[Record]) -> dict[str, JobStatus]:
        """As there. Of those that have ended the log comes here, and no secret stays there."""
        found = super().status(records)
        ended = [record for record in records if record.tag in found and found[record.tag].has_ended]
        if ended:
            twin.forget_secrets(ended, self._login)
        for record in ended:
            self.bring_log(record)
        return found

    def cancel(self, record: Record) -> None:
        """As there. The job has read its secrets by now, or never will."""
        super().cancel(record)
        twin.forget_secrets([record], self._login)

    def bring_log(self, record: Record) -> None:
        """Brings what is new there."""
        logs.bring(record, self._login)

    def _forget_secrets(self, record: Record, warn: Warn) -> None:
        try:
            twin.forget_secrets([record], self._login)
        except SchedulerError as error:
            path = secrets.path_of(self._seen(record))
            warn(f"the job's secrets stay in {path} on {self._login}, remove them: {error}")

    def _seen(self, record: Record) -> Record:
        return twin.twin_of(record, self._login)

    def _prepared(self, record: Record, submission: Submission) -> Record:
        staging.send(record, self._login)
        return twin.prepare(record, self._login, submission)
