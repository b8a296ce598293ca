"""Slurm: its jobs, by whichever of its ways (schedulers/ways) the site chose."""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from hpclaunch.records import secrets, sentby
from hpclaunch.records.record import Record
from hpclaunch.schedulers import arrays, slurm_output
from hpclaunch.schedulers.contract import AT_ONCE, Warn
from hpclaunch.schedulers.follow import FIRST_POLL_S
from hpclaunch.schedulers.ways import choose, options
from hpclaunch.schedulers.ways.contract import CannotExpress, Request, Way
from hpclaunch.values.errors import HpclaunchError
from hpclaunch.values.job import JobStatus, Submission
from hpclaunch.values.slurmaccess import SlurmAccess

# The signal in Slurm's form of ESLURMD_IO_ERROR (4021), which slurmstepd gives as the wait status of a script
# whose output it could not open (src/slurmd/slurmstepd/mgr.c, tags 20.11 to 26.05): 4021 & 127.
NO_OUTPUT_SIGNAL = 53
DEFAULT_MAX_ARRAY_SIZE = 1001  # src/common/read_config.h


class Slurm:
    """One cluster: that of `slurm_conf`, or of the machine's own configuration. `access` is the way of a
    submission that has no record yet; a record has its own."""

    slowest_poll_s = 5.0
    log_poll_s = FIRST_POLL_S
    keeps_ended = False
    # Connections are taken in their order, and a submission waits for the controller's locks before later
    # questions do (src/slurmctld/locks.c prefers writers): this is for plugins that take long to decide.
    settled_after_s = 10.0
    tries_again = False

    def __init__(self, slurm_conf: str | None, access: SlurmAccess | None = None):
        self._slurm_conf = slurm_conf
        self._access = access or SlurmAccess()

    @property
    def at_once(self) -> int:
        """Slurm's own library changes this process's environment while it is called."""
        in_process = choose.choice(self._slurm_conf, self._access).name == choose.PYSLURM
        return 1 if in_process else AT_ONCE

    def version(self) -> str:
        """For example "slurm-wlm 22.05.8"."""
        return choose.way(self._slurm_conf, self._access).version()

    def submit(self, record: Record, submission: Submission, warn: Warn) -> str:
        """Sends the record's script, whose arguments are the path of its claim, and where there are secrets
        that of the file with their values.

        Raises Refused, HpclaunchError where the disk refuses, and SchedulerError where the submission failed
        and the controller may have the job nevertheless.
        """
        access = record.intent.slurm or self._access
        sender = choose.sender(self._slurm_conf, access)
        seen = self._prepared(record, submission)
        kept = (str(secrets.path_of(seen)),) if submission.secrets else ()
        request = Request(
            script=seen.script,
            arguments=(str(seen.claim), *kept),
            comment=f"hpclaunch:{record.tag}",
            chdir=seen.work,
            output=_output(seen),
            inherited=submission.environment,
            options=None if sender.name == "commands" else options.of_record(record),
            more=_waits_for(submission),
            held=submission.held,
        )
        if sender.name != "commands" or sentby.is_noted(record):
            sentby.note(record, sender.name, choose.choice(self._slurm_conf, access).why)
        try:
            return sender.submit(request, warn)
        except CannotExpress as error:  # of pyslurm
            why = f"{sender.name} cannot say what this job asks for ({error})"
        warn(f"{why}: sbatch sends it")
        sentby.note(record, "commands", why)
        return choose.way(self._slurm_conf, access).submit(request, warn)

    def locate(self, records: Sequence[Record]) -> dict[str, str]:
        """Looks for the tags among the user's jobs that the controller still knows, and for the others in the
        accounts, where those that have ended are."""
        found: dict[str, str] = {}
        by_tag = {record.tag: record for record in records}
        for way, tags in self._by_way(records):
            rows = slurm_output.by_tag(way.jobs(None), dict.fromkeys(tags))
            found |= {tag: job_id for tag, (job_id, _) in rows.items()}
            others = [by_tag[tag] for tag in tags if tag not in rows]
            if others:
                from hpclaunch.schedulers import forgotten  # hardly a submission is not found

                found |= forgotten.in_accounts(way, others) or {}
        return found

    def doubts(self, records: Sequence[Record]) -> dict[str, str]:
        """What the controller may have known and forgotten."""
        from hpclaunch.schedulers import forgotten

        by_tag = {record.tag: record for record in records}
        found: dict[str, str] = {}
        for way, tags in self._by_way(records):
            members = [by_tag[tag] for tag in tags]
            commands = choose.commands(self._slurm_conf, members[0].intent.slurm or self._access)
            found |= forgotten.doubts(way, commands, members)
        return found

    def status(self, records: Sequence[Record]) -> dict[str, JobStatus]:
        """Asks the controller, and the accounts for the jobs that it has forgotten."""
        of_arrays = [record for record in records if record.intent.tasks]
        tasks = self.tasks(of_arrays)
        found = {record.tag: _whole(record, tasks[record.tag]) for record in of_arrays}
        for way, tags in self._by_way([record for record in records if not record.intent.tasks]):
            rows = slurm_output.by_tag(way.jobs(_ids(tags)), tags)
            forgotten = {tag: job_id for tag, job_id in tags.items() if tag not in rows}
            if forgotten:
                rows |= slurm_output.by_tag(way.accounts(_ids(forgotten)), forgotten)
            found |= {tag: status for tag, (_, status) in rows.items()}
        return {
            record.tag: self._explained(record, found[record.tag])
            for record in records
            if record.tag in found
        }

    def cancel(self, record: Record) -> None:
        """Says nothing about a job that has ended."""
        self._way(record).cancel(str(record.state().job_id))

    def tasks(self, records: Sequence[Record]) -> dict[str, arrays.Tasks]:
        """Tag -> the tasks of job arrays that have a job id. Raises SchedulerError, HpclaunchError and
        OSError."""
        by_tag = {record.tag: record for record in records}
        found: dict[str, arrays.Tasks] = {}
        for way, tags in self._by_way(records):
            found |= arrays.refresh([by_tag[tag] for tag in tags], way.jobs, way.accounts, self._logs)
        return found

    def cancel_task(self, record: Record, task: int) -> None:
        """The same as `cancel`, for one task of a job array."""
        self._way(record).cancel(f"{record.state().job_id}_{task}")

    def largest_array(self) -> int:
        """How many tasks an array may have: Slurm counts them from 0 to MaxArraySize - 1. Raises
        SchedulerError."""
        from hpclaunch.schedulers.slurm_cluster import read_config  # sweeps alone need it

        size = read_config(choose.commands(self._slurm_conf, self._access)).get("maxarraysize", "")
        return int(size) if size.isdigit() else DEFAULT_MAX_ARRAY_SIZE

    def bring_log(self, record: Record) -> None:
        """Nothing to do: the job itself writes there."""

    def _logs(self, record: Record) -> Collection[str] | None:
        """The names of the logs that the job has begun, None where nobody can tell."""
        try:
            return frozenset(os.listdir(record.log.parent))
        except OSError:
            return None

    def _seen(self, record: Record) -> Record:
        """The record as Slurm sees it."""
        return record

    def _prepared(self, record: Record, submission: Submission) -> Record:
        """The same, with all that the script reads. Raises HpclaunchError, and then nothing was sent."""
        if submission.secrets:
            secrets.write(record, submission.secrets)
        return self._seen(record)

    def _explained(self, record: Record, status: JobStatus) -> JobStatus:
        """A signal that nobody sent becomes what Slurm means by it. Where there is a log, it was one."""
        if status.signal != NO_OUTPUT_SIGNAL or record.log.exists():
            return status
        reason = (
            f"the node could not write the job's output in {self._seen(record).log.parent}: "
            "HPCLAUNCH_HOME must be a folder that the compute nodes see, with room on its disk"
        )
        return msgspec.structs.replace(status, reason=reason, signal=None)

    def _way(self, record: Record) -> Way:
        return choose.way(self._slurm_conf, record.intent.slurm or self._access)

    def _by_way(self, records: Sequence[Record]) -> list[tuple[Way, dict[str, str | None]]]:
        """Records that are asked for in one question, as tag -> job id."""
        groups: dict[SlurmAccess, dict[str, str | None]] = {}
        for record in records:
            group = groups.setdefault(record.intent.slurm or self._access, {})
            group[record.tag] = record.state().job_id
        return [(choose.way(self._slurm_conf, access), tags) for access, tags in groups.items()]


def _ids(tags: Mapping[str, str | None]) -> list[str]:
    return [job_id for job_id in tags.values() if job_id is not None]


def _waits_for(submission: Submission) -> tuple[str, ...]:
    """What makes a job wait, and end where it would wait for ever."""
    if not submission.dependency:
        return ()
    return f"--dependency={submission.dependency}", "--kill-on-invalid-dep=yes"


def _whole(record: Record, tasks: arrays.Tasks) -> JobStatus:
    if not record.intent.chain:
        return arrays.whole(tasks)
    from hpclaunch.schedulers import links  # most arrays are no chains

    return links.whole(record.folder, tasks)


def _output(record: Record) -> str:
    """For --output: a file for each task of an array. Raises HpclaunchError for a path in which Slurm puts no
    number of a task."""
    if not record.intent.is_array:
        return filename_pattern(record.log)
    folder = str(record.log.parent)
    if "\\" in folder:
        raise HpclaunchError(
            f"a job array cannot write its logs in {folder}: no \\ may be in HPCLAUNCH_HOME for one"
        )
    return f"{filename_pattern(record.log.parent)}/output-%a.log"


def filename_pattern(path: Path) -> str:
    """`path` for --output, where % begins a replacement and a backslash switches replacements off and
    must itself be doubled (`fname_create` and `remove_path_slashes` in Slurm)."""
    text = str(path)
    return text.replace("\\", "\\\\") if "\\" in text else text.replace("%", "%%")
