"""Jobs of Slurm that its controller does not know any more.

slurmctld forgets a job when MinJobAge has passed since its end (`purge_old_job` in its job_mgr.c; 0:
never). One that ran has left its claim in the record. One that was cancelled before it ran, or could not be
started, has left nothing but a line in the accounts, where the cluster keeps them.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from hpclaunch.records import sending
from hpclaunch.records.record import Record
from hpclaunch.schedulers import slurm_output
from hpclaunch.schedulers.contract import Busy, Refused
from hpclaunch.schedulers.slurm_cluster import read_config
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.schedulers.ways.contract import Way

DEFAULT_MIN_JOB_AGE_S = 300.0  # DEFAULT_MIN_JOB_AGE in src/common/read_config.h
# Accounts lose old jobs too, at sites that say so (PurgeJobAfter in slurmdbd.conf), mostly after months.
ACCOUNTS_KEEP_S = 28 * 86_400.0
_CLOCKS_DIFFER = timedelta(days=1)  # and are in different zones


def in_accounts(way: Way, records: Sequence[Record]) -> dict[str, str] | None:
    """Tag -> job id of the jobs of these submissions that have ended, as the accounts know them; None where
    there are no accounts to ask. What the accounts take for a job that goes on, and the controller does not
    know, the controller has lost."""
    first = min(datetime.fromisoformat(record.intent.created.replace("Z", "+00:00")) for record in records)
    now = datetime.now(timezone.utc)
    if first > now:  # a clock was put right since, and nobody knows when it was
        first = now - timedelta(seconds=ACCOUNTS_KEEP_S)
    since = (first - _CLOCKS_DIFFER).astimezone(timezone.utc)
    rows = way.history(since.strftime("%Y-%m-%dT%H:%M:%S"))
    if rows is None:
        return None
    found = slurm_output.by_tag(rows, {record.tag: None for record in records})
    return {tag: job_id for tag, (job_id, _) in found.items()}


def doubts(way: Way, commands: Commands, records: Sequence[Record]) -> dict[str, str]:
    """Tag -> why nobody can tell whether there was a job, for submissions of which the controller knows no
    job, and that have no claim. Those that are not in it surely have none that anybody saw and cancelled.
    Raises SchedulerError where the controller does not tell MinJobAge, and OSError.

    The ages are those of the records' own files, since the clocks of machines jump: a job cannot be older.
    """
    ages = {record.tag: sending.age_s(record) for record in records}
    limit_s = _min_job_age_s(commands)
    old = [record for record in records if limit_s and not 0 <= ages[record.tag] < limit_s]
    if not old:
        return {}
    known = in_accounts(way, old)
    if known is None:
        why = "and the cluster keeps no accounts that could be asked"
    else:
        old = [
            record for record in old if record.tag in known or not 0 <= ages[record.tag] <= ACCOUNTS_KEEP_S
        ]
        why = "and the accounts may have lost it by now"
    said = (
        f"Slurm knows no such job, but forgets one that is cancelled before it begins after {limit_s:.0f} s, "
        f"{why}. If it is still wanted: hpclaunch rerun "
    )
    return {record.tag: said + record.tag for record in old}


def _min_job_age_s(commands: Commands) -> float:
    try:
        text = read_config(commands).get("minjobage", "")
    except Busy:
        raise
    except Refused:  # there is no scontrol beside slurmrestd
        text = ""
    number = text.partition(" ")[0]
    return float(number) if number.isdigit() else DEFAULT_MIN_JOB_AGE_S
