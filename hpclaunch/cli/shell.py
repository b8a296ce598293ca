"""`hpclaunch shell`."""

import os
import shlex
import shutil
from typing import NoReturn

import click

from hpclaunch.cli.output import warn
from hpclaunch.cli.planning import Place, Planned, read_both, set_option, site_option
from hpclaunch.cli.reach import slurm_conf_of
from hpclaunch.cli.submission import submission_of
from hpclaunch.render import interactive
from hpclaunch.spec.document import Document
from hpclaunch.spec.job import Job
from hpclaunch.values.errors import InputError, Path, SchedulerError
from hpclaunch.values.job import Submission
from hpclaunch.values.launchplan import SlurmTarget


class _OfGroup(Document[Job], frozen=True):
    """The group as a job by itself: what is wrong with one of its keys is so where the group has it."""

    group: str = ""

    def locate(self, path: Path) -> str:
        own = ("groups", self.group, *path)
        elsewhere = self.has(path) and not self.has(own)
        elsewhere = elsewhere or (self.has(path[:1]) and not self.has(own[:3]))
        return Document.locate(self, path if elsewhere else own)


@click.command()
@click.argument("job_file", metavar="JOB", type=click.Path())
@site_option
@set_option
@click.option("--group", metavar="NAME", help="On the nodes of this group of the job, with its variables.")
@click.option("--dry-run", is_flag=True, help="Print what would be asked for, and ask for nothing.")
@click.argument("words", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def shell(
    job_file: str,
    site_name: str,
    sets: tuple[str, ...],
    group: str | None,
    dry_run: bool,
    words: tuple[str, ...],
) -> int:
    """Open a shell in the container and environment of a job, on nodes as the job would get.

    The shell is on the first node, is no rank and not bound; steps and trials are not run. The nodes go back
    when it ends, and when the connection to it does. On Kubernetes it is one pod, with what a worker has.
    With a command, that runs in its place, and the exit status is the command's.
    """
    job, place = read_both(job_file, site_name, sets)
    if job.value.groups or group is not None:
        job = _of_group(job, place, group)
    if place.site.value.scheduler == "kubernetes":
        from hpclaunch.cli import shell_pod

        return shell_pod.run(job, place, words, dry_run)
    (planned,) = place.plan(job, first=True)
    target = planned.plan.target
    if not isinstance(target, SlurmTarget):
        name = planned.site.value.name
        raise InputError(
            f"shell is for sites with Slurm or Kubernetes, and {name} is of {planned.plan.scheduler}"
        )
    warn(*planned.plan.warnings)
    if dry_run:
        click.echo(shlex.join(interactive.argv(planned.plan, target, words, {}, True)))
        return 0
    found = submission_of(planned.plan, lambda index: planned.job.locate(("secrets", index)), warn)
    if planned.site.value.ssh is not None:
        return _there(planned, target, words, found)
    return _here(planned, target, words, found)


def _of_group(job: Document[Job], place: Place, name: str | None) -> Document[Job]:
    """The group as a job by itself, and of a sweep the first point."""
    from hpclaunch.plan import rankgroups  # most jobs have none

    groups = job.value.groups
    names = ", ".join(groups)
    if not groups:
        raise InputError("the job has no groups")
    if name is None:
        raise InputError(f"the job has groups: say with --group on whose nodes the shell is: {names}")
    if name not in groups:
        raise InputError(f"the job has no group {name!r}; it has: {names}")
    if job.value.sweep is not None:
        job = place.plan(job, first=True)[0].job
    return _OfGroup(job.kind, job.file, rankgroups.by_itself(job.value, name), job.marks, job.files, name)


def _here(planned: Planned, target: SlurmTarget, words: tuple[str, ...], found: Submission) -> NoReturn:
    from hpclaunch.schedulers import becoming, terminal
    from hpclaunch.schedulers.environment import closed

    kept = {name: os.environ[name] for name in ("TERM",) if name in os.environ}
    for_hooks = {each.name: each.value for each in target.host_env}
    environment = closed(
        os.environ, {**kept, **for_hooks, **found.secrets}, slurm_conf_of(planned.site.value)
    )
    environment |= interactive.FOR_SALLOC
    if target.path:
        environment["PATH"] = f"{target.path}:{environment['PATH']}"
    if shutil.which("salloc", path=environment["PATH"]) is None:
        raise SchedulerError(
            "salloc is not on the PATH", "Use a login node of the cluster, or load Slurm's module."
        )
    argv = interactive.argv(planned.plan, target, words, found.environment, terminal.is_there())
    os.chdir("/")  # the folder of this shell need not be there on the nodes
    becoming.become(argv, environment)


def _there(planned: Planned, target: SlurmTarget, words: tuple[str, ...], found: Submission) -> int:
    """By way of the login node. What the job needs of this machine's files is sent before."""
    from hpclaunch.cli.staging import copies
    from hpclaunch.schedulers import ending, terminal
    from hpclaunch.schedulers.ssh import attached, staging
    from hpclaunch.schedulers.ssh.remote_commands import RemoteCommands

    site = planned.site.value
    assert site.access is not None
    assert site.access.login is not None
    login = site.access.login
    staging.send_files(copies(planned.job.value, site), login)
    keys = terminal.is_there()
    argv = interactive.argv(planned.plan, target, words, found.environment, keys)
    host_env = {each.name: each.value for each in target.host_env}
    variables = {**host_env, **found.secrets, **interactive.FOR_SALLOC}
    with ending.heeded():
        return attached.run_watched(RemoteCommands(login, slurm_conf_of(site)), argv, variables, keys)
