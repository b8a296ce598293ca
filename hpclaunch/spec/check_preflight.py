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
    elif job.gpus_per_node == 0 and not spec.hca:
        found.append(_problem(("preflight",), "nothing is to be checked: the job has no GPUs, so set hca"))
    if not 0 <= spec.spares <= MAX_SPARES:
        found.append(_problem(("preflight", "spares"), f"{spec.spares} must be from 0 to {MAX_SPARES}"))
    low, high = LIMITS_S
    if not low <= spec.limit <= high:
        found.append(_problem(("preflight", "limit"), f"{spec.limit} s must be from {low} to {high} s"))
    return found + [
        _problem(path, f"it cannot be together with `preflight`: {why}") for path, why in _apart(job)
    ]


def _apart(job: Job) -> list[tuple[Path, str]]:
    """What does not go with it."""
    found: list[tuple[Path, str]] = []
    assert job.preflight is not None
    if job.sweep is not None:
        why = "each point would hold spare nodes of its own and check them again"
        found.append((("sweep",), f"{why}: let one job on good nodes go over the points"))
    if job.preflight.nccl and isinstance(job.image, ImageSpec) and job.image.import_ is not None:
        why = "the all_reduce needs the image before this job imports it: `hpclaunch image import` does it"
        found.append((("image", "import"), f"{why} ahead, and prints a path for `image`"))
    if job.preflight.nccl and job.container.save is not None:
        found.append((("container", "save"), "the container of the all_reduce would be saved, too"))
    if job.locality == "unit":
        found.append((("locality",), "spares make the nodes of a unit more than the ranks need"))
    return found


def site_problems(site: PreflightSite) -> list[Problem]:
    """What is wrong with a site's."""
    found: list[Problem] = []
    for key in ("all_reduce_gbs", "between_nodes_gbs"):
        floor = getattr(site, key)
        if floor is not None and floor < 1:
            found.append(findings.problem("site", ("preflight", key), f"{floor} must be at least 1"))
    for index, word in enumerate(site.command):
        findings.check("site", found, ("preflight", "command", index), scalars.carried, word)
    if site.command and not site.command[0].strip():
        found.append(findings.problem("site", ("preflight", "command"), "the first word is empty"))
    return found
