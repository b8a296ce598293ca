"""`hpclaunch submit --resume`: what became of submissions whose end nobody saw."""

import time

from hpclaunch.cli.output import say, warn
from hpclaunch.cli.recorded import plan_of
from hpclaunch.cli.submission import submission_of
from hpclaunch.records.lookup import all_records, find
from hpclaunch.records.record import Record
from hpclaunch.schedulers import resume
from hpclaunch.values.errors import HpclaunchError
from hpclaunch.values.job import Submission

_SAID = {
    "present": "it is there",
    "sent": "it was not there, and is sent now",
    "absent": "it is not there",
    "refused": "there is no job",
    "unknown": "nobody can tell, and nothing is sent",
}


def run(tags: tuple[str, ...], send: bool) -> tuple[list[Record], int]:
    """Looks up these submissions, or all open ones, and sends those that are not there. Prints the ids of
    those that are. The records with an id, and the exit status: the worst. Raises InputError."""
    from hpclaunch.cli.submit import tell

    damaged: list[str] = []
    records = [find(tag) for tag in tags] if tags else _open_ones(damaged)
    outcomes = resume.resume(records, _taken_anew if send else None, say, time.sleep)
    for outcome in outcomes:
        record = outcome.record
        why = f": {outcome.why}" if outcome.why else ""
        say(f"{record.intent.name} ({record.intent.site}/{record.tag}): {_SAID[outcome.found]}{why}")
        if outcome.job_id:
            tell(outcome.job_id)
    if damaged:
        say("of records that cannot be read nobody can tell whether there is a job")
    elif not outcomes:
        say("no submission is open")
    status = max((HpclaunchError.exit_status * bool(damaged), *(each.status for each in outcomes)))
    return [each.record for each in outcomes if each.job_id], status


def _open_ones(damaged: list[str]) -> list[Record]:
    """Says and adds to `damaged` what is wrong with those that cannot be read."""
    records, problems = all_records()
    damaged += problems
    found = []
    for record in reversed(records):  # the oldest first: later ones may wait for it
        try:
            if resume.is_open(record):
                found.append(record)
        except HpclaunchError as error:
            damaged.append(str(error))
    for problem in damaged:
        say(problem)
    return found


def _taken_anew(record: Record) -> Submission:
    """Secrets and inherited variables are in no record. Raises InputError for a secret that is not set, and
    HpclaunchError for a damaged record."""
    return submission_of(plan_of(record), lambda index: str(record.folder / "job.yaml"), warn)
