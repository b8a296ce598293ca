"""What every way to Slurm can do."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from hpclaunch.schedulers.contract import Warn
from hpclaunch.values.errors import HpclaunchError
from hpclaunch.values.job import JobStatus

# A job as the controller or the accounts tell it: its id, its status, and its comment and working folder, in
# one of which the tag of its submission is.
Row = tuple[str, JobStatus, str]


class Request(Struct, frozen=True):
    """One submission. `arguments` are the script's; `inherited` the variables of the submitter's shell that
    the job takes. `options` is what the script asks of sbatch on its #SBATCH lines, which only sbatch reads:
    None where nobody knows. `more` are options that are in no script: what the job waits for.
    A command that sends it keeps the descriptors `held` open."""

    script: Path
    arguments: tuple[str, ...]
    comment: str
    chdir: Path
    output: str
    inherited: Mapping[str, str]
    options: tuple[str, ...] | None = None
    more: tuple[str, ...] = ()
    held: tuple[int, ...] = ()


class CannotExpress(HpclaunchError):
    """This way has no words for something that the job asks for. Nothing was sent."""


class Sender(Protocol):
    """What sends jobs. Raises Refused where there is surely no job and nothing was done, CannotExpress where
    Slurm's commands may send it instead, and any other SchedulerError where that is open. `name` is that of
    the site's key `via`."""

    name: str

    def submit(self, request: Request, warn: Warn) -> str:
        """Sends the script and gives the job's id; `warn` hears what Slurm said beside it."""


class Way(Sender, Protocol):
    """What sends jobs, and is asked about them. Every method raises as above."""

    def version(self) -> str:
        """Slurm's version in its own words, "slurm 22.05.8"."""

    def jobs(self, ids: Sequence[str] | None) -> list[Row]:
        """The jobs that the controller knows: those of these ids, or all of this user's."""

    def accounts(self, ids: Sequence[str]) -> list[Row]:
        """These jobs as the accounts tell them; none where the cluster keeps none, or this way does not see
        them."""

    def history(self, since: str) -> list[Row] | None:
        """All of this user's jobs that ended after a time (UTC, "2026-01-31T12:00:00"), as the accounts tell
        them; None where these cannot be asked."""

    def cancel(self, job_id: str) -> None:
        """Asks for the job's end. No error where it has ended meanwhile."""
