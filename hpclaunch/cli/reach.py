"""How the commands reach a site's Slurm: on this machine, or on its login node over SSH."""

import os

from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.schedulers.ways import choose
from hpclaunch.spec.site import Site


def slurm_conf_of(site: Site) -> str | None:
    """The path of slurm.conf where the site, or this shell, names one. What this shell has is nothing to a
    login node."""
    conf = site.slurm.conf if site.slurm is not None else None
    if conf is None and site.ssh is None:
        conf = os.environ.get("SLURM_CONF")
    return os.path.abspath(conf) if conf else None  # later commands run in other folders


def commands_of(site: Site) -> Commands:
    """Slurm's commands for the site's cluster."""
    access = site.access
    assert access is not None
    return choose.commands(slurm_conf_of(site), access)
