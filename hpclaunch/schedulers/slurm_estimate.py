"""When Slurm would start a job: `sbatch --test-only`, which submits nothing."""

import re
import shutil
import tempfile
from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.schedulers.ways import choose
from hpclaunch.schedulers.ways.contract import CannotExpress
from hpclaunch.schedulers.ways.options import by_name, spelled
from hpclaunch.values.errors import SchedulerError, first_line
from hpclaunch.values.slurmaccess import SlurmAccess

LIMIT_S = 20.0
# "sbatch: Job 7 to start at 2026-01-01T00:00:00 using 256 processors on nodes a[1-2] in partition batch"
# (src/sbatch/sbatch.c, tags 20.11 to 26.05; without "in partition" before 17.11)
_START = re.compile(
    r"Job \d+ to start at (\S+) using \d+ processors on (?:nodes )?(\S+)(?: in partition (\S+))?"
)
# What sbatch says where the controller itself said no.
_NO = "allocation failure"


class Estimate(Struct, frozen=True):
    """Slurm's answer: ISO 8601 in UTC, and where. `said` is all of it, where it has another form."""

    start: str = ""
    nodes: str = ""
    partition: str = ""
    said: str = ""


class NotAsked(SchedulerError):
    """No Slurm of this site could be asked, and so nothing is known."""


def estimate(slurm_conf: str | None, access: SlurmAccess, script: str, options: Sequence[str]) -> Estimate:
    """Asks for a job with this script, whose #SBATCH lines are these options. Raises Refused where Slurm
    would not take it, and NotAsked."""
    try:
        if access.login is None:
            text = _here(slurm_conf, script)
        else:
            words = [spelled(name, value) for name, value in by_name(options).items()]
            commands = choose.commands(slurm_conf, access)
            text = _ask(commands, [*words, "--wrap=true"])
    except CannotExpress as error:
        raise NotAsked(f"an option cannot be given without the script: {error}") from error
    except SchedulerError as error:
        if isinstance(error, Refused) and _NO in str(error).lower():
            raise
        raise NotAsked(first_line(error)) from error
    found = _START.search(text)
    if found is None:
        return Estimate(said=text.strip())
    return Estimate(f"{found[1]}Z", found[2], found[3] or "")


def _here(slurm_conf: str | None, script: str) -> str:
    if shutil.which("sbatch") is None:
        raise NotAsked("sbatch is not on the PATH")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="hpclaunch-", suffix=".sh") as file:
        file.write(script)
        file.flush()
        return _ask(Commands(slurm_conf), [file.name])


def _ask(commands: Commands, words: Sequence[str]) -> str:
    out, said = commands.run(["sbatch", "--test-only", *words], LIMIT_S, {"TZ": "UTC"})
    return out + said
