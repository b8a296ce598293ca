"""`hpclaunch topo`: node types."""

import click

from hpclaunch.cli.output import json_option, print_json


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
def show(name: str, as_json: bool) -> None:
    """Show the node type NAME: a name of `topo list`, the path of a file, or `local` for this machine."""
    from hpclaunch.topology import catalogue

    node_type = catalogue.load(name).value
    if as_json:
        print_json(node_type)
    else:
        from hpclaunch.cli.nodetype import describe

        click.echo(describe(node_type), nl=False)
