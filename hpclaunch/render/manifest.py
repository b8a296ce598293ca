"""The manifest of a plan: an MPIJob, or a Job of one pod."""

from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.pods import KubernetesTarget


def render(plan: LaunchPlan, target: KubernetesTarget) -> str:
    """The text that is submitted: the same for the same plan, so a submission's tag is not in it."""
    raise NotImplementedError(f"{plan.common.name}: {target.name}")
