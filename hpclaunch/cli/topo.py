"""`hpclaunch topo`: node types."""

import click

from hpclaunch.cli.output import json_option, print_json
from hpclaunch.values.errors import InputError


class _Topo(click.Group):
    """`discover` is imported only where it is called: it brings the readers of all captures."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["discover", *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name != "discover":
            return super().get_command(ctx, cmd_name)
        from hpclaunch.cli.discover import discover

        return discover


@click.group(cls=_Topo)
def topo() -> None:
    """Node types: the machines that hpclaunch knows."""


@topo.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the node types: the shipped ones and your own. HCAS are those for compute."""
    from hpclaunch.topology import catalogue

    names = catalogue.names()
    if as_json:
        print_json(names)
    else:
        from hpclaunch.cli.nodetype import listing

        click.echo(listing(names))


@topo.command()
@click.argument("name")
@json_option
@click.option("--svg", metavar="FILE", help="Write a picture there; - prints it, and nothing else.")
@click.option("--variant", metavar="NAME", help="The HCA names of the picture; else the default ones.")
def show(name: str, as_json: bool, svg: str | None, variant: str | None) -> None:
    """Show the node type NAME: a name of `topo list`, the path of a file, or `local` for this machine."""
    from hpclaunch.topology import catalogue

    if svg == "-" and as_json:
        raise InputError("standard output takes one result: name a file for the picture")
    if variant is not None and svg is None:
        raise InputError("--variant is for the picture: say --svg too")
    node_type = catalogue.load(name).value
    if svg is not None:
        from hpclaunch.cli.writing import put
        from hpclaunch.report import picture
        from hpclaunch.report.svg import document
        from hpclaunch.topology.outline import outline

        put(document([picture.of_machine(outline(node_type, variant))]), svg)
        if svg == "-":
            return
    if as_json:
        print_json(node_type)
    else:
        from hpclaunch.cli.nodetype import describe

        click.echo(describe(node_type), nl=False)
