"""`hpclaunch exec`."""

import os
import sys
from typing import NoReturn

import click

from hpclaunch.rank.beside import text
from hpclaunch.rank.expected import read_plan
from hpclaunch.records.lookup import find_task
from hpclaunch.records.record import Record
from hpclaunch.values.errors import HpclaunchError, InputError
from hpclaunch.values.launchplan import Common


@click.command("exec")
@click.argument("job_id", metavar="JOB_ID")
@click.option("--rank", "number", default=0, show_default=True, help="Beside which rank.")
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def run_inside(job_id: str, number: int, words: tuple[str, ...]) -> NoReturn:
    """Run a command in a job that runs, beside one of its ranks.

    It has the rank's container, folder and environment, and all of the node's cores that the job has; with a
    terminal on both ends it has one too. The exit status is the command's.
    """
    record, task = find_task(job_id)
    if record.intent.scheduler != "slurm" or (record.intent.slurm and record.intent.slurm.login):
        raise InputError(_elsewhere(record, words))
    from hpclaunch.schedulers import inside  # after what is refused

    common = _common(record)
    total = common.nodes * common.ranks_per_node
    if not 0 <= number < total:
        raise InputError(f"job {job_id} has the ranks 0 to {total - 1}, and no {number}")
    rank = inside.Rank(number, common.ranks_per_node, total)
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    argv, environment = inside.command(record, task, rank, text("inside"), words, terminal)
    try:
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        raise HpclaunchError(f"srun cannot be started: {error.strerror}") from None


def _common(record: Record) -> Common:
    try:
        return read_plan((record.folder / "plan.json").read_bytes()).common
    except (OSError, ValueError) as error:
        raise HpclaunchError(f"{record.folder / 'plan.json'} cannot be read: {error}") from None


def _elsewhere(record: Record, words: tuple[str, ...]) -> str:
    if record.intent.scheduler == "kubernetes":
        pods = f"-n {record.intent.cluster.namespace} " if record.intent.cluster else ""
        return f"exec is for jobs of Slurm; in a pod: kubectl exec {pods}-it POD -- {' '.join(words[:1])} ..."
    if record.intent.scheduler == "local":
        return "exec is for jobs of Slurm; this one runs on this machine, as any command does"
    return "exec needs Slurm's commands on this machine: run it on the login node"
