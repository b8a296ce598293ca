"""`hpclaunch convert`."""

import os
import re
import shlex
import sys
from collections.abc import Sequence

import click
import msgspec

from hpclaunch.cli import places
from hpclaunch.cli.output import json_option, print_json
from hpclaunch.cli.writing import put, refuse_existing
from hpclaunch.convert.conversion import convert as convert_inputs
from hpclaunch.convert.inputs import read_inputs
from hpclaunch.convert.options import Options, Render
from hpclaunch.convert.secrets.texts import hide
from hpclaunch.report.conversion import for_json, markdown, text
from hpclaunch.spec import check_text
from hpclaunch.spec.document import Document
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.spec.scalars import shown, variable_name
from hpclaunch.spec.search import by_name, is_path, site_folders
from hpclaunch.spec.site import Site
from hpclaunch.values.conversion import Conversion
from hpclaunch.values.errors import InputError

_ENV = (
    "What the operator exported before the launcher was started, as in --env DGXNNODES=2; PWD is the folder "
    "where it was submitted. In a manifest it fills in $NAME, as envsubst does, and a template's {{ .NAME }}."
)
_ARGS = "What stood behind the name of the script that was called: --args '--lr 0.1 8'; '' for nothing."
_SET = "Answers a question, or says otherwise than the files do: --set nodes=4, --set env.LR=0.1."
_NODE_TYPE = "The machine that the original ran on: a name of `hpclaunch topo list`, or a file."
_SITE = "The site that the job goes to, or a name for what is about you and a place."
_OUTPUT = "Write the job file there, and the report to standard output."
_REPORT = "Write the report there: .md is Markdown, .json JSON, all else text."


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--env", "env", metavar="KEY=VALUE", multiple=True, help=_ENV)
@click.option("--args", "arguments", metavar="WORDS", help=_ARGS)
@click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, help=_SET)
@click.option("--node-type", metavar="TYPE", help=_NODE_TYPE)
@click.option("--site", "site_name", metavar="SITE", help=_SITE)
@click.option("-o", "--output", metavar="JOB", help=_OUTPUT)
@click.option("--force", is_flag=True, help="Write over a job file or report that is there.")
@click.option("--report", metavar="PATH", help=_REPORT)
@json_option
def convert(
    files: tuple[str, ...],
    env: tuple[str, ...],
    arguments: str | None,
    sets: tuple[str, ...],
    node_type: str | None,
    site_name: str | None,
    output: str | None,
    force: bool,
    report: str | None,
    as_json: bool,
) -> None:
    """Make a job file of a launcher: run.sub and its configuration, or an MPIJob, Pod, Job or PyTorchJob.

    Give the script, the configurations that are sourced before it, in their order, and what else it uses:
    scripts that run in the container, topology files, mounts.txt. `-` is standard input. Nothing is run.
    What the files do not tell stands in the job file as a question. The report says what became of each line.

    Exit status: 0 where there is a job file (which has the questions that are open, if any), 1 where the
    input cannot be converted, 2 where it is wrong.
    """
    named = [each for each in (site_name, node_type) if each is not None and is_path(each)]
    _check_outputs((*files, *named), output, force, report)
    environment = _environment(env)
    words = _words(arguments) if arguments is not None else None
    site = _site(site_name) if site_name is not None else None
    machine = _node_type(node_type) if node_type is not None else None
    name = (site.value.name if site else site_name) or ""
    inputs = read_inputs(files)
    render = _renderer(site) if site else None
    volumes = places.volumes(site.value, os.getcwd()) if site else {}
    found = convert_inputs(inputs, Options(environment, machine, name, render, volumes, words, sets))
    _write(found, name, output, report, as_json)
    sys.exit(0 if found.job else 1)


def _check_outputs(files: Sequence[str], output: str | None, force: bool, report: str | None) -> None:
    """What is read, a site's file too, is never written over, and nothing else without --force."""
    for path in (output, report):
        if path is not None and any(_are_same(path, file) for file in files):
            raise InputError(f"{path} is one of the files that are read: name another file")
    if output is not None and report is not None and os.path.realpath(output) == os.path.realpath(report):
        raise InputError(f"{output} cannot be the job file and the report: name another file")
    for path in (output, report) if not force else ():
        refuse_existing(path, "give --force")


def _are_same(one: str, other: str) -> bool:
    try:
        here = os.path.realpath(one)  # x/.. is here also without an x
        return one != "-" and os.path.isfile(here) and os.path.samefile(here, other)
    except (OSError, ValueError):
        return False


def _environment(texts: Sequence[str]) -> dict[str, str]:
    found = {}
    for each in texts:
        name, equals, value = each.partition("=")
        if not equals:
            begin = hide(re.match(r"\w*", each)[0])  # type: ignore[index]
            raise InputError(f"--env {shown(begin)} is not KEY=VALUE")
        try:
            if name != "PWD":
                variable_name(name)
            elif not value.startswith("/"):
                raise ValueError("it is the folder where the script was submitted, from / on")
            value.encode()
        except ValueError as error:
            said = "it is not UTF-8" if isinstance(error, UnicodeError) else error
            raise InputError(f"--env {shown(hide(name))}: {said}") from None
        found[name] = value
    return found


def _words(text: str) -> tuple[str, ...]:
    """The words of --args, with the quotes of a shell."""
    try:
        text.encode()
        return tuple(shlex.split(text))
    except ValueError as error:
        said = "it is not UTF-8" if isinstance(error, UnicodeError) else str(error).lower()
        raise InputError(f"--args: {said}") from None


def _site(name: str) -> Document[Site] | None:
    """The site, None where the text is a name that no site file has."""
    if is_path(name) or name in by_name(site_folders()):
        return read_site(name)
    try:
        check_text.name(name)
    except ValueError as error:
        raise InputError(f"--site: {error}") from None
    return None


def _renderer(site: Document[Site]) -> Render:
    """What `hpclaunch render` makes of a job file's text for the site."""
    from hpclaunch.cli.planning import machines_of
    from hpclaunch.plan.planner import Planner
    from hpclaunch.render import script

    planner = Planner(site.value, machines_of(site))

    def render(job: str, folder: str) -> str:
        document = parse_job(job, "the job file", folder or os.getcwd())
        if document.value.sweep is not None:
            from hpclaunch.plan.sweep import launches

            return script.render(launches(document, site, planner)[0].plan)
        return script.render(planner.plan(document.value))

    return render


def _node_type(name: str) -> NodeType:
    from hpclaunch.topology import catalogue

    return catalogue.load(name).value


def _write(found: Conversion, site: str, output: str | None, report: str | None, as_json: bool) -> None:
    if report is not None:  # first: where it cannot be written there is no job file either
        put(_report(found, site, report), report)
    if found.job and output not in (None, "-"):
        put(found.job, output)
    elif found.job and not as_json:
        put(found.job, None)
    if as_json:
        print_json(for_json(found))
    elif report is None:
        click.echo(text(found, site), nl=False, err=output in (None, "-"))


def _report(found: Conversion, site: str, path: str) -> str:
    if path.endswith(".json"):
        return msgspec.json.format(msgspec.json.encode(for_json(found)), indent=2).decode() + "\n"
    return markdown(found, site) if path.endswith(".md") else text(found, site)
