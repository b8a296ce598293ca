"""`hpclaunch sandbox`: a real Slurm on this machine, with fake nodes."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hpclaunch.cli.output import json_option, print_json, say
from hpclaunch.values.errors import InputError

if TYPE_CHECKING:
    from hpclaunch.sandbox.layout import Layout


def _plain(_context: click.Context, _option: click.Parameter, name: str) -> str:
    # It names the cluster, which Slurm writes in small letters, and the default folder.
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        raise InputError(
            f"the name of a sandbox is small letters, digits, - and _, such as demo-2; not {name!r}"
        )
    return name


def _release(_context: click.Context, _option: click.Parameter, text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3}){2}", text):
        raise InputError(f"{text!r} is not a version such as 0.20.0")
    return text


_name = click.option(
    "--name",
    default="sandbox",
    show_default=True,
    callback=_plain,
    help="Which sandbox; several run side by side.",
)
_folder = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Its folder. Default: sandbox/NAME below $HPCLAUNCH_HOME.",
)


def _place(name: str, directory: Path | None) -> "Layout":
    from hpclaunch.records import files
    from hpclaunch.sandbox import layout

    return layout.at(directory or files.home() / "sandbox" / name)


def _say(text: str) -> None:
    say(text, "sandbox: ")


@click.group()
def sandbox() -> None:
    """A real Slurm on this machine, with fake nodes.

    slurmctld and slurmd come from the distribution's packages and believe in the machine of a node type.
    Containers are not started: the options of Pyxis are checked and recorded.
    """


@sandbox.command()
@click.option(
    "--nodes",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Nodes with a slurmd, of each type that names no number.",
)
@click.option(
    "--node-type",
    "node_types",
    metavar="TYPE[@VARIANT][:NODES]",
    multiple=True,
    default=("dgx-a100",),
    show_default="dgx-a100",
    help="Name or file of a node type, the numbering of its HCAs, how many nodes; several make mixed nodes.",
)
@click.option(
    "--declared",
    type=click.IntRange(0, 60_000),
    default=0,
    help="Nodes that the controller knows in all, for `sbatch --test-only`; only --nodes of them run jobs.",
)
@click.option(
    "--pyxis",
    default="0.20.0",
    show_default=True,
    callback=_release,
    help="The release of Pyxis whose options exist.",
)
@click.option("--accounting", is_flag=True, help="Keep accounts, for sacct: slurmdbd with MariaDB.")
@_name
@_folder
def up(
    nodes: int,
    node_types: tuple[str, ...],
    declared: int,
    pyxis: str,
    accounting: bool,
    name: str,
    directory: Path | None,
) -> None:
    """Start a sandbox; prints the path of its site file.

    --node-type dgx-a100@10-device:1 --node-type dgx-h100:1 makes one of mixed nodes.
    """
    from hpclaunch.sandbox import groups, updown
    from hpclaunch.spec.document import located
    from hpclaunch.topology import catalogue

    wanted = [groups.parse(text, nodes) for text in node_types]
    documents = [catalogue.load(each.type) for each in wanted]
    place = _place(name, directory)
    made: list[groups.Group] = []
    for each, document in zip(wanted, documents, strict=True):
        try:
            made = groups.add(made, each, document.value, declared)
        except InputError as error:
            raise located(error.problems, document) from None
    updown.up(place, name, tuple(made), pyxis, accounting, _say)
    click.echo(place.site)


@sandbox.command()
@_name
@_folder
def down(name: str, directory: Path | None) -> None:
    """End a sandbox and remove all that it left, also after a crash."""
    from hpclaunch.sandbox import updown

    place = _place(name, directory)
    if not updown.down(place):
        _say(f"there is none in {place.folder}")


@sandbox.command()
@json_option
@_name
@_folder
def status(as_json: bool, name: str, directory: Path | None) -> None:
    """Say how a sandbox is, where its files are, and what in it is not real."""
    from hpclaunch.sandbox import updown

    seen = updown.status(_place(name, directory))
    if as_json:
        print_json(seen)
        return
    click.echo(f"{seen.name}: {seen.state}")
    for daemon, code in seen.ended.items():
        click.echo(f"  {daemon} has ended ({code})")
    for label, value in (("folder", seen.folder), ("site", seen.site), ("slurm_conf", seen.slurm_conf)):
        click.echo(f"  {label:<11}{value}")
    for node, state in seen.nodes.items():
        click.echo(f"  {node:<11}{state}")
    for line in seen.stubbed:
        click.echo(f"  not real   {line}")
