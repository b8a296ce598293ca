"""Planning for a site over SSH: files of this machine that the job needs, by their content."""

from msgspec import structs

from hpclaunch.plan.moved import moved, wanted
from hpclaunch.plan.planner import Planner
from hpclaunch.schedulers.ssh import staging, trees
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.spec.wording import dotted
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.staged import Staged


class StagingPlanner(Planner):
    """Plans with the paths that copies of local files will have on the cluster, without asking it."""

    def plan(self, job: Job) -> LaunchPlan:
        """As there. Raises InputError for files that cannot be sent."""
        here, warnings = moved(job, _copies(job, self.site))
        plan = super().plan(here)
        return structs.replace(plan, warnings=(*warnings, *plan.warnings))


def kept(job: Job, site: Site) -> dict[str, bytes]:
    """What a record keeps of the files that the job needs, for a job that was planned."""
    return staging.kept(copies(job, site))


def copies(job: Job, site: Site) -> list[Staged]:
    """The files that the job needs, for a job that was planned."""
    return [Staged(here, there) for here, there in _copies(job, site).items()]


def _copies(job: Job, site: Site) -> dict[str, str]:
    """Path here -> path there."""
    assert site.ssh is not None
    folder = f"{site.ssh.login(None).home}/staged"
    found = wanted(job)
    problems = list(found.problems)
    copies = {}
    for path, key in found.paths.items():
        try:
            copies[path] = f"{folder}/{trees.name_of(path)}"
        except trees.Unfit as error:
            problems.append(Problem(f"{dotted(key)}: {error}", "job", key))
    if problems:
        raise InputError(problems)
    return copies
