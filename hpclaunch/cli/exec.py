"""`hpclaunch exec`."""

import click

from hpclaunch.cli.output import warn
from hpclaunch.cli.recorded import plan_of
from hpclaunch.records.lookup import find_task
from hpclaunch.records.record import Record
from hpclaunch.values import rankplaces
from hpclaunch.values.errors import HpclaunchError, InputError
from hpclaunch.values.launchplan import LaunchPlan, LocalTarget, SlurmTarget
from hpclaunch.values.pods import KubernetesTarget
from hpclaunch.values.rankplaces import RankPlace


@click.command("exec")
@click.argument("job_id", metavar="JOB_ID")
@click.option("--rank", "number", default=0, show_default=True, help="Beside which rank.")
@click.option("--group", metavar="NAME", help="Of this group of the job, in which --rank counts from 0.")
@click.option("--launcher", is_flag=True, help="In the launcher of an MPIJob, and beside no rank.")
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def run_inside(job_id: str, number: int, group: str | None, launcher: bool, words: tuple[str, ...]) -> int:
    """Run a command in a job that runs, beside one of its ranks.

    It has the rank's container, folder and environment, and on Slurm all of the node's cores that the job
    has; with a terminal on both ends it has one too. The exit status is the command's.
    """
    record, task = find_task(job_id)
    plan = plan_of(record)
    rank = _rank(plan, group, number)
    if isinstance(plan.target, KubernetesTarget):
        return _in_pod(record, plan, plan.target, rank.number, launcher, words)
    if launcher:
        raise InputError(f"job {job_id} has no launcher: that is for MPIJobs on Kubernetes")
    if isinstance(plan.target, LocalTarget):
        from hpclaunch.schedulers import local_inside

        local_inside.become(record, rank.number, rank.total, bool(plan.target.launcher), words)
    return _in_step(record, task, rank, words)


def _rank(plan: LaunchPlan, group: str | None, number: int) -> RankPlace:
    common = plan.common
    if common.groups is not None and common.groups.members:
        apart = isinstance(plan.target, SlurmTarget) and bool(plan.target.components)
        return rankplaces.in_groups(common.groups, group, number, apart)
    if group is not None:
        raise InputError("the job has no groups")
    return rankplaces.among_all(number, common.nodes, common.ranks_per_node)


def _in_pod(
    record: Record,
    plan: LaunchPlan,
    target: KubernetesTarget,
    number: int,
    launcher: bool,
    words: tuple[str, ...],
) -> int:
    from hpclaunch.rank.pod import beside_rank
    from hpclaunch.schedulers import kubernetes_inside as pods

    common = plan.common
    if launcher:
        if target.launcher is None:
            raise InputError(f"job {record.state().job_id} is one pod and has no launcher")
        return pods.run(record, pods.Place(target.launcher.container, launcher=True), words, warn)
    settings = plan.settings_for(common.shape)
    worker = number // common.ranks_per_node if target.mpi_job else None
    command = beside_rank(settings["from"], number, common.nodes * common.ranks_per_node, words)
    if settings["from"] == "local" and target.stays:
        warn(
            "the rank of a job with steps is not told apart here: the command has the container's environment"
        )
        command = [*words]
    return pods.run(record, pods.Place(target.worker.container, worker), command, warn)


def _in_step(record: Record, task: int | None, rank: RankPlace, words: tuple[str, ...]) -> int:
    from hpclaunch.rank.beside import text
    from hpclaunch.schedulers import becoming, inside, terminal
    from hpclaunch.schedulers.slurm_commands import Commands

    keys = terminal.is_there()
    beside, conf = (record, task, rank, text("inside"), words, keys), record.intent.slurm_conf
    if record.intent.slurm and record.intent.slurm.login:
        from hpclaunch.schedulers.ssh import attached, checked
        from hpclaunch.schedulers.ssh.remote_commands import RemoteCommands

        remote = RemoteCommands(record.intent.slurm.login, conf)
        checked.bring([record], record.intent.slurm.login)  # where its ranks are
        return attached.run(record, remote, inside.command(*beside, remote)[0], keys)
    argv, environment = inside.command(*beside, Commands(conf))
    try:
        becoming.become(argv, environment)
    except OSError as error:
        raise HpclaunchError(f"srun cannot be started: {error.strerror}") from None
