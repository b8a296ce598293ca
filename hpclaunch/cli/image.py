"""`hpclaunch image`: squashfs files that all nodes of a cluster see, imported once."""

import os
from datetime import datetime

import click

from hpclaunch.cli.output import json_option, print_json, say, warn
from hpclaunch.cli.planning import site_option
from hpclaunch.cli.reach import commands_of
from hpclaunch.plan import sharedimage
from hpclaunch.rank import beside
from hpclaunch.records.lookup import all_records
from hpclaunch.report.table import aligned
from hpclaunch.schedulers.images import Image, Store
from hpclaunch.spec import scalars
from hpclaunch.spec.read import read_site
from hpclaunch.spec.site import Site, SlurmSite
from hpclaunch.values.errors import InputError

_folder_option = click.option(
    "--folder", metavar="DIR", help="A folder that all nodes see, unless it is the site's slurm.image_folder."
)


@click.group()
def image() -> None:
    """Container images that are imported once for all nodes of a site, as by `image: {import: shared}`."""


@image.command("import")
@click.argument("reference", metavar="docker://IMAGE")
@site_option
@_folder_option
@click.option("--srun", "more", multiple=True, metavar="OPTION", help="Passed on to srun as it is.")
@json_option
def import_image(
    reference: str, site_name: str, folder: str | None, more: tuple[str, ...], as_json: bool
) -> None:
    """Import an image to a squashfs file, unless it is there, and print its path.

    Enroot does it, with the credentials in its own file, on a compute node or here (slurm.image_import). Who
    asks for an image that is being imported waits for it.
    """
    site, slurm, store = _store(site_name, folder)
    try:
        name, uri = sharedimage.file_name(reference), sharedimage.uri(reference)
    except InputError as error:
        raise InputError("; ".join(problem.message for problem in error.problems)) from None
    there = any(each.name == name for each in store.images())
    on_node = None if there or slurm.image_import == "here" else (*_of_site(slurm), *more)
    if not there:
        say(f"importing {uri} {f'on site {site.name}' if on_node is None else 'on a compute node'}")
    store.bring(name, uri, beside.text("import"), on_node)
    path = os.path.join(store.folder, name)
    if not as_json:
        click.echo(path)
        return
    known = next((each for each in store.images() if each.name == name), None)
    print_json({"path": path, "new": not there, "image": known})


@image.command("list")
@site_option
@_folder_option
@json_option
def list_images(site_name: str, folder: str | None, as_json: bool) -> None:
    """List the images that were imported."""
    _, _, store = _store(site_name, folder)
    found = store.images()
    if as_json:
        print_json(found)
        return
    rows = [(each.image, _what(each), _size(each.bytes), _day(each.used), each.name) for each in found]
    click.echo(aligned(("IMAGE", "CONTENT", "SIZE", "LAST_USE", "FILE"), rows))


@image.command()
@site_option
@_folder_option
@click.option("--older-than", default="30d", show_default=True, help="Not used for so long: 30d, 12h, 0m.")
@click.option("--dry-run", is_flag=True, help="Only say which would be removed.")
@json_option
def prune(site_name: str, folder: str | None, older_than: str, dry_run: bool, as_json: bool) -> None:
    """Remove images that nobody has used for a while.

    One that a job of your records needs that has not ended stays; while such a record cannot be read, all
    stay. Of the jobs of others the folder tells when they started.
    """
    try:
        seconds = scalars.span(older_than)
    except ValueError as error:
        raise InputError(f"--older-than: {error}") from None
    _, _, store = _store(site_name, folder)
    records, problems = all_records()
    warn(*problems)
    of_slurm = [each for each in records if each.intent.scheduler == "slurm"]
    found = store.prune(seconds, of_slurm, problems, dry_run)
    if as_json:
        print_json(found)
        return
    for each in found:
        click.echo(f"{each.image.name}  {'removed' if each.removed else 'stays: ' + each.why}")


def _store(site_name: str, folder: str | None) -> tuple[Site, SlurmSite, Store]:
    site = read_site(site_name).value
    if site.scheduler != "slurm" or site.slurm is None:
        raise InputError(
            f"site {site.name} has no Slurm: only there images are files that nodes have in common"
        )
    chosen = folder or site.slurm.image_folder
    if not chosen:
        raise InputError(
            f"site {site.name} names no folder for images: write slurm.image_folder, or --folder"
        )
    if not chosen.startswith("/") or not chosen.isprintable():
        raise InputError(f"--folder {chosen!r} is no absolute path")
    return site, site.slurm, Store(commands_of(site), chosen, beside.text("images"), warn)


def _of_site(slurm: SlurmSite) -> list[str]:
    names = ("partition", "account", "qos")
    return [f"--{name}={value}" for name in names if (value := getattr(slurm, name)) is not None]


def _what(each: Image) -> str:
    """The start of the digest, or of the file's own hash."""
    return each.digest[:19] if each.digest else f"file:{each.sha256[:12]}"


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
