"""What a scheduler with job arrays can do beside what every scheduler can."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle
from hpclaunch.schedulers.arrays import Tasks
from hpclaunch.schedulers.contract import Scheduler
from hpclaunch.values.errors import SchedulerError


@runtime_checkable
class JobArrays(Protocol):
    """Every method raises SchedulerError where the scheduler cannot be reached."""

    def largest_array(self) -> int:
        """How many tasks an array may have; below 1 there are no arrays."""

    def tasks(self, records: Sequence[Record]) -> dict[str, Tasks]:
        """Tag -> the tasks of job arrays that have a job id."""

    def cancel_task(self, record: Record, task: int) -> None:
        """Asks for the end of one task, and does not wait for it. No error where it has ended meanwhile."""


def of(target: Scheduler) -> JobArrays:
    """The scheduler as one that has arrays. Raises SchedulerError where it has none."""
    if not isinstance(target, JobArrays):
        raise SchedulerError("this scheduler has no job arrays")
    return target


def of_record(record: Record) -> JobArrays:
    """The same for the scheduler that the record was made for."""
    return of(lifecycle.scheduler_of(record))
