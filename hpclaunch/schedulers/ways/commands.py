"""Slurm's own commands: sbatch, squeue, sacct, scancel.

`squeue --states=all` also shows jobs that ended within MinJobAge, with their exit code, so that a life is
mostly followed by squeue alone; sacct answers later, where the cluster keeps accounts.
"""

from collections.abc import Iterator, Sequence

from hpclaunch.schedulers import slurm_output
from hpclaunch.schedulers.contract import Warn
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.schedulers.ways.contract import Request, Row
from hpclaunch.values.errors import SchedulerError

SBATCH_S = 240.0  # sbatch itself tries for two minutes while the queue is full (src/sbatch/sbatch.c)
IDS_PER_COMMAND = 1000  # keeps the command line far below the kernel's limit
ENDED = "CA,CD,F,TO,NF,PR,OOM,BF,DL"  # sacct's names of states, 20.11 to 26.05
FAR = "2037-01-01T00:00:00"  # Slurm's times may be of 32 bits

SQUEUE = ("squeue", "--noheader", "--states=all", f"--Format={slurm_output.SQUEUE_FORMAT}")
SACCT = ("sacct", "--noheader", "--allocations", "--parsable2", f"--format={slurm_output.SACCT_FORMAT}")


class ByCommands:
    """The commands for one cluster."""

    name = "commands"

    def __init__(self, commands: Commands):
        self._commands = commands

    def version(self) -> str:
        """For example "slurm-wlm 22.05.8"."""
        return self._commands.query(["sbatch", "--version"]).strip()

    def submit(self, request: Request, warn: Warn) -> str:
        """As the contract says it; sbatch reads what the job asks for in the script."""
        command = [
            "sbatch",
            "--parsable",
            f"--comment={request.comment}",
            f"--chdir={request.chdir}",
            f"--output={request.output}",
            *request.more,
            str(request.script),
            *request.arguments,
        ]
        text, remarks = self._send(command, request)
        if remarks.strip():
            warn(remarks.strip())  # a site's plugin may have changed the job
        job_id = slurm_output.parse_submitted(text)
        if job_id is None:
            raise SchedulerError(f"sbatch printed no job id: {text.strip()!r}")
        return job_id

    def _send(self, command: Sequence[str], request: Request) -> tuple[str, str]:
        return self._commands.run(command, SBATCH_S, request.inherited, request.held)

    def jobs(self, ids: Sequence[str] | None) -> list[Row]:
        """Asks squeue."""
        if ids is None:
            return slurm_output.parse_squeue(
                self._commands.query([*SQUEUE, f"--user={self._commands.user()}"])
            )
        rows: list[Row] = []
        for portion in _portions(ids):
            try:
                text = self._commands.query([*SQUEUE, f"--jobs={','.join(portion)}"])
            except SchedulerError as error:
                if "Invalid job id" in str(error):  # said where the only job asked for is forgotten
                    continue
                raise
            rows += slurm_output.parse_squeue(text)
        return rows

    def accounts(self, ids: Sequence[str]) -> list[Row]:
        """Asks sacct. Many clusters keep no accounts."""
        rows: list[Row] = []
        for portion in _portions(ids):
            try:
                rows += slurm_output.parse_sacct(
                    self._commands.query([*SACCT, f"--jobs={','.join(portion)}"])
                )
            except SchedulerError:
                break
        return rows

    def history(self, since: str) -> list[Row] | None:
        """Asks sacct, also for jobs whose numbers were given again. Without --state it would leave out those
        that were held, or to begin later, when they were cancelled: they never became eligible."""
        mine = (f"--user={self._commands.user()}", "--duplicates", f"--state={ENDED}")
        try:
            text = self._commands.query([*SACCT, *mine, f"--starttime={since}", f"--endtime={FAR}"])
        except SchedulerError:
            return None
        return slurm_output.parse_sacct(text)

    def cancel(self, job_id: str) -> None:
        """scancel says nothing about a job that has ended."""
        self._commands.query(["scancel", job_id])


def _portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), IDS_PER_COMMAND):
        yield ids[start : start + IDS_PER_COMMAND]
