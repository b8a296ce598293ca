"""What a site sets as the most that a job may ask for, and what a job asks for. Sites without limits do not
load this."""

from collections.abc import Sequence

from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.values.amount import clock
from hpclaunch.values.errors import Path, Problem
from hpclaunch.values.launchplan import Common


def problems(job: Job, site: Site, gpus: int) -> list[Problem]:
    """What is more than the site lets in; `gpus` are those of a node."""
    limits = site.limits
    if limits is None:
        return []
    found: list[Problem] = []

    def refuse(path: Path, message: str) -> None:
        found.append(Problem(message, "job", path))

    if limits.nodes is not None and job.nodes > limits.nodes:
        refuse(("nodes",), f"{job.nodes} nodes are more than the {limits.nodes} of site {site.name}'s limits")
    if not job.time:
        given = "without limit" if job.time == 0 else "not set"
        if limits.time is not None:
            most = clock(limits.time)
            refuse(("time",), f"the time is {given}, and site {site.name} lets a job have at most {most}")
        elif limits.gpu_hours is not None and gpus:
            most = f"{limits.gpu_hours:,} GPU-hours"
            refuse(("time",), f"the time is {given}, and site {site.name} lets a job have at most {most}")
        return found
    if limits.time is not None and job.time > limits.time:
        most = clock(limits.time)
        refuse(("time",), f"{clock(job.time)} is more than the {most} of site {site.name}'s limits")
    asked = job.nodes * gpus * job.time / 60
    if limits.gpu_hours is not None and asked > limits.gpu_hours:
        key = "nodes" if job.nodes > 1 else "time"
        refuse(
            (key,),
            f"{job.nodes} x {gpus} GPUs for {clock(job.time)} are {asked:,.1f} GPU-hours, more than the "
            f"{limits.gpu_hours:,} of site {site.name}'s limits",
        )
    return found


def of_groups(job: Job, site: Site, groups: Sequence[Common]) -> list[Problem]:
    """What is more than the site lets in of unlike groups together, of which each is within the limits."""
    limits = site.limits
    if limits is None:
        return []
    found = []
    nodes = sum(each.nodes for each in groups)
    if limits.nodes is not None and nodes > limits.nodes:
        found.append(f"{nodes} nodes are more than the {limits.nodes} of site {site.name}'s limits")
    asked = sum(each.nodes * each.gpus_per_node for each in groups) * (job.time or 0) / 60
    if limits.gpu_hours is not None and asked > limits.gpu_hours:
        message = f"together they are {asked:,.1f} GPU-hours, more than the {limits.gpu_hours:,} of site "
        found.append(f"{message}{site.name}'s limits")
    return [Problem(message, "job", ("groups",)) for message in found]
