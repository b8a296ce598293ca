"""`hpclaunch forget`."""

import click

from hpclaunch.cli.output import say
from hpclaunch.records.lookup import find
from hpclaunch.schedulers import giveup


@click.command()
@click.argument("job_ids", metavar="JOB_ID...", nargs=-1, required=True)
@click.option("--unasked", is_flag=True, help="Also where the scheduler cannot be reached any more.")
def forget(job_ids: tuple[str, ...], unasked: bool) -> None:
    """Give up jobs of which nobody can tell what became: `list` shows them no more.

    JOB_ID may be the tag of a submission. Nothing is sent, and no job is ended; but of one of Slurm's that
    has not begun no rank starts any more, unless it is behind a login node that --unasked does without. The
    records stay.
    """
    for record in [find(job_id) for job_id in job_ids]:  # all are found before any is given up
        said = giveup.give_up(record, unasked, say)
        say(f"{record.intent.name} ({record.intent.site}/{record.tag}): {said}")
