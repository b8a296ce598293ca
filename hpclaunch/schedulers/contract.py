"""What every scheduler can do. All of it works on records, which know their cluster and their tag."""

from collections.abc import Callable, Sequence
from typing import Protocol

from hpclaunch.records.record import Record
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import JobStatus, Submission

Warn = Callable[[str], None]
AT_ONCE = 8  # submissions, where nothing speaks against several: they wait for a disk, and for an answer


class Refused(SchedulerError):
    """The scheduler said no, so there is no job. Any other SchedulerError leaves that open."""


class Busy(Refused):
    """There is no job, and the same may succeed in a moment."""


class Final(Refused):
    """There is no job, and however often this process asks, the same will not succeed."""


class Scheduler(Protocol):
    """Every method raises SchedulerError where the scheduler cannot be reached. `slowest_poll_s` is how
    long to let pass between two questions about a job that runs for long, `log_poll_s` between two looks at
    its log. `keeps_ended`: a job that has ended stays there, with its name, until it is cancelled.
    `settled_after_s`: a submission that nobody sends any more may still be carried out for so long.
    `tries_again`: it does so itself where something fails that may succeed in a moment. `at_once`: how many
    submissions may be under way at a time, of one process."""

    slowest_poll_s: float
    log_poll_s: float
    keeps_ended: bool
    settled_after_s: float
    tries_again: bool

    @property
    def at_once(self) -> int:
        """Read alone: some find it out."""

    def version(self) -> str:
        """The scheduler's version in its own words. Raises SchedulerError where it is not installed."""

    def submit(self, record: Record, submission: Submission, warn: Warn) -> str:
        """Sends the record's script and gives the job id; `warn` hears what the scheduler said beside it.
        Raises SchedulerError where nobody can tell whether the job arrived; after Refused, and any other
        HpclaunchError, there is none."""

    def locate(self, records: Sequence[Record]) -> dict[str, str]:
        """Tag -> job id of those submissions that did arrive, as far as the scheduler still knows: for
        records without a job id."""

    def doubts(self, records: Sequence[Record]) -> dict[str, str]:
        """Tag -> why nobody can tell whether there was a job of it, and what to do, for those of these
        submissions, which `locate` did not find, where that is so. Raises OSError too."""

    def status(self, records: Sequence[Record]) -> dict[str, JobStatus]:
        """Tag -> status of those jobs that the scheduler still knows. Every record has a job id."""

    def cancel(self, record: Record) -> None:
        """Asks for the job's end, and does not wait for it. No error where it has ended meanwhile."""

    def bring_log(self, record: Record) -> None:
        """Brings what the job has written so far into the record's log, where it does not write there itself.
        Raises OSError where the disk refuses."""
