"""A site file beside the cluster that it is about: `hpclaunch site check` and `hpclaunch site init`."""

import os

import click

from hpclaunch.cli.output import print_json, say, warn
from hpclaunch.cli.planning import machines_of
from hpclaunch.cluster.drift import compare
from hpclaunch.cluster.firstsite import FirstSite, first_site
from hpclaunch.schedulers.slurm_cluster import read_cluster
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.spec.read import read_site
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError, Problem


def check(name: str, as_json: bool) -> int:
    """Prints the differences; the exit status. Raises SchedulerError where the cluster cannot be asked."""
    document = read_site(name)
    site = document.value
    if site.slurm is None:
        message = f"site {site.name} has scheduler: {site.scheduler}, and only Slurm's clusters can be asked"
        raise InputError([Problem(message, "site", ("scheduler",), document.locate(("scheduler",)))])
    machines = machines_of(document)
    cluster = read_cluster(Commands(site.slurm.conf or os.environ.get("SLURM_CONF")))
    found = compare(site, machines, cluster)
    if as_json:
        print_json(found)
    else:
        for drift in found.drift:
            click.echo(f"drift: {drift.key}: {drift.message}")
        for line in found.unchecked:
            say(f"not checked: {line}")
        if not found.drift:
            click.echo(f"{site.name}: the site file and the cluster agree")
    return 1 if found.drift else 0


def init(name: str | None) -> FirstSite:
    """The first site file of this machine's cluster. Raises SchedulerError where it cannot be asked."""
    slurm_conf = os.environ.get("SLURM_CONF")
    cluster = read_cluster(Commands(slurm_conf))
    machines = {kind: catalogue.load(kind).value for kind in catalogue.names()}
    called = name or cluster.config.get("clustername", "")
    found = first_site(called, cluster, machines, slurm_conf and os.path.abspath(slurm_conf))
    if not found.groups:
        warn("no node is like one node type: all stand in comments, and the file needs one of them")
    return found
