"""`hpclaunch topo discover`."""

import os
from collections.abc import Sequence

import click
import msgspec

from hpclaunch.cli.output import json_option, print_json, say, warn
from hpclaunch.cli.writing import put, refuse_existing
from hpclaunch.topology import discover as sources
from hpclaunch.topology import nodetypetext
from hpclaunch.topology.captures import Used
from hpclaunch.topology.merge.machine import Merged, merge
from hpclaunch.topology.merge.uses import Use
from hpclaunch.values.errors import HpclaunchError, InputError, SchedulerError

_MOST_LINES = 20


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--name", help="The node type's name; otherwise `captured`, or after the kind of node.")
@click.option("--description", default="", help="What it is, in words.")
@click.option("--compute", multiple=True, metavar="HCA,...", help="HCAs that carry a job's traffic.")
@click.option("--storage", multiple=True, metavar="HCA,...", help="HCAs that are for storage.")
@click.option("--management", multiple=True, metavar="HCA,...", help="HCAs that are for neither.")
@click.option("--site", "site_name", metavar="SITE", help="One node of each kind of this site, through srun.")
@click.option("--partition", help="With --site: only nodes of this partition.")
@click.option("--script", is_flag=True, help="Print a sh script that captures the machine it runs on.")
@click.option("-o", "--output", metavar="PATH", help="Write there: a new file, or with --site a folder.")
@json_option
def discover(
    files: tuple[str, ...],
    name: str | None,
    description: str,
    compute: tuple[str, ...],
    storage: tuple[str, ...],
    management: tuple[str, ...],
    site_name: str | None,
    partition: str | None,
    script: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """Make a node type of captures: outputs of lscpu, numactl -H, nvidia-smi, ibdev2netdev, ibstat, lspci,
    lstopo (XML), NCCL_TOPO_DUMP_FILE, or --script.

    FILE may hold several, pasted together; a folder stands for the files in it, - for standard input.
    Without FILE it is this machine. The node type goes to standard output, what is not known, concluded or
    worth a look to standard error. Captures that contradict one another are refused.
    """
    if script:
        click.echo(sources.script(), nl=False)
        return
    if (files or name) and site_name:
        raise InputError("--site takes captures by itself: give it neither files nor --name")
    if partition and not site_name:
        raise InputError("--partition belongs to --site")
    said = _uses(compute, storage, management)
    if site_name:
        _through_slurm(site_name, partition, description, said, output, as_json)
        return
    used = sources.from_files(files) if files else sources.from_this_machine()
    merged = merge(used.seen, name or "captured", description, said)
    refuse_existing(output)
    _report(used, merged)
    put(_json(used, merged) if as_json else nodetypetext.dump(merged), output)


def _uses(compute: tuple[str, ...], storage: tuple[str, ...], management: tuple[str, ...]) -> dict[str, Use]:
    found: dict[str, Use] = {}
    options: tuple[tuple[Use, tuple[str, ...]], ...] = (
        ("compute", compute),
        ("storage", storage),
        ("management", management),
    )
    for use, texts in options:
        for hca in (part for text in texts for part in text.split(",") if part):
            if found.setdefault(hca, use) != use:
                raise InputError(f"{hca} cannot be both {found[hca]} and {use}")
    return found


def _report(used: Used, merged: Merged) -> None:
    captures = dict.fromkeys(f"{seen.origin.file} ({seen.origin.format})" for seen in used.seen)
    say(f"read: {'; '.join(captures)}")
    _some("not used: ", used.unused)
    _some("", merged.unread)
    warn(*merged.warnings)
    _some("concluded, not told: ", merged.assumed)
    _some("not known: ", merged.unknown)
    _some("look at: ", merged.ask)


def _some(title: str, lines: Sequence[str]) -> None:
    for line in lines[:_MOST_LINES]:
        say(title + line)
    if len(lines) > _MOST_LINES:
        say(f"{title}{len(lines) - _MOST_LINES} more")


def _json(used: Used, merged: Merged) -> str:
    value = msgspec.to_builtins(merged)
    value["captures"] = [msgspec.to_builtins(seen.origin) for seen in used.seen]
    value["unused"] = used.unused
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def _through_slurm(
    site_name: str,
    partition: str | None,
    description: str,
    said: dict[str, Use],
    output: str | None,
    as_json: bool,
) -> None:
    """One node of each kind. A kind that cannot be read does not keep the others from being written."""
    from hpclaunch.cli.reach import commands_of
    from hpclaunch.schedulers import slurm_nodes
    from hpclaunch.spec.read import read_site

    document = read_site(site_name)
    slurm = document.value.slurm
    if document.value.scheduler != "slurm" or slurm is None:
        raise InputError(f"the site {document.value.name} has no Slurm; run `topo discover` on its nodes")
    commands = commands_of(document.value)
    kinds = slurm_nodes.one_of_each(slurm_nodes.list_nodes(commands, partition, warn))
    if output is None and len(kinds) > 1:
        listed = "; ".join(kinds)
        raise InputError(f"there are {len(kinds)} kinds of node ({listed}): name a folder with -o")
    failed: list[HpclaunchError] = []
    results: list[object] = []
    names: set[str] = set()
    for kind, node in kinds.items():
        if node is None:
            failed.append(SchedulerError(f"no node is free to run on, of the kind: {kind}"))
            continue
        try:
            printed = slurm_nodes.run_on(commands, node.name, sources.script(), partition)
            used = sources.from_text(printed, node.name)
            name = slurm_nodes.type_name(node)
            name = node.name if name in names else name
            names.add(name)
            merged = merge(used.seen, name, description or f"{kind}; as on {node.name}", said)
            _report(used, merged)
            target = output and os.path.join(output, merged.node_type.name + ".yaml")
            if as_json:
                results.append(msgspec.json.decode(_json(used, merged)))
            if target:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                refuse_existing(target)
            if target or not as_json:
                put(nodetypetext.dump(merged), target)
        except HpclaunchError as error:
            failed.append(error)
    if as_json:
        print_json(results)
    for later in failed[1:]:
        say(str(later))
    if failed:
        raise failed[0]
