"""Trying again, for a minute, what may succeed in a moment; and sending a job so that it arrives once.

Own code, since what is tried again and what is asked before differs at each step; a library would only count.
"""

import time
from collections.abc import Callable, Sequence

from hpclaunch.records.record import Record
from hpclaunch.schedulers.contract import Busy, Refused, Scheduler, Warn
from hpclaunch.values.errors import SchedulerError, first_line
from hpclaunch.values.job import Submission

# A controller that restarts, or fails over, is mostly back within that minute.
PAUSES_S: Sequence[float] = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)

Pause = Callable[[float], None]


def deliver(
    target: Scheduler, record: Record, submission: Submission, warn: Warn, pause: Pause = time.sleep
) -> str:
    """Sends the job until it has arrived, and gives its id. The caller holds the record's lock. Before it is
    sent a second time it is sure that the first one did not arrive.

    Raises Refused where there is no job, and SchedulerError where nobody can tell.
    """
    pauses = iter(_pauses(target))
    while True:
        try:
            return target.submit(record, submission, warn)
        except Refused as error:
            waited_s = next(pauses, None) if isinstance(error, Busy) else None
            if waited_s is None:
                raise
            failure: SchedulerError = error
        except SchedulerError as error:
            try:
                found = find(target, [record], _said(first_line(error), warn, pause))
            except (SchedulerError, OSError):
                raise error from None
            if record.tag in found:
                return found[record.tag]
            if target.tries_again:
                raise
            waited_s = next(pauses, None)
            if waited_s is None:
                raise Refused(f"the job did not arrive: {first_line(error)}", error.advice) from error
            failure = error
        warn(f"{first_line(failure)}: trying again in {waited_s:.0f} s")
        pause(waited_s)


def find(target: Scheduler, records: Sequence[Record], pause: Pause = time.sleep) -> dict[str, str]:
    """Tag -> job id of submissions that nobody sends any more. Those that are not in it surely made no job.

    When that is sure:

    - Nobody sends: the caller holds the records' locks, which whoever sends holds too, sbatch included.
    - What was sent may still lie before a controller that is busy, or stopped for a while. It takes
      connections in their order. So the first answer says that it is awake and has taken what came before
      the question, and the second one, `settled_after_s` later, that it has had the time to carry that out.
    - A job that ran and was forgotten (after MinJobAge, or with the state of a controller that was lost) has
      left its claim in the record. One that was forgotten before it ran has started no rank; whether it was
      cancelled is for `Scheduler.doubts`, where the submission was not just now.
    - Should a job come all the same, of a controller that slept through all of this, it finds the claim of
      the one that was sent again, or the other finds its own: one of them starts no rank.

    No clock is read: clocks jump, and those of two machines differ. Raises SchedulerError where the scheduler
    does not answer for a minute, and OSError where the record cannot be read: then nobody can tell.
    """
    found = _patiently(target, records, pause)
    if len(found) < len(records) and target.settled_after_s:
        pause(target.settled_after_s)
        found = _patiently(target, records, pause)
    return found


def arrived(target: Scheduler, records: Sequence[Record]) -> dict[str, str]:
    """Tag -> job id of those submissions that did arrive, as far as it shows at this moment; of two jobs of
    one submission the one that runs. Raises SchedulerError, and OSError where a record cannot be read."""
    found = target.locate(records)
    return found | {record.tag: owner for record in records if (owner := record.claimed_by())}


def _patiently(target: Scheduler, records: Sequence[Record], pause: Pause) -> dict[str, str]:
    for waited_s in _pauses(target):
        try:
            return arrived(target, records)
        except SchedulerError as error:
            if isinstance(error, Refused) and not isinstance(error, Busy):
                raise
            pause(waited_s)
    return arrived(target, records)


def _pauses(target: Scheduler) -> Sequence[float]:
    return () if target.tries_again else PAUSES_S


def _said(why: str, warn: Warn, pause: Pause) -> Pause:
    """`pause`, which says the first time what for."""
    said = False

    def paused(seconds: float) -> None:
        nonlocal said
        if not said:
            warn(f"{why}: finding out whether the job arrived")
            said = True
        pause(seconds)

    return paused
