"""What a job waits for: the other jobs of its command, known by the tags of their records."""

from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter

from hpclaunch.records.record import Record
from hpclaunch.values.errors import HpclaunchError, SchedulerError
from hpclaunch.values.job import JobStatus

SINGLETON = "singleton"  # all jobs of its name; beside a tag the order alone counts


class Never(SchedulerError):
    """The job that it waits for cannot end as it has to."""


class NotYet(SchedulerError):
    """Nobody knows whether the job that it waits for is there, or how it ended."""


def words(record: Record, ids: Mapping[str, str]) -> str:
    """In Slurm's words: afterok:1:2,afterany:3,singleton. `ids`, by tags, are those of the jobs that it still
    waits for."""
    found: dict[str, list[str]] = {}
    for tag, when in record.intent.waits_for:
        if when != SINGLETON and tag in ids:
            found.setdefault(when, []).append(ids[tag])
    said = [":".join((when, *own)) for when, own in found.items()]
    return ",".join([*said, *([SINGLETON] if record.intent.singleton else [])])


def others(records: Iterable[Record]) -> list[Record]:
    """The records of all that these jobs wait for. One that is not there any more is left out."""
    found: dict[str, Record] = {}
    for record in records:
        for tag, _ in record.intent.waits_for:
            try:
                found[tag] = Record.read(record.folder.parent / tag)
            except HpclaunchError:
                continue
    return list(found.values())


def ids(record: Record, known: Mapping[str, Record], fresh: Mapping[str, JobStatus]) -> dict[str, str]:
    """Tag -> job id of those that it still waits for; `known` are their records, and `fresh` what their
    scheduler has just said of those that were there. Raises Never and NotYet, OSError, and HpclaunchError for
    a damaged record."""
    found = {}
    for tag, when in record.intent.waits_for:
        other = known.get(tag)
        if other is None:
            raise NotYet(f"it waits for {tag}, whose record is gone")
        state, name = other.state(), f"{other.intent.name} ({other.intent.site}/{tag})"
        if state.status is not None and state.status.has_ended:
            if state.job_id is None:
                raise Never(f"it waits for {name}, which was never submitted")
            if when == "afterok" and state.status.state != "COMPLETED":
                raise Never(f"it waits for {name}, which ended as {state.status.state}")
        elif state.job_id is None:
            raise NotYet(f"it waits for {name}, which is not known to be submitted")
        elif tag not in fresh or fresh[tag].state != "UNKNOWN":
            found[tag] = state.job_id
        elif when == "afterok" or other.claimed_by() is None:
            raise NotYet(f"it waits for {name}, of which nobody knows how it ended")
    return found


def is_refused(record: Record) -> bool:
    """Whether there surely is no job of the record. Raises HpclaunchError for a damaged one."""
    state = record.state()
    return state.job_id is None and state.status is not None and state.status.has_ended


def in_order(records: Sequence[Record]) -> list[Record]:
    """Those that others wait for before them."""
    by_tag = {record.tag: record for record in records}
    needs = {
        tag: [other for other, _ in record.intent.waits_for if other in by_tag]
        for tag, record in by_tag.items()
    }
    return [by_tag[tag] for tag in TopologicalSorter(needs).static_order()]
