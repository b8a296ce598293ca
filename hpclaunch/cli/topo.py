"""`hpclaunch topo`: node types."""

import click


@click.group()
def topo() -> None:
    """Node types: the machines that hpclaunch knows."""


@topo.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of the names.")
def list_(as_json: bool) -> None:
    """List the node types by name: the shipped ones and your own."""
    from hpclaunch.topology import catalogue

    names = catalogue.names()
    if as_json:
        import json

        click.echo(json.dumps(names))
    else:
        for name in names:
            click.echo(name)


@topo.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print the node type as JSON.")
def show(name: str, as_json: bool) -> None:
    """Show the node type NAME: a name of `topo list`, the path of a file, or `local` for this machine."""
    from hpclaunch.topology import catalogue

    node_type = catalogue.load(name).value
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(node_type)).decode())
    else:
        from hpclaunch.topology.describe import describe

        click.echo(describe(node_type), nl=False)
