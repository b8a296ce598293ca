"""`hpclaunch diff`."""

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from hpclaunch.cli.output import json_option, print_json, warn
from hpclaunch.cli.places import place
from hpclaunch.cli.planning import Planned, plan_job, set_option
from hpclaunch.readback.compare import are_same, compare
from hpclaunch.readback.place import NOTHING, Side
from hpclaunch.render import script
from hpclaunch.report.comparison import summary, table
from hpclaunch.spec.read import read_site
from hpclaunch.values.amount import counted
from hpclaunch.values.errors import InputError
from hpclaunch.values.launch import Difference, Launch


@click.command()
@click.argument("files", metavar="JOB", nargs=-1, required=True, type=click.Path())
@click.option("--site", "sites", metavar="SITE", multiple=True, help="One of the two sites: give it twice.")
@set_option
@json_option
def diff(files: tuple[str, ...], sites: tuple[str, ...], sets: tuple[str, ...], as_json: bool) -> None:
    """Compare what two sites would launch for one job.

    Both texts are rendered, read back, and compared: hpclaunch diff JOB --site A --site B. Two texts that
    are there already, scripts for sbatch or manifests, can stand in place of the job and its sites.

    Exit status: 0 where it is the same launch, 1 where it is not, 2 where the input is wrong.
    """
    if len(files) == 2 and not sites and not sets:
        sides = [Side(_read_file(name)) for name in files]
        _finish(files, [side.launch for side in sides], compare(*sides), as_json)
    if len(files) != 1 or len(sites) != 2:
        raise InputError("give one job and two sites (JOB --site A --site B), or two rendered texts")
    for name in sites:
        if read_site(name).value.scheduler == "local":
            raise InputError(
                f"{name} runs jobs on this machine alone: sites of Slurm and Kubernetes are compared"
            )
    planned = [_planned(files[0], name, sets) for name in sites]
    refused = [each for each in planned if isinstance(each, InputError)]
    problems = [problem for error in refused for problem in error.problems]
    if len(refused) == 2 or any(problem.document != "job" for problem in problems):
        # A message for both sites is one.
        raise InputError(list({str(problem): problem for problem in problems}.values()))
    plans = [each.plan for each in planned if isinstance(each, Planned)]
    warn(*dict.fromkeys(f"{plan.site}: {text}" for plan in plans for text in plan.warnings))
    if refused:
        _finish(sites, (), _unbridged(planned), as_json)
    sides = [_side(each) for each in planned if isinstance(each, Planned)]
    _finish(sites, [side.launch for side in sides], compare(*sides), as_json)


def _planned(job_file: str, site: str, sets: Sequence[str]) -> Planned | InputError:
    """The plan, or why there is none: what one site can launch and the other cannot is a difference."""
    try:
        return plan_job(job_file, site, sets)
    except InputError as error:
        return error


def _unbridged(planned: Sequence[Planned | InputError]) -> tuple[Difference, ...]:
    found = []
    for index, each in enumerate(planned):
        if isinstance(each, InputError):
            values = (NOTHING, "launched") if index == 0 else ("launched", NOTHING)
            for problem in each.problems:
                what = problem.where or "the job"
                found.append(Difference(what, *values, "unbridged", problem.message))
    return tuple(found)


def _side(planned: Planned) -> Side:
    text = script.render(planned.plan)
    kubernetes = planned.site.value.kubernetes
    gpus = (kubernetes.gpu_resource,) if kubernetes else ()
    return Side(_read(text, planned.plan.site, gpus), place(planned))


def _read_file(name: str) -> Launch:
    try:
        with open(name, encoding="utf-8") as file:
            return _read(file.read(), name)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"{name} cannot be read: {reason}") from None


def _read(text: str, name: str, gpu_resources: Sequence[str] = ()) -> Launch:
    """Each reader is imported where there is a text for it."""
    if text.startswith("#!"):
        from hpclaunch.readback.script import read as read_script

        return read_script(text, name)
    from hpclaunch.readback.kubernetes.reader import read as read_manifest

    return read_manifest(text, name, gpu_resources)


def _finish(
    names: Sequence[str], launches: Sequence[Launch], differences: tuple[Difference, ...], as_json: bool
) -> NoReturn:
    same = bool(launches) and are_same(differences)
    of_place = [each for each in differences if each.kind == "place"]
    others = [each for each in differences if each.kind != "place"]
    if as_json:
        print_json({"same": same, "compared": names, "differences": differences, "launches": launches})
    else:
        if same:
            click.echo(summary(launches[0]))
        else:
            click.echo(table(names, others))
        if of_place:
            click.echo("\nWhat the places differ in, for every job:")
            click.echo(table(names, of_place))
        if not same:
            click.echo(f"\nnot the same launch: {counted(len(others), 'difference')}")
    sys.exit(0 if same else 1)
