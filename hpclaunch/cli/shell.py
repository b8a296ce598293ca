"""`hpclaunch shell`."""

import os
import shutil
import sys
from typing import NoReturn

import click

from hpclaunch.cli.output import warn
from hpclaunch.cli.planning import Planned, job_argument, plan_job, set_option, site_option
from hpclaunch.cli.submission import submission_of
from hpclaunch.render import interactive
from hpclaunch.values.errors import InputError, SchedulerError
from hpclaunch.values.launchplan import SlurmTarget


@click.command()
@job_argument
@site_option
@set_option
@click.argument("words", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def shell(job_file: str, site_name: str, sets: tuple[str, ...], words: tuple[str, ...]) -> NoReturn:
    """Open a shell in the container and environment of a job, on nodes as the job would get.

    The shell is on the first node, is no rank and not bound; steps and trials are not run. The nodes go back
    when it ends. With a command, that runs in its place, and the exit status is the command's.
    """
    planned = plan_job(job_file, site_name, sets)
    plan, target = planned.plan, planned.plan.target
    if not isinstance(target, SlurmTarget) or planned.site.value.ssh is not None:
        raise InputError(_elsewhere(planned))
    if target.components:
        raise InputError(
            "shell is in one allocation, and these groups have one each: write a group as a job by itself"
        )
    from hpclaunch.schedulers.environment import closed

    warn(*plan.warnings)
    found = submission_of(plan, lambda index: planned.job.locate(("secrets", index)), warn)
    here = {name: os.environ[name] for name in ("TERM",) if name in os.environ}
    for_hooks = {each.name: each.value for each in target.host_env}
    slurm = planned.site.value.slurm
    conf = (slurm.conf if slurm else None) or os.environ.get("SLURM_CONF")
    environment = closed(os.environ, {**here, **for_hooks, **found.secrets}, conf)
    if target.path:
        environment["PATH"] = f"{target.path}:{environment['PATH']}"
    if shutil.which("salloc", path=environment["PATH"]) is None:
        raise SchedulerError(
            "salloc is not on the PATH", "Use a login node of the cluster, or load Slurm's module."
        )
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    argv = interactive.argv(plan, target, words, found.environment, terminal)
    os.chdir("/")  # the folder of this shell need not be there on the nodes
    os.execvpe(argv[0], argv, environment)


def _elsewhere(planned: Planned) -> str:
    name = planned.site.value.name
    instead = "or submit a job whose command waits, and use `hpclaunch exec` in it"
    if isinstance(planned.plan.target, SlurmTarget):
        here = f"shell needs Slurm's commands on this machine: site {name} is reached over SSH"
        return f"{here}, so run it there, {instead}"
    return f"shell is for sites with Slurm, and {name} is of {planned.plan.scheduler}: take one, {instead}"
