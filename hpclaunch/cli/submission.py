"""What a job takes from the shell that submits it."""

import os
from collections.abc import Callable

from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.job import Submission
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.pods import KubernetesTarget


def submission_of(plan: LaunchPlan, locate: Callable[[int], str], warn: Callable[[str], None]) -> Submission:
    """The values that the job takes from here. `locate` gives the place of a secret in the job file, by its
    number. Raises InputError for a secret that is not set."""
    common, target = plan.common, plan.target
    here = common.secrets  # on Kubernetes some may lie in the namespace
    if isinstance(target, KubernetesTarget):
        pods = [pod for pod in (target.launcher, target.worker) if pod]
        made = [one for pod in pods for one in pod.secrets if one.name == target.variables_secret]
        here = tuple(one.variable for one in made)
    missing = [
        Problem(f"{name} is not set in this shell", "job", ("secrets", index), locate(index))
        for index, name in enumerate(common.secrets)
        if name in here and name not in os.environ
    ]
    if missing:
        raise InputError(missing)
    for name in common.inherit:
        if name not in os.environ:
            warn(f"{name} is not set in this shell, so the ranks inherit none")
    return Submission(
        environment={name: os.environ[name] for name in common.inherit if name in os.environ},
        secrets={name: os.environ[name] for name in common.secrets if name in here},
        minutes=common.minutes,
        secret_name=target.variables_secret if isinstance(target, KubernetesTarget) else "",
    )
