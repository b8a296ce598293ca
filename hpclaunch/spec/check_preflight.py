"""What is wrong with `preflight` of a job or a site. Those without it do not load this."""

from functools import partial

from hpclaunch.spec import findings, scalars
from hpclaunch.spec.job import ImageSpec, Job
from hpclaunch.spec.preflight import PreflightSite
from hpclaunch.values.errors import Path, Problem

MAX_SPARES = 1000
LIMITS_S = (10, 3600)

_problem = partial(findings.problem, "job")


def problems(job: Job) -> list[Problem]:
    """All of it."""
    spec = job.preflight
    assert spec is not None
    found: list[Problem] = []
    if not (spec.gpu or spec.hca or spec.nccl):
        found.append(_problem(("preflight",), "nothing is to be checked: set gpu, hca or nccl"))
    if not 0 <= spec.spares <= MAX_SPARES:
        found.append(_problem(("preflight", "spares"), f"{spec.spares} must be from 0 to {MAX_SPARES}"))
    low, high = LIMITS_S
    if not low <= spec.limit <= high:
        found.append(_problem(("preflight", "limit"), f"{spec.limit} s must be from {low} to {high} s"))
    return found + [
        _problem(path, f"it cannot be together with `preflight`: {why}") for path, why in _apart(job)
    ]


def _apart(job: Job) -> list[tuple[Path, str]]:
    """What the nodes of a job are used for beside its ranks."""
    found: list[tuple[Path, str]] = []
    on_nodes = "it would be done on spare and on bad nodes as well"
    for key in ("trials", "stage_in", "setup", "before_each", "after"):
        if getattr(job, key):
            found.append(((key,), on_nodes))
    if isinstance(job.image, ImageSpec) and job.image.import_ is not None:
        found.append(
            (("image", "import"), "`hpclaunch image import` does it ahead, and prints a path for `image`")
        )
    if job.sweep is not None:
        found.append((("sweep",), "each point would check nodes, and ask for spares of its own"))
    if job.chain is not None:
        found.append((("chain",), "each link would check nodes, and ask for spares of its own"))
    if job.groups:
        found.append((("groups",), "which nodes are whose is told before they are checked"))
    if job.preflight is not None and job.preflight.nccl and job.container.save is not None:
        found.append((("container", "save"), "the container of the all_reduce would be saved, too"))
    if job.locality == "unit":
        found.append((("locality",), "spares make the nodes of a unit more than the ranks need"))
    return found


def site_problems(site: PreflightSite) -> list[Problem]:
    """What is wrong with a site's."""
    found: list[Problem] = []
    if site.all_reduce_gbs is not None and site.all_reduce_gbs < 1:
        path = ("preflight", "all_reduce_gbs")
        found.append(findings.problem("site", path, f"{site.all_reduce_gbs} must be at least 1"))
    for index, word in enumerate(site.command):
        findings.check("site", found, ("preflight", "command", index), scalars.carried, word)
    if site.command and not site.command[0].strip():
        found.append(findings.problem("site", ("preflight", "command"), "the first word is empty"))
    return found
