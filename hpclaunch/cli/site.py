"""`hpclaunch site`: the sites that --site knows, and what is derived from them."""

import click

from hpclaunch.cli.output import json_option, print_json
from hpclaunch.cli.writing import put, refuse_existing
from hpclaunch.report.table import aligned
from hpclaunch.spec.document import located
from hpclaunch.spec.dump import dump_site
from hpclaunch.spec.read import read_site
from hpclaunch.spec.search import by_name, site_folders
from hpclaunch.values.errors import InputError

_output = click.option("-o", "--output", metavar="FILE", help="Write there, and not to standard output.")


@click.group()
def site() -> None:
    """Sites: where jobs can go."""


@site.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the sites that can be named: yours, the system's and the shipped ones."""
    found = by_name(site_folders())
    if as_json:
        print_json([{"name": name, "file": file} for name, file in found.items()])
    else:
        click.echo(aligned(("NAME", "FILE"), list(found.items())))


@site.command()
@click.argument("name")
def show(name: str) -> None:
    """Show the site NAME (or a file's path) with everything that it extends put in."""
    click.echo(dump_site(read_site(name).value), nl=False)


@site.command()
@click.argument("form", metavar="FORMAT")
@click.option("--site", "site_name", metavar="SITE", required=True, help="A site's name, or its file.")
@click.option("--node-type", metavar="TYPE", help="For nccl: which of the site's node types.")
@_output
def export(form: str, site_name: str, node_type: str | None, output: str | None) -> None:
    """Print what the cluster's own configuration takes from a site.

    FORMAT is slurm.conf, gres.conf, topology.conf, topology.yaml, nccl (for NCCL_TOPO_FILE) or verbsports
    (for Spectrum Scale). For Kubernetes it is rbac, storage, rdma-config or machine-config (OpenShift's
    nodes): YAML that an administrator applies.
    """
    from hpclaunch.cli.planning import machines_of
    from hpclaunch.cluster import export as exports

    if form not in exports.FORMATS:
        raise InputError(f"{form!r} is no format; known: {', '.join(exports.FORMATS)}")
    document = read_site(site_name)
    machines = machines_of(document)
    try:
        text = exports.export(form, document.value, machines, node_type)
    except InputError as error:
        raise located(error.problems, document) from None
    put(text, output)


@site.command()
@click.argument("name", metavar="SITE")
@json_option
def check(name: str, as_json: bool) -> int:
    """Compare SITE with its running cluster, and name what differs.

    Of Kubernetes it is the namespace that jobs go to: what it lacks for them. The exit status is 1 where
    something differs, and 3 where the cluster cannot be reached.
    """
    from hpclaunch.cli import site_cluster

    return site_cluster.check(name, as_json)


@site.command()
@click.option("--name", help="The site's name. Default: the cluster's.")
@_output
def init(name: str | None, output: str | None) -> None:
    """Write a first site file from this machine's running cluster."""
    from hpclaunch.cli import site_cluster

    refuse_existing(output)
    put(site_cluster.init(name).text, output)
