"""A job as one pod in which a person works: what a worker has, and a process that only stays."""

from msgspec import structs

from hpclaunch.plan.kubernetes import names
from hpclaunch.spec.job import Job
from hpclaunch.values import oneprocess
from hpclaunch.values.launchplan import Common, LaunchPlan
from hpclaunch.values.pods import KubernetesTarget
from hpclaunch.values.words import Option

# Minutes, for a job without a time limit: what nobody gives back goes some day.
LONGEST = 8 * 60
_ROOM = 40  # characters of a job's name, that what follows it has room in a label


def one_pod(job: Job, mark: str) -> Job:
    """The job to plan. `mark` tells its name from those of the job itself and of other shells."""
    return structs.replace(
        job,
        name=f"{names.label(job.name, _ROOM)}-shell-{mark}",
        nodes=1,
        command=job.command or "true",
        groups={},
        world="one",
        time=job.time or LONGEST,
        verify=False,
        trials=None,
        stage_in=(),
        setup=(),
        before_each=(),
        after=(),
        requeue=False,
        signal=None,
        notify=None,
        chain=None,
        profile=None,
        preflight=None,
        sweep=None,
        metrics={},
        depends_on=(),
    )


def held(plan: LaunchPlan, target: KubernetesTarget) -> LaunchPlan:
    """The plan of `one_pod`, with a process in place of its ranks that stays until its time is over or the
    pod is deleted. It has the ranks' environment and folder and all HCAs, is no rank, and is not bound."""
    common = plan.common
    kept = oneprocess.settings(target.wrapper)
    return structs.replace(
        plan,
        common=structs.replace(common, ranks_per_node=1, argv=_stays(common)),
        target=structs.replace(
            target,
            starter=(),
            launch=(),
            wrapper=(Option("from=local"), Option("rank=0"), Option("ranks=1"), *kept),
        ),
    )


def is_held(plan: LaunchPlan) -> bool:
    """Whether it is a plan of `held`."""
    return isinstance(plan.target, KubernetesTarget) and plan.common.argv == _stays(plan.common)


def _stays(common: Common) -> tuple[str, ...]:
    # As a container's first process sh would not heed SIGTERM, and the pod stay for its grace period.
    return "/bin/sh", "-c", f"trap 'exit 0' TERM; sleep {(common.minutes or LONGEST) * 60} & wait"
