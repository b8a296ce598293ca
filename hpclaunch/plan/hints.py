"""What a job says of a site, under `sites`, and which schedulers heed it."""

from hpclaunch.spec.job import Job, SiteHints
from hpclaunch.spec.site import Site

_OF_BOTH = frozenset({"nodelist", "exclude", "node_type"})
_SLURM = {"account", "partition", "qos", "reservation", "constraint", "mail", "sbatch", "srun"}
_KUBERNETES = {"namespace", "queue", "priority_class", "user", "share_nodes"}
_HEEDED = {"slurm": _OF_BOTH | _SLURM, "kubernetes": _OF_BOTH | _KUBERNETES, "local": frozenset[str]()}
_WHY = {
    "slurm": "means nothing to Slurm",
    "kubernetes": "means nothing to Kubernetes",
    "local": "means nothing here: there is no scheduler",
}


def of_site(job: Job, site: Site) -> SiteHints:
    """What the job says of this site."""
    return job.sites.get(site.name, SiteHints())


def unheeded(job: Job, site: Site) -> list[str]:
    """A warning for each key that this site's scheduler has nothing for."""
    hints, usual = of_site(job, site), SiteHints()
    return [
        f"sites.{site.name}.{name} {_WHY[site.scheduler]}"
        for name in hints.__struct_fields__
        if name not in _HEEDED[site.scheduler] and getattr(hints, name) != getattr(usual, name)
    ]
