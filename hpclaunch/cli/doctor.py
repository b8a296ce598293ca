"""`hpclaunch doctor`: what works from here, and what does not."""

import os
import resource
import time
from collections.abc import Iterator

import click

from hpclaunch.cli.output import json_option, print_json, warn
from hpclaunch.cli.planning import Planned, machines_of, plan_job, set_option, site_option
from hpclaunch.cli.reach import commands_of, slurm_conf_of
from hpclaunch.cluster.checkup import (
    far_path_checks,
    namespace_checks,
    partition_checks,
    path_checks,
    paths_of,
    slurm_checks,
)
from hpclaunch.records import files
from hpclaunch.records.checkup import home_checks
from hpclaunch.report.table import aligned
from hpclaunch.spec.document import Document, located
from hpclaunch.spec.read import read_site
from hpclaunch.spec.site import Site
from hpclaunch.values.checkup import Check, failed
from hpclaunch.values.errors import HpclaunchError, InputError, SchedulerError, first_line
from hpclaunch.values.launchplan import SlurmTarget


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
    planned = plan_job(job_file, site_name, sets) if job_file is not None else None
    document = planned.site if planned is not None else read_site(site_name)
    found = list(_checks(document, planned, on_node))
    if as_json:
        print_json(found)
    else:
        rows = [(check.result, check.subject, _text(check)) for check in found]
        click.echo(aligned(("", "WHAT", "FOUND"), rows))
    return 1 if any(check.result == "bad" for check in found) else 0


def _text(check: Check) -> str:
    return f"{check.found}. {check.advice}" if check.advice else check.found


def _checks(document: Document[Site], planned: Planned | None, on_node: bool) -> Iterator[Check]:
    site = document.value
    if site.scheduler == "slurm":
        yield from _slurm(document, planned, on_node)
    elif site.scheduler == "kubernetes":
        yield from _kubernetes(document)
    else:
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        limit = "unlimited" if soft == resource.RLIM_INFINITY else f"{soft // 1024} KiB"
        yield Check("memlock limit", "ok", limit)
    yield from home_checks(shared=site.scheduler == "slurm" and site.ssh is None)
    if planned is not None and site.scheduler != "kubernetes":
        if site.ssh is None:
            yield from path_checks(planned.plan.common)
        else:
            yield from far_path_checks(planned.plan.common, _sent(planned), on_node)


def _slurm(document: Document[Site], planned: Planned | None, on_node: bool) -> Iterator[Check]:
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
    partitions = _asked(planned, "--partition")
    yield from partition_checks(partitions, cluster)
    accounts = _asked(planned, "--account") or tuple(filter(None, [site.slurm.account]))
    yield slurm_checkup.associations(commands, cluster.accounts is not None, accounts)
    yield slurm_checkup.clock(commands, time.time())
    if not on_node:
        yield Check(slurm_checkup.MEMLOCK, "not known", "`--on-node` looks on a compute node")
        return
    paths = _home(site)
    if planned is not None:
        paths += [path for path in paths_of(planned.plan.common) if path not in _sent(planned)]
    try:
        yield from slurm_checkup.on_a_node(
            commands, next(iter(partitions), site.slurm.partition), paths, warn
        )
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


def _sent(planned: Planned) -> frozenset[str]:
    """The paths on the cluster of what a submission sends there first."""
    if planned.site.value.ssh is None:
        return frozenset()
    from hpclaunch.cli.staging import copies

    return frozenset(each.target for each in copies(planned.job.value, planned.site.value))


def _asked(planned: Planned | None, option: str) -> tuple[str, ...]:
    """The values of an option of sbatch in a plan, each once: those of all its allocations, and of lists with
    commas between."""
    target = planned.plan.target if planned is not None else None
    if not isinstance(target, SlurmTarget):
        return ()
    texts = [each.text for of_one in (target.sbatch, *target.components) for each in of_one]
    values = [value for name, _, value in (text.partition("=") for text in texts) if name == option]
    return tuple(dict.fromkeys(",".join(values).split(","))) if values else ()


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
