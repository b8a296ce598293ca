"""`hpclaunch doctor`: what works from here, and what does not."""

import os
import resource
import time
from collections.abc import Iterator

import click

from hpclaunch.cli.output import json_option, print_json, warn
from hpclaunch.cli.planning import machines_of, plan_job, set_option, site_option
from hpclaunch.cli.reach import commands_of, slurm_conf_of
from hpclaunch.cluster.checkup import namespace_checks, partition_checks, path_checks, paths_of, slurm_checks
from hpclaunch.records import files
from hpclaunch.records.checkup import home_checks
from hpclaunch.report.table import aligned
from hpclaunch.spec.document import Document, located
from hpclaunch.spec.read import read_site
from hpclaunch.spec.site import Site
from hpclaunch.values.checkup import Check, failed
from hpclaunch.values.errors import HpclaunchError, InputError, SchedulerError, first_line
from hpclaunch.values.launchplan import LaunchPlan


@click.command()
@site_option
@click.option("--job", "job_file", metavar="JOB", help="Look at what this job needs, too.")
@set_option
@click.option("--on-node", is_flag=True, help="Look on one compute node, too, by a step of a few seconds.")
@json_option
def doctor(site_name: str, job_file: str | None, sets: tuple[str, ...], on_node: bool, as_json: bool) -> int:
    """Say what works from here, what does not, and what to do about it.

    The ways to the scheduler, its versions, accounts and partitions, clocks, limits, the folder of records,
    and the paths of a job. The exit status is 1 where something is bad.
    """
    plan = None
    if job_file is not None:
        planned = plan_job(job_file, site_name, sets)
        document, plan = planned.site, planned.plan
    else:
        document = read_site(site_name)
    found = list(_checks(document, plan, on_node))
    if as_json:
        print_json(found)
    else:
        rows = [(check.result, check.subject, _text(check)) for check in found]
        click.echo(aligned(("", "WHAT", "FOUND"), rows))
    return 1 if any(check.result == "bad" for check in found) else 0


def _text(check: Check) -> str:
    return f"{check.found}. {check.advice}" if check.advice else check.found


def _checks(document: Document[Site], plan: LaunchPlan | None, on_node: bool) -> Iterator[Check]:
    site = document.value
    if site.scheduler == "slurm":
        yield from _slurm(document, plan, on_node)
    elif site.scheduler == "kubernetes":
        yield from _kubernetes(document)
    else:
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        limit = "unlimited" if soft == resource.RLIM_INFINITY else f"{soft // 1024} KiB"
        yield Check("memlock limit", "ok", limit)
    yield from home_checks(shared=site.scheduler == "slurm" and site.ssh is None)
    if plan is not None and site.scheduler != "kubernetes" and site.ssh is None:
        yield from path_checks(plan.common)


def _slurm(document: Document[Site], plan: LaunchPlan | None, on_node: bool) -> Iterator[Check]:
    from hpclaunch.cluster.drift import compare
    from hpclaunch.schedulers import slurm_checkup
    from hpclaunch.schedulers.slurm_cluster import read_cluster

    site = document.value
    assert site.slurm is not None
    yield from _ways(site)
    commands = commands_of(site)
    try:
        cluster = read_cluster(commands)
    except SchedulerError as error:
        yield Check("the cluster", "not known", f"Slurm's commands do not tell: {first_line(error)}")
        return
    yield from slurm_checks(site, cluster, compare(site, machines_of(document), cluster))
    yield from partition_checks(_asked(plan, "--partition"), cluster)
    user = commands.query(["id", "-un"]).strip()
    account = _asked(plan, "--account") or site.slurm.account
    yield slurm_checkup.associations(commands, user, cluster.accounts is not None, account)
    yield slurm_checkup.clock(commands, time.time())
    if not on_node:
        yield Check(slurm_checkup.MEMLOCK, "not known", "`--on-node` looks on a compute node")
        return
    partition = _asked(plan, "--partition") or site.slurm.partition
    paths = [*_home(site), *(paths_of(plan.common) if plan is not None else ())]
    try:
        yield from slurm_checkup.on_a_node(commands, partition, paths, warn)
    except SchedulerError as error:
        yield Check("a compute node", "not known", f"no step runs there: {first_line(error)}")


def _home(site: Site) -> list[str]:
    """The folder of records, as nodes see it. None where it cannot be made, which its own checks say."""
    if site.ssh is not None:
        return [site.ssh.home]
    try:
        return [str(files.private_folder(files.home()))]
    except (OSError, HpclaunchError):
        return []


def _ways(site: Site) -> Iterator[Check]:
    access, slurm_conf = site.access, slurm_conf_of(site)
    assert access is not None
    if access.login is not None:
        from hpclaunch.schedulers.ssh.checkup import login_checks

        yield from login_checks(access.login, slurm_conf)
    else:
        from hpclaunch.schedulers.ways.checkup import way_checks

        yield from way_checks(slurm_conf, access)


def _asked(plan: LaunchPlan | None, name: str) -> str | None:
    """The value of an option of sbatch in a plan."""
    options = getattr(plan.target, "sbatch", ()) if plan is not None else ()
    texts = [option.text.partition("=") for option in options]
    return next((value for option, _, value in texts if option == name), None)


def _kubernetes(document: Document[Site]) -> Iterator[Check]:
    from hpclaunch.cluster.namespacecheck import compare_namespace
    from hpclaunch.schedulers.kubernetes_cluster import Reader
    from hpclaunch.schedulers.kubernetes_login import resolve

    site = document.value
    assert site.kubernetes is not None
    try:
        reader = Reader(resolve(site.kubernetes.namespace, site.kubernetes.context, os.environ))
        version = reader.version()
        yield Check("API server", "ok", version)
        release = version.split()[-1]
        compared = compare_namespace(site, machines_of(document), release, reader.kinds, reader.ask)
    except SchedulerError as error:
        yield failed("API server", "bad", error)
        return
    except InputError as error:
        raise located(error.problems, document) from None
    yield from namespace_checks(compared)
