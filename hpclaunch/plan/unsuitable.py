"""What a job asks for and its kind of site cannot give: known before anything is placed."""

from collections.abc import Mapping

from hpclaunch.plan import environment, gpukind
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import Problem
from hpclaunch.values.names import acts_on_commands


def problems(job: Job, site: Site, machines: Mapping[str, NodeType]) -> list[Problem]:
    """All of it. `machines` has the site's node types, by their names."""
    found: list[Problem] = []
    if site.scheduler == "slurm":
        from hpclaunch.plan import slurm

        found += slurm.unsuitable(job, site)
    if site.scheduler == "kubernetes":
        from hpclaunch.plan.kubernetes import unsuitable as of_pods

        found += of_pods.problems(job, site)
    if job.depends_on and site.scheduler != "slurm":
        message = f"depends_on: site {site.name} has no queue in which a job could wait for others"
        found.append(Problem(message, "job", ("depends_on",)))
    found += gpukind.unsuitable(job, site, machines)
    if job.image is not None and site.container == "none" and site.scheduler != "kubernetes":
        message = f"site {site.name} runs no containers (`container: none`), and the job has an image"
        found.append(Problem(message, "job", ("image",)))
    if job.image is None:
        if job.mounts:
            message = "mounts need an `image`: without one the ranks see the node's own files"
            found.append(Problem(message, "job", ("mounts",)))
        if job.container != type(job.container)():
            found.append(Problem("`container` needs an `image`", "job", ("container",)))
    found += [
        Problem(
            f"{name} cannot be inherited: it would change how the job is started; "
            "set it in env, where the ranks alone see it",
            "job",
            ("inherit", index),
        )
        for index, name in enumerate(job.inherit)
        if acts_on_commands(name)
    ]
    found += [
        Problem(f"{name} cannot be a secret: what starts the job reads it", "job", ("secrets", index))
        for index, name in enumerate(job.secrets)
        if acts_on_commands(name) or name == "PATH" or name in environment.RENDEZVOUS
    ]
    found += [
        Problem(f"~ is not expanded in {path!r}: write the whole path", "job", (key,))
        for key, path in (("image", job.image_name), ("workdir", job.workdir))
        if path is not None and path.startswith("~")
    ]
    return found
