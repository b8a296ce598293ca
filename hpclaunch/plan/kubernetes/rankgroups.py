"""Groups of ranks on Kubernetes: one MPIJob, whose mpirun starts all of them.

Its workers are all alike, and ranks go to them in the order of the operator's list, as many to each as it has
slots: each group has the workers after those of the groups before it, and a rank finds its own by its number.
"""

from collections.abc import Iterator, Mapping

from msgspec import structs

from hpclaunch.spec.job import Job
from hpclaunch.values.errors import Problem
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.pods import KubernetesTarget
from hpclaunch.values.words import EnvVar


def part(job: Job, alone: Job) -> Job:
    """A group by itself, as what it is here: of the workers of an MPIJob."""
    return structs.replace(alone, nodes=sum(group.nodes for group in job.groups.values()))


def unsuitable(job: Job) -> Iterator[Problem]:
    """What no MPIJob can be."""
    if job.world != "one":
        message = "world: an MPIJob has one mpirun, and its ranks are one world: submit a job for each group"
        yield Problem(message, "job", ("world",))


def unlike(plans: Mapping[str, LaunchPlan]) -> Iterator[Problem]:
    """A problem for each group, planned by itself, whose workers are not as those of the first."""
    first, *others = plans
    for name in others:
        if _worker(plans[name]) != _worker(plans[first]):
            message = (
                f"groups: the workers of an MPIJob are all alike, and {name} has other nodes than {first}, "
                "or more or fewer ranks or GPUs on each: submit a job for each group"
            )
            yield Problem(message, "job", ("groups", name))


def outside(target: KubernetesTarget) -> tuple[EnvVar, ...]:
    """The variables that something outside the ranks reads, of pods that are the same for all groups."""
    pods = [target.worker, *([target.launcher] if target.launcher else [])]
    return tuple({each.name: each for pod in pods for each in pod.env}.values())


def _worker(plan: LaunchPlan) -> tuple[object, ...]:
    """Its workers, whatever these are called, and what their hooks are told."""
    target = plan.target
    assert isinstance(target, KubernetesTarget)
    worker = structs.replace(target.worker, env=(), labels=(), apart=())
    return plan.common.ranks_per_node, plan.common.gpus_per_node, plan.common.shapes, worker
