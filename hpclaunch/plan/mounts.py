"""The job's mounts, with the site's volumes put in for their names."""

import os.path

from hpclaunch.spec.job import Job
from hpclaunch.spec.mounts import long_form
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import Path, Problem
from hpclaunch.values.launchplan import Mount


def resolve(job: Job, site: Site) -> tuple[tuple[Mount, ...], list[Problem]]:
    """The mounts in the job's order, and what is wrong with them. On Kubernetes a volume may have another
    source than a path."""
    mounts: list[Mount] = []
    problems: list[Problem] = []
    for index, entry in enumerate(job.mounts):
        path: Path = ("mounts", index)
        spec = long_form(entry) if isinstance(entry, str) else entry
        source = spec.source
        if spec.volume is not None:
            volume = site.volumes.get(spec.volume)
            if volume is None or (volume.path is None and site.scheduler != "kubernetes"):
                problems.append(no_volume(site, spec.volume, path))
                continue
            source = volume.path or ""
        assert source is not None  # the reader has checked that there is one or the other
        if source:
            source = os.path.normpath(os.path.join(job.directory, source))
        mounts.append(Mount(source, spec.target, spec.read_only, spec.volume or ""))
    targets = [in_container(mount.target) for mount in mounts]
    for index, target in enumerate(targets):
        if target in targets[:index]:
            problems.append(Problem(f"two mounts have the target {target}", "job", ("mounts", index)))
    return tuple(mounts), problems


def no_volume(site: Site, name: str, path: Path) -> Problem:
    """The problem of a volume at `path` of the job that the site does not have, or not as a path where its
    scheduler wants one."""
    usable = (each for each, has in site.volumes.items() if has.path or site.kubernetes)
    known = ", ".join(sorted(usable)) or "none"
    return Problem(f"site {site.name} has no volume {name!r}; it has: {known}", "job", path)


def in_container(target: str) -> str:
    """A target without what changes nothing, such as the second of two slashes at its beginning."""
    return os.path.normpath("/" + target.lstrip("/"))
