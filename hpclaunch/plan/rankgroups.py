"""A job with groups -> its plan: that of one job on the nodes of all, with what each group has of its own.

Each group is planned as a job by itself, which finds all that is wrong with it. What the groups must have in
common, since one allocation carries them, is compared.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import structs

from hpclaunch.plan import size
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget
from hpclaunch.values.rankgroups import RankGroup, RankGroups
from hpclaunch.values.words import EnvVar, Option

_STEPS = ("trials", "stage_in", "setup", "before_each", "after")


def plan(planned: Callable[[Job], LaunchPlan], site: Site, job: Job) -> LaunchPlan:
    """The plan of a job with groups, by that of jobs without. Raises InputError, with every problem found."""
    problems = list(_unsuitable(job, site))
    plans: dict[str, LaunchPlan] = {}
    for name in job.groups:
        try:
            plans[name] = planned(_alone(job, name))
        except InputError as error:
            problems += _placed(job, name, error.problems)
    problems += _unlike(job, plans)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    first = next(iter(job.groups))
    total = sum(group.nodes for group in job.groups.values())
    try:
        whole = planned(structs.replace(_alone(job, first), nodes=total, env=job.env))
    except InputError as error:
        total_of_all = [each for each in error.problems if each.path == ("nodes",)]
        others = [each for each in error.problems if each.path != ("nodes",)]
        found = [structs.replace(each, path=("groups",)) for each in total_of_all]
        found += _placed(job, first, others)
        raise InputError(found) from None
    problems += _for_the_host(job, plans, whole)
    if problems:
        raise InputError(problems)
    members = tuple(_member(job, name, plans[name], whole) for name in job.groups)
    made = _with(whole, RankGroups(job.world, members), plans.values())
    too_large = size.problems(made.common, made.target)
    if too_large:
        raise InputError(too_large)
    return made


def _alone(job: Job, name: str) -> Job:
    """The group as a job by itself."""
    group = job.groups[name]
    return structs.replace(
        job,
        groups={},
        world="one",
        nodes=group.nodes,
        command=job.command if group.command is None else group.command,
        env={**job.env, **group.env},
        gpus_per_node=job.gpus_per_node if group.gpus_per_node is None else group.gpus_per_node,
        ranks_per_node=job.ranks_per_node if group.ranks_per_node is None else group.ranks_per_node,
    )


def _placed(job: Job, name: str, problems: Sequence[Problem]) -> Iterator[Problem]:
    """The problems of a group where the job file has what they are about."""
    group = job.groups[name]
    for each in problems:
        key = each.path[0] if each.path else ""
        own = key == "nodes" or (key == "env" and each.path[1:2] and each.path[1] in group.env)
        own = own or (
            key in ("command", "gpus_per_node", "ranks_per_node") and getattr(group, key) is not None
        )
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
    if job.beside_ranks and not any(getattr(job, key) for key in _STEPS):
        message = "image.import: not with `groups`: run hpclaunch image import before, and name the file"
        yield Problem(message, "job", ("image", "import"))
    if site.scheduler == "local":
        yield Problem(
            f"groups: each has nodes of its own, and {site.name} is one machine", "job", ("groups",)
        )
    if site.scheduler == "kubernetes":
        message = "groups: the workers of an MPIJob are all alike: submit a job for each group"
        yield Problem(message, "job", ("groups",))
    if job.world == "one":
        return
    same = "ranks of separate worlds have the same numbers, and their"
    if job.verify:
        message = f"verify: {same} reports could not be told apart: verify it with world: one"
        yield Problem(message, "job", ("verify",))
    if job.profile is not None:
        yield Problem(f"profile: {same} files neither: profile it with world: one", "job", ("profile",))


def _unlike(job: Job, plans: dict[str, LaunchPlan]) -> Iterator[Problem]:
    """What groups differ in and must not: all nodes of a job of Slurm's are asked for in the same words."""
    names = list(plans)
    for key in ("gpus_per_node", "ranks_per_node"):
        numbers = {name: getattr(plans[name].common, key) for name in names}
        for name in names[1:]:
            if numbers[name] == numbers[names[0]]:
                continue
            where = ("groups", name) if getattr(job.groups[name], key) is None else ("groups", name, key)
            message = (
                f"{key}: group {name} has {numbers[name]} and group {names[0]} {numbers[names[0]]}, but the "
                "nodes of a job are alike: take one number for all (a rank need not use all that it has), or "
                "submit two jobs"
            )
            yield Problem(message, "job", where)


def _for_the_host(job: Job, plans: dict[str, LaunchPlan], whole: LaunchPlan) -> Iterator[Problem]:
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
    return each.target.host_env if isinstance(each.target, SlurmTarget) else ()


def _member(job: Job, name: str, alone: LaunchPlan, whole: LaunchPlan) -> RankGroup:
    common = {each.name: each.value for each in whole.common.environment}
    own = tuple(each for each in alone.common.environment if common.get(each.name) != each.value)
    return RankGroup(name, job.groups[name].nodes, alone.common.argv, own)


def _with(whole: LaunchPlan, groups: RankGroups, plans: Iterable[LaunchPlan]) -> LaunchPlan:
    alone = list(plans)
    common = structs.replace(whole.common, argv=(), groups=groups)
    each = common.ranks_per_node
    names = " ".join(f"{group.name}:{group.nodes * each}" for group in groups.members)
    # A limit that one group's variables ask for is one for all.
    settings = dict.fromkeys(option for one in (whole, *alone) for option in one.target.wrapper)
    wrapper = (*settings, Option(f"groups={names}", "NAME:RANKS in the order of the ranks"))
    target = structs.replace(whole.target, wrapper=wrapper)
    if isinstance(target, SlurmTarget) and groups.world == "separate":
        target = _separate(target, groups, each)
    warnings = dict.fromkeys(warning for one in (whole, *alone) for warning in one.warnings)
    return structs.replace(whole, common=common, target=target, warnings=tuple(warnings))


def _separate(target: SlurmTarget, groups: RankGroups, ranks: int) -> SlurmTarget:
    """Each group as a step of its own, on the next of the job's nodes."""
    steps, first = [], 0
    for group in groups.members:
        steps.append(
            (
                Option(f"--relative={first}"),
                Option(f"--nodes={group.nodes}"),
                Option(f"--ntasks={group.nodes * ranks}"),
            )
        )
        first += group.nodes
    shared = [each for each in target.srun if not each.text.startswith(("--nodes=", "--ntasks="))]
    return structs.replace(target, srun=tuple(shared), of_groups=tuple(steps))
