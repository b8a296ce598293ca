"""A job with groups -> its plan: that of one job on the nodes of all, with what each group has of its own.

Each group is planned as a job by itself, which finds all that is wrong with it. Groups on nodes that Slurm is
asked for in the same words, with as many ranks on each, are one job on all of these nodes; others are in
`unlikegroups`. On Kubernetes there are none (`kubernetes.rankgroups`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import structs

from hpclaunch.plan import size, unlikegroups
from hpclaunch.spec.groups import GroupSpec
from hpclaunch.spec.job import Job, SiteHints
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget
from hpclaunch.values.pods import KubernetesTarget
from hpclaunch.values.rankgroups import RankGroup, RankGroups
from hpclaunch.values.words import EnvVar, Option

_STEPS = ("trials", "stage_in", "setup", "before_each", "after")
_OF_NODES = ("gpus_per_node", "gpu_type", "ranks_per_node")


def plan(planned: Callable[[Job], LaunchPlan], site: Site, job: Job) -> LaunchPlan:
    """The plan of a job with groups, by that of jobs without. Raises InputError, with every problem found."""
    problems = list(_unsuitable(job, site))
    plans: dict[str, LaunchPlan] = {}
    for name in job.groups:
        try:
            plans[name] = planned(_part(job, name, site))
        except InputError as error:
            problems += _placed(job, name, error.problems, site)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    if site.scheduler == "kubernetes":
        from hpclaunch.plan.kubernetes import rankgroups as of_pods

        problems += of_pods.unlike(plans)
        if problems:
            raise InputError(problems)
    elif unlikegroups.are_unlike(plans):
        checked = None
        if job.preflight is not None and unlikegroups.in_one(plans):
            checked = _on_all(planned, site, job)
        elif job.preflight is not None:
            plans = {name: _checked(planned, site, job, name) for name in job.groups}
        return unlikegroups.plan(site, job, plans, checked)
    whole = _on_all(planned, site, job)
    problems += _for_the_host(plans, whole)
    if problems:
        raise InputError(problems)
    members = tuple(_member(job, name, plans[name], whole) for name in job.groups)
    made = _with(whole, RankGroups(job.world, members), plans.values())
    too_large = size.problems(made.common, made.target)
    if too_large:
        raise InputError(too_large)
    return made


def _on_all(planned: Callable[[Job], LaunchPlan], site: Site, job: Job) -> LaunchPlan:
    """The first group on the nodes of all, with the job's own variables."""
    first = next(iter(job.groups))
    total = sum(group.nodes for group in job.groups.values())
    try:
        return planned(structs.replace(by_itself(job, first), nodes=total, env=job.env))
    except InputError as error:
        total_of_all = [each for each in error.problems if each.path == ("nodes",)]
        others = [each for each in error.problems if each.path != ("nodes",)]
        found = [structs.replace(each, path=("groups",)) for each in total_of_all]
        found += _placed(job, first, others, site)
        raise InputError(found) from None


def _checked(planned: Callable[[Job], LaunchPlan], site: Site, job: Job, name: str) -> LaunchPlan:
    """The group in an allocation of its own, with spare nodes of its own."""
    try:
        return planned(by_itself(job, name))
    except InputError as error:
        raise InputError(list(_placed(job, name, error.problems, site))) from None


def by_itself(job: Job, name: str) -> Job:
    """The group as a job by itself."""
    group = job.groups[name]
    own = {key: getattr(group, key) for key in _OF_NODES if getattr(group, key) is not None}
    return structs.replace(
        job,
        groups={},
        world="one",
        nodes=group.nodes,
        command=job.command if group.command is None else group.command,
        env={**job.env, **group.env},
        sites=_sites(job, group),
        **own,
    )


def _part(job: Job, name: str, site: Site) -> Job:
    alone = by_itself(job, name)
    if site.scheduler != "kubernetes":
        return structs.replace(alone, preflight=None)  # the spare nodes of a check are the whole job's
    from hpclaunch.plan.kubernetes import rankgroups as of_pods  # nobody else pays for it

    return of_pods.part(job, alone)


def _sites(job: Job, group: GroupSpec) -> dict[str, SiteHints]:
    """What the job says of sites, with what the group says over it."""
    found = dict(job.sites)
    for site, hints in group.sites.items():
        own = {key: value for key, value in structs.asdict(hints).items() if value is not None}
        found[site] = structs.replace(found.get(site, SiteHints()), **own)
    return found


def _placed(job: Job, name: str, problems: Sequence[Problem], site: Site) -> Iterator[Problem]:
    """The problems of a group where the job file has what they are about."""
    group = job.groups[name]
    for each in problems:
        key = each.path[0] if each.path else ""
        if key == "nodes" and site.scheduler == "kubernetes":
            yield structs.replace(each, path=("groups",))  # those of all groups
            continue
        own = key == "nodes" or (key == "env" and each.path[1:2] and each.path[1] in group.env)
        own = own or (key in ("command", *_OF_NODES) and getattr(group, str(key)) is not None)
        if key == "sites" and len(each.path) > 2:
            hints = group.sites.get(str(each.path[1]))
            own = getattr(hints, str(each.path[2]), None) is not None
        if each.document == "job" and own:
            each = structs.replace(
                each, message=f"group {name}: {each.message}", path=("groups", name, *each.path)
            )
        yield each


def _unsuitable(job: Job, site: Site) -> Iterator[Problem]:
    """What does not go with groups, whatever they are."""
    for key in _STEPS:
        if getattr(job, key):
            message = (
                f"{key}: not with `groups`, whose ranks are started once and without steps beside them: "
            )
            yield Problem(message + "do it in the groups' commands", "job", (key,))
    if site.scheduler == "local":
        yield Problem(
            f"groups: each has nodes of its own, and {site.name} is one machine", "job", ("groups",)
        )
    if site.scheduler == "kubernetes":
        from hpclaunch.plan.kubernetes import rankgroups as of_pods

        yield from of_pods.unsuitable(job)


def _for_the_host(plans: dict[str, LaunchPlan], whole: LaunchPlan) -> Iterator[Problem]:
    """Variables of one group that something outside the ranks reads, which is the same for all."""
    common = {each.name: each.value for each in _outside(whole)}
    for name, each in plans.items():
        for variable in _outside(each):
            if common.get(variable.name) == variable.value:
                continue
            message = (
                f"groups.{name}.env.{variable.name}: hooks and launchers outside the ranks read it, and "
                "those are the same for all groups: set it in the job's env"
            )
            yield Problem(message, "job", ("groups", name, "env", variable.name))


def _outside(each: LaunchPlan) -> tuple[EnvVar, ...]:
    if isinstance(each.target, KubernetesTarget):
        from hpclaunch.plan.kubernetes import rankgroups as of_pods

        return of_pods.outside(each.target)
    return each.target.host_env if isinstance(each.target, SlurmTarget) else ()


def _member(job: Job, name: str, alone: LaunchPlan, whole: LaunchPlan) -> RankGroup:
    common = {each.name: each.value for each in whole.common.environment}
    own = tuple(each for each in alone.common.environment if common.get(each.name) != each.value)
    return RankGroup(name, job.groups[name].nodes, alone.common.ranks_per_node, alone.common.argv, own)


def _with(whole: LaunchPlan, groups: RankGroups, plans: Iterable[LaunchPlan]) -> LaunchPlan:
    alone = list(plans)
    common = structs.replace(whole.common, argv=(), groups=groups)
    # A limit that one group's variables ask for is one for all.
    settings = dict.fromkeys(option for one in (whole, *alone) for option in one.target.wrapper)
    target = structs.replace(whole.target, wrapper=(*settings, unlikegroups.sizes(groups.members)))
    if isinstance(target, SlurmTarget) and groups.world == "separate":
        target = _separate(target, groups)
    warnings = dict.fromkeys(warning for one in (whole, *alone) for warning in one.warnings)
    return structs.replace(whole, common=common, target=target, warnings=tuple(warnings))


def _separate(target: SlurmTarget, groups: RankGroups) -> SlurmTarget:
    """Each group as a step of its own, on the next of the job's nodes."""
    steps, first = [], 0
    for group in groups.members:
        steps.append(
            (
                Option(f"--relative={first}"),
                Option(f"--nodes={group.nodes}"),
                Option(f"--ntasks={group.nodes * group.ranks_per_node}"),
            )
        )
        first += group.nodes
    shared = [each for each in target.srun if not each.text.startswith(("--nodes=", "--ntasks="))]
    return structs.replace(target, srun=tuple(shared), of_groups=tuple(steps))
