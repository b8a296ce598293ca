"""How steps run outside the container of a job, on Slurm and on this machine."""

from collections.abc import Sequence

from hpclaunch.plan.environment import HOST_PATH
from hpclaunch.spec.job import Job
from hpclaunch.values.launchplan import Common, HostSteps
from hpclaunch.values.names import acts_on_commands
from hpclaunch.values.words import EnvVar


def host(job: Job, common: Common, exported: Sequence[EnvVar]) -> HostSteps:
    """The job's environment but for what changes what commands do. `exported` are variables that the script
    itself exports for others."""
    path = EnvVar("PATH", HOST_PATH, "hpclaunch")
    own = (each for each in common.environment if _is_plain(each.name))
    return HostSteps(
        folder=job.directory or "/",
        environment=(path, *own),
        inherit=tuple(filter(_is_plain, common.inherit)),
        hidden=(*common.secrets, *(each.name for each in exported if acts_on_commands(each.name))),
    )


def _is_plain(name: str) -> bool:
    return name != "PATH" and not acts_on_commands(name)
