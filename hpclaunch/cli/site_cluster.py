"""A site file beside the cluster that it is about: `hpclaunch site check` and `hpclaunch site init`."""

import os

import click

from hpclaunch.cli.output import print_json, say, warn
from hpclaunch.cli.planning import machines_of
from hpclaunch.cli.reach import commands_of
from hpclaunch.cluster.drift import Compared, compare
from hpclaunch.cluster.firstsite import FirstSite, first_site
from hpclaunch.cluster.namespacecheck import compare_namespace
from hpclaunch.schedulers.kubernetes_cluster import Reader
from hpclaunch.schedulers.kubernetes_login import resolve
from hpclaunch.schedulers.slurm_cluster import read_cluster
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.spec.document import Document, located
from hpclaunch.spec.read import read_site
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError, Problem


def check(name: str, as_json: bool) -> int:
    """Prints the differences; the exit status. Raises SchedulerError where the cluster cannot be asked."""
    document = read_site(name)
    site = document.value
    found = _compared(document)
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


def _compared(document: Document[Site]) -> Compared:
    site = document.value
    if site.scheduler == "slurm" and site.slurm is not None:
        machines = machines_of(document)
        return compare(site, machines, read_cluster(commands_of(site)))
    if site.scheduler == "kubernetes" and site.kubernetes is not None:
        machines = machines_of(document)
        reader = Reader(resolve(site.kubernetes.namespace, site.kubernetes.context, os.environ))
        try:
            return compare_namespace(site, machines, reader.version().split()[-1], reader.kinds, reader.ask)
        except InputError as error:
            raise located(error.problems, document) from None
    message = f"site {site.name} has scheduler: {site.scheduler}, which is no cluster that could be asked"
    raise InputError([Problem(message, "site", ("scheduler",), document.locate(("scheduler",)))])


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
