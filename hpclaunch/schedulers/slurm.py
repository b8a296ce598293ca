"""Slurm through its commands: sbatch, squeue, sacct, scancel.

`squeue --states=all` also shows jobs that ended within MinJobAge, with their exit code, so that a life is
mostly followed by squeue alone; sacct answers later, where the cluster keeps accounts.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hpclaunch.records import secrets
from hpclaunch.records.record import Record
from hpclaunch.schedulers import slurm_output
from hpclaunch.schedulers.contract import Warn
from hpclaunch.schedulers.follow import FIRST_POLL_S
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import JobStatus, Submission

SBATCH_S = 240.0  # sbatch itself tries for two minutes while the queue is full (src/sbatch/sbatch.c)
# The signal in Slurm's form of ESLURMD_IO_ERROR (4021), which slurmstepd gives as the wait status of a script
# whose output it could not open (src/slurmd/slurmstepd/mgr.c, tags 20.11 to 26.05): 4021 & 127.
NO_OUTPUT_SIGNAL = 53
IDS_PER_COMMAND = 1000  # keeps the command line far below the kernel's limit

SQUEUE = ("squeue", "--noheader", "--states=all", f"--Format={slurm_output.SQUEUE_FORMAT}")
SACCT = ("sacct", "--noheader", "--allocations", "--parsable2", f"--format={slurm_output.SACCT_FORMAT}")

Rows = dict[str, tuple[str, JobStatus]]
Tags = dict[str, str | None]


class Slurm:
    """One cluster: that of `slurm_conf`, or of the machine's own configuration."""

    slowest_poll_s = 5.0
    log_poll_s = FIRST_POLL_S
    keeps_ended = False

    def __init__(self, slurm_conf: str | None):
        self._commands = Commands(slurm_conf)

    def version(self) -> str:
        """For example "slurm-wlm 22.05.8"."""
        return self._commands.query(["sbatch", "--version"]).strip()

    def submit(self, record: Record, submission: Submission, warn: Warn) -> str:
        """Sends the record's script, whose arguments are the path of its claim, and where there are secrets
        that of the file with their values.

        Raises Refused, HpclaunchError where the disk refuses, and SchedulerError where sbatch failed and the
        controller may have the job nevertheless.
        """
        command = [
            "sbatch",
            "--parsable",
            f"--comment=hpclaunch:{record.tag}",
            f"--chdir={record.work}",
            f"--output={filename_pattern(record.log)}",
            str(record.script),
            str(record.claim),
        ]
        if submission.secrets:
            command.append(str(secrets.write(record, submission.secrets)))
        text, remarks = self._commands.run(command, SBATCH_S, submission.environment)
        if remarks.strip():
            warn(remarks.strip())  # a site's plugin may have changed the job
        job_id = slurm_output.parse_submitted(text)
        if job_id is None:
            raise SchedulerError(f"sbatch printed no job id: {text.strip()!r}")
        return job_id

    def locate(self, records: Sequence[Record]) -> dict[str, str]:
        """Looks for the tags among the user's jobs that the controller still knows."""
        text = self._commands.query([*SQUEUE, f"--user={os.getuid()}"])
        rows = slurm_output.by_tag(slurm_output.parse_squeue(text), {record.tag: None for record in records})
        return {tag: job_id for tag, (job_id, _) in rows.items()}

    def status(self, records: Sequence[Record]) -> dict[str, JobStatus]:
        """Asks squeue, and sacct for the jobs that squeue has forgotten."""
        wanted = {record.tag: record.state().job_id for record in records}
        found = {tag: status for rows in self._squeue(wanted) for tag, (_, status) in rows.items()}
        forgotten = {tag: job_id for tag, job_id in wanted.items() if tag not in found}
        found |= {tag: status for rows in self._sacct(forgotten) for tag, (_, status) in rows.items()}
        return {
            record.tag: _explained(record, found[record.tag]) for record in records if record.tag in found
        }

    def cancel(self, record: Record) -> None:
        """scancel says nothing about a job that has ended, and neither does this."""
        self._commands.query(["scancel", str(record.state().job_id)])

    def bring_log(self, record: Record) -> None:
        """Nothing to do: the job itself writes there."""

    def _squeue(self, wanted: Tags) -> Iterator[Rows]:
        for tags in _portions(wanted):
            try:
                text = self._commands.query([*SQUEUE, f"--jobs={_ids(tags)}"])
            except SchedulerError as error:
                if "Invalid job id" in str(error):  # said where the only job asked for is forgotten
                    continue
                raise
            yield slurm_output.by_tag(slurm_output.parse_squeue(text), tags)

    def _sacct(self, wanted: Tags) -> Iterator[Rows]:
        for tags in _portions(wanted):
            try:
                text = self._commands.query([*SACCT, f"--jobs={_ids(tags)}"])
            except SchedulerError:
                return  # many clusters keep no accounts; the record's own last word stands then
            yield slurm_output.by_tag(slurm_output.parse_sacct(text), tags)


def _explained(record: Record, status: JobStatus) -> JobStatus:
    """A signal that nobody sent becomes what Slurm means by it. Where there is a log, it was one."""
    if status.signal != NO_OUTPUT_SIGNAL or record.log.exists():
        return status
    reason = (
        f"the node could not write the job's output in {record.log.parent}: "
        "HPCLAUNCH_HOME must be a folder that the compute nodes see"
    )
    return msgspec.structs.replace(status, reason=reason, signal=None)


def filename_pattern(path: Path) -> str:
    """`path` for --output, where % begins a replacement and a backslash switches replacements off and
    must itself be doubled (`fname_create` and `remove_path_slashes` in Slurm)."""
    text = str(path)
    return text.replace("\\", "\\\\") if "\\" in text else text.replace("%", "%%")


def _portions(tags: Tags) -> Iterator[Tags]:
    pairs = list(tags.items())
    for start in range(0, len(pairs), IDS_PER_COMMAND):
        yield dict(pairs[start : start + IDS_PER_COMMAND])


def _ids(tags: Tags) -> str:
    return ",".join(str(job_id) for job_id in tags.values())
