"""Job arrays: what Slurm says of their tasks, and what that makes of the whole."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from hpclaunch.records import tasks as known_tasks
from hpclaunch.records.record import Record
from hpclaunch.schedulers.ways.contract import Row
from hpclaunch.values.job import JobStatus, State

Tasks = dict[int, JobStatus]

# In a reason nobody reads more.
_NAMED = 8
_GOING_ON: tuple[State, ...] = ("RUNNING", "PENDING", "UNKNOWN")
_ORDER: tuple[State, ...] = (
    "PENDING",
    "RUNNING",
    "COMPLETED",
    "FAILED",
    "TIMEOUT",
    "OUT_OF_MEMORY",
    "NODE_FAIL",
    "PREEMPTED",
    "CANCELLED",
    "UNKNOWN",
)

# Asks about jobs by their ids. In its rows the id of a task is ARRAY_TASK, and those that wait are one:
# ARRAY_[0-99,200-299:2%5].
Ask = Callable[[Sequence[str]], Sequence[Row]]

# The names of the logs that the tasks of a record have begun, None where they are out of sight.
Logs = Callable[[Record], Collection[str] | None]


def numbers(text: str) -> Iterator[int]:
    """The numbers in Slurm's text for tasks: 7, 0-4, 0-8:4, several with commas, and perhaps %LIMIT. What is
    none of these ("N/A", or cut short with ...) has no numbers."""
    for part in text.strip("[]").partition("%")[0].split(","):
        ends, _, step = part.partition(":")
        first, dash, last = ends.partition("-")
        if first.isdigit() and (last.isdigit() or not dash) and (step.isdigit() or not step):
            yield from range(int(first), int(last or first) + 1, int(step or 1))


def refresh(records: Sequence[Record], jobs: Ask, accounts: Ask, logs: Logs) -> dict[str, Tasks]:
    """Tag -> the tasks of each record of an array, all of which have a job id. `jobs` asks the controller,
    and `accounts` for what that has forgotten. What ended is noted in the record. Raises SchedulerError,
    OSError and HpclaunchError."""
    found = {record.tag: known_tasks.ended(record) for record in records}
    answered = _add(found, records, jobs([str(record.state().job_id) for record in records]))
    missing = [record for record in records if len(found[record.tag]) < record.intent.tasks]
    if missing:
        before = {record.tag: dict(found[record.tag]) for record in missing}
        _add(found, missing, accounts([str(record.state().job_id) for record in missing]))
        for tag, tasks in before.items():
            found[tag] |= tasks  # the controller knows better
    for record in records:
        tasks = found[record.tag]
        if len(tasks) < record.intent.tasks:
            began = logs(record) if record.tag in answered and not record.intent.chain else None
            tasks |= {
                task: _gone(record, task, began) for task in range(record.intent.tasks) if task not in tasks
            }
        known_tasks.note(record, {task: status for task, status in tasks.items() if status.has_ended})
        found[record.tag] = dict(sorted(tasks.items()))
    return found


def _gone(record: Record, task: int, began: Collection[str] | None) -> JobStatus:
    """What became of a task that the controller does not have, though it has others of the array: it keeps
    nothing of one that was cancelled by itself while it waited. One that ran, and was forgotten, has begun
    its log."""
    if began is None or record.log_of(task).name in began:
        return JobStatus("UNKNOWN", "the scheduler no longer knows it")
    return JobStatus("CANCELLED", "it left the queue before it began")


def whole(tasks: Tasks) -> JobStatus:
    """The state of an array: that of what goes on, or waits; once all has ended, that of the first task that
    did not complete."""
    states = counts(tasks)
    shown = ", ".join(f"{number:,} {state}" for state, number in states.items())
    submitted, started = least(tasks, "submitted"), least(tasks, "started")
    for state in _GOING_ON:
        if state in states:
            own = next(status for status in tasks.values() if status.state == state)
            why = f"; {own.reason}" if own.reason and len(states) == 1 else ""
            return JobStatus(state, f"{shown}{why}", submitted=submitted, started=started)
    failed = [task for task, status in tasks.items() if status.state != "COMPLETED"]
    ended = max((status.ended for status in tasks.values() if status.ended), default=None)
    if not failed:
        return JobStatus("COMPLETED", shown, exit_code=0, submitted=submitted, started=started, ended=ended)
    first = tasks[failed[0]]
    named = ", ".join(map(str, failed[:_NAMED])) + (", ..." if len(failed) > _NAMED else "")
    reason = f"{shown}; task{'s' if len(failed) > 1 else ''} {named}"
    return msgspec.structs.replace(
        first, reason=reason, nodes="", submitted=submitted, started=started, ended=ended
    )


def counts(tasks: Tasks) -> dict[State, int]:
    """How many tasks are in each state."""
    found = Counter(status.state for status in tasks.values())
    return {state: found[state] for state in _ORDER if found[state]}


def _add(found: dict[str, Tasks], records: Sequence[Record], rows: Sequence[Row]) -> set[str]:
    """Rows go to the record that has their number and their tag: an older cluster may have given the number
    to another job. Returns the tags of those that have rows, and none whose numbers were cut short."""
    answered: dict[str, bool] = {}
    by_id: dict[str, list[Record]] = {}
    for record in records:
        by_id.setdefault(str(record.state().job_id), []).append(record)
    for job_id, status, marks in rows:
        array, _, tasks = job_id.partition("_")
        for record in by_id.get(array, ()):
            if record.tag in marks:
                found[record.tag].update((task, status) for task in numbers(tasks))
                whole_text = bool(tasks) and "." not in tasks and "N/A" not in tasks
                answered[record.tag] = answered.get(record.tag, True) and whole_text
    return {tag for tag, all_there in answered.items() if all_there}


def least(tasks: Mapping[int, JobStatus], name: str) -> str | None:
    """The earliest of these times, which any task has."""
    return min((time for status in tasks.values() if (time := getattr(status, name))), default=None)
