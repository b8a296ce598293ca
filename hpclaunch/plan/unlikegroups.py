"""Groups on unlike nodes, or with other numbers of ranks on each, which have options of srun of their own.

One allocation carries groups on whole nodes of one kind that differ in their ranks alone. Where sbatch is
asked in other words for each the job is a heterogeneous one: an allocation for each group, which Slurm starts
at the same moment and ends together (https://slurm.schedmd.com/heterogeneous_jobs.html). Ranks of one world
are the components of one step then, `srun A : B`, and each component has its own masks and settings.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import structs

from hpclaunch.capability import tables
from hpclaunch.plan import limits, size
from hpclaunch.spec import hosts
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launchplan import Common, LaunchPlan, SlurmTarget
from hpclaunch.values.rankgroups import RankGroup, RankGroups
from hpclaunch.values.words import EnvVar, Option

_SIZES = ("--nodes=", "--ntasks-per-node=")
# What Slurm gives a part of a heterogeneous job from the part before it, of what a group may have of its own
# ("list of propagated options", https://slurm.schedmd.com/heterogeneous_jobs.html; seen on 22.05.8).
_HANDED_ON = ("qos", "reservation", "exclude")


def are_unlike(plans: Mapping[str, LaunchPlan]) -> bool:
    """Whether the groups, each planned by itself, differ in what one step of Slurm's has for all of them."""
    seen = {(each.common.ranks_per_node, _kinds(each), _asked(each)) for each in plans.values()}
    return len(seen) > 1


def in_one(plans: Mapping[str, LaunchPlan]) -> bool:
    """Whether one allocation carries all of them."""
    same = len({(_kinds(each), _asked(each)) for each in plans.values()}) == 1
    return same and all(each.common.whole_node for each in plans.values())


def plan(site: Site, job: Job, plans: Mapping[str, LaunchPlan], checked: LaunchPlan | None) -> LaunchPlan:
    """The plan of groups that are unlike. `checked` is the first group's on the nodes of all, where their
    nodes are checked in one allocation; where each has its own the groups' plans have the check. Raises
    InputError, with every problem found."""
    one = in_one(plans)
    problems = [*_refused(job, one), *_for_the_host(job, plans)]
    problems += [] if one else [*_told_apart(site, plans), *_in_order(job, plans), *_handed_on(site, plans)]
    spares = job.preflight.spares if job.preflight is not None else 0
    asked = [_with_spares(each, spares if not (one and at) else 0) for at, each in enumerate(plans.values())]
    problems += [*_room(site, asked), *limits.of_groups(job, site, [each.common for each in asked])]
    if problems:
        raise InputError(problems)
    shared = _shared(each.common.environment for each in plans.values())
    members = tuple(_member(name, each.common, shared) for name, each in plans.items())
    groups = RankGroups(job.world, members)
    first, *_ = plans.values()
    common = structs.replace(
        first.common,
        nodes=sum(group.nodes for group in members),
        argv=(),
        environment=shared,
        inherit=tuple(name for name in job.inherit if name not in job.env),
        groups=groups,
    )
    told = [*plans.values(), *([checked] if checked is not None else [])]
    warnings = dict.fromkeys(warning for each in told for warning in each.warnings)
    target, parts = _targets(list(plans.values()), groups, one)
    if checked is not None:
        target = _checked(target, _target(checked))
    if job.preflight is not None and job.world == "one":
        from hpclaunch.plan import preflight  # other jobs do not pay for it

        target, more = preflight.with_every_node(target)
        warnings |= dict.fromkeys(more)
    made = structs.replace(first, common=common, target=target, warnings=tuple(warnings), parts=parts)
    too_large = size.problems(common, target, len(parts) if job.world == "one" else 1)
    if too_large:
        raise InputError(too_large)
    return made


def sizes(members: Sequence[RankGroup]) -> Option:
    """The setting of the rank wrapper by which a rank finds its group."""
    names = " ".join(f"{group.name}:{group.nodes * group.ranks_per_node}" for group in members)
    return Option(f"groups={names}", "NAME:RANKS in the order of the ranks")


def _target(each: LaunchPlan) -> SlurmTarget:
    assert isinstance(each.target, SlurmTarget)  # no other scheduler has unlike groups
    return each.target


def _kinds(each: LaunchPlan) -> tuple[tuple[str, str], ...]:
    return tuple((shape.node_type, shape.hosts) for shape in each.common.shapes)


def _asked(each: LaunchPlan) -> tuple[str, ...]:
    """What is asked of sbatch, but for how many nodes and ranks."""
    return tuple(option.text for option in _target(each).sbatch if not option.text.startswith(_SIZES))


def _refused(job: Job, one: bool) -> Iterator[Problem]:
    if job.chain and not one:
        message = (
            "chain: not with groups whose nodes are asked for in other words: it is a job array, and Slurm "
            "has none of heterogeneous jobs"
        )
        yield Problem(message, "job", ("chain",))


def _for_the_host(job: Job, plans: Mapping[str, LaunchPlan]) -> Iterator[Problem]:
    """Variables that something outside the ranks reads: the script exports one value for all groups."""
    first, *others = plans
    values = {name: {each.name: each.value for each in _target(plans[name]).host_env} for name in plans}
    for name in others:
        for variable in dict.fromkeys((*values[first], *values[name])):
            mine, theirs = (values[group].get(variable, "unset") for group in (first, name))
            if mine == theirs:
                continue
            message = (
                f"{variable}: hooks and launchers outside the ranks read it, and it is one for all groups: "
                f"{first} has {mine} and {name} {theirs}: set it in the job's env"
            )
            own = variable in job.groups[name].env
            yield Problem(message, "job", ("groups", name, *(("env", variable) if own else ())))


def _told_apart(site: Site, plans: Mapping[str, LaunchPlan]) -> Iterator[Problem]:
    """Slurm must be able to tell unlike nodes by what it is asked for."""
    names = list(plans)
    for index, name in enumerate(names):
        for other in names[:index]:
            if _kinds(plans[name]) == _kinds(plans[other]):
                continue
            if _asked(plans[name]) != _asked(plans[other]):
                continue
            types = [_types(_kinds(plans[group])) for group in (other, name)]
            message = (
                f"group {other} is for {types[0]} and group {name} for {types[1]}, but Slurm would be asked "
                f"for both in the same words: give each a gpu_type, or a partition under sites.{site.name}"
            )
            yield Problem(message, "job", ("groups", name))


def _handed_on(site: Site, plans: Mapping[str, LaunchPlan]) -> Iterator[Problem]:
    """A group without an option gets that of the group before it, and Slurm knows no word for none."""
    for one, other in pairwise(plans):
        mine, theirs = ([option.text for option in _target(plans[each]).sbatch] for each in (one, other))
        for what in _HANDED_ON:
            begin = f"--{what}="
            if any(text.startswith(begin) for text in mine) > any(text.startswith(begin) for text in theirs):
                message = (
                    f"group {other} has no {what}, and Slurm would give it that of group {one} before it: "
                    f"say it under its sites.{site.name}, or write {other} before {one}"
                )
                yield Problem(message, "job", ("groups", other))


def _in_order(job: Job, plans: Mapping[str, LaunchPlan]) -> Iterator[Problem]:
    """In one world Slurm's MPI plugins must find the nodes in the order of the groups.

    Of a step over several allocations srun sorts the nodes by name (`_reorder_het_job_recs` in
    src/srun/srun.c), but numbers them allocation by allocation, and a plugin takes the name at a node's
    number for its own (`_resources_set` in src/plugins/mpi/pmix/pmixp_info.c, tags 20.11 to 25.11).
    """
    if job.mpi == "none" or job.world != "one":
        return
    for one, other in pairwise(plans):
        if _precedes(plans[one], plans[other]):
            continue
        message = (
            f"group {other}: in one world Slurm's {job.mpi} takes nodes by name, and by the site's `hosts` "
            f"not all of its nodes come after those of group {one}: "
        )
        instead = "" if not _precedes(plans[other], plans[one]) else f"write {other} before {one}, or "
        yield Problem(f"{message}{instead}take world: separate", "job", ("groups", other))


def _precedes(one: LaunchPlan, other: LaunchPlan) -> bool:
    """Whether all nodes that one may get sort before all those of the other."""
    if not all(shape.hosts for each in (one, other) for shape in each.common.shapes):
        return False
    mine, theirs = (",".join(shape.hosts for shape in each.common.shapes) for each in (one, other))
    both = hosts.expand(f"{mine},{theirs}")
    return len(both) == hosts.count(mine) + hosts.count(theirs) and both[: hosts.count(mine)] == hosts.expand(
        mine
    )


def _with_spares(each: LaunchPlan, spares: int) -> LaunchPlan:
    return structs.replace(each, common=structs.replace(each.common, nodes=each.common.nodes + spares))


def _room(site: Site, plans: Iterable[LaunchPlan]) -> Iterator[Problem]:
    """Each group fits on its nodes by itself; together they may be more than there are."""
    asked: dict[tuple[tuple[str, str], ...], int] = {}
    for each in plans:
        if each.common.whole_node:
            asked[_kinds(each)] = asked.get(_kinds(each), 0) + each.common.nodes
    for kinds, nodes in asked.items():
        of_site = [_count(site, *kind) for kind in kinds]
        there = sum(count for count in of_site if count is not None)
        if None not in of_site and nodes > there:
            message = f"{nodes} nodes of type {_types(kinds)}, and site {site.name} has {there}"
            yield Problem(message, "job", ("groups",))


def _types(kinds: Iterable[tuple[str, str]]) -> str:
    """Of nodes by type and hosts, each type once."""
    return " or ".join(dict.fromkeys(kind for kind, _ in kinds))


def _count(site: Site, node_type: str, of_hosts: str) -> int | None:
    if of_hosts:
        return hosts.count(of_hosts)
    return next((group.count for group in site.node_types if group.type == node_type), None)


def _shared(environments: Iterable[tuple[EnvVar, ...]]) -> tuple[EnvVar, ...]:
    """The variables that all groups have with one value."""
    first, *others = environments
    return tuple(each for each in first if all(each in other for other in others))


def _member(name: str, each: Common, shared: tuple[EnvVar, ...]) -> RankGroup:
    own = tuple(variable for variable in each.environment if variable not in shared)
    return RankGroup(name, each.nodes, each.ranks_per_node, each.argv, own)


def _targets(
    plans: Sequence[LaunchPlan], groups: RankGroups, one: bool
) -> tuple[SlurmTarget, tuple[LaunchPlan, ...]]:
    """The target of the whole job, and the groups' own launches with what only they have of it."""
    targets = [_target(each) for each in plans]
    first = targets[0]
    shared = tuple(each for each in first.srun if all(each in other.srun for other in targets))
    parts, before = [], 0
    for index, (each, own) in enumerate(zip(plans, targets, strict=True)):
        where = Option(f"--relative={before}") if one else Option(f"--het-group={index}")
        srun = (where, *(option for option in own.srun if option not in shared))
        local = Option(
            f"local_ranks={each.common.ranks_per_node}", "on each node of this group; it stands first"
        )
        settings = (local, *own.wrapper, sizes(groups.members))
        parts.append(structs.replace(each, target=structs.replace(own, srun=srun, wrapper=settings)))
        before += each.common.nodes
    whole = structs.replace(
        first,
        sbatch=_whole(first, [each.common for each in plans]) if one else first.sbatch,
        components=() if one else tuple(each.sbatch for each in targets[1:]),
        srun=shared,
        cpu_masks=(),
        mem_masks=(),
        keep=first.keep if one else (*first.keep, "SLURM_HET_SIZE"),  # srun asks it which step this can be
        wrapper=tuple(dict.fromkeys(option for part in parts for option in part.target.wrapper)),
        of_groups=((),) * len(parts) if groups.world == "separate" else (),
        watched=groups.world == "one" and _may_stay(first, plans[0].common.mpi),
    )
    return whole, tuple(parts)


def _may_stay(target: SlurmTarget, mpi: str) -> bool:
    """Whether srun may wait for ever once the ranks of all groups have ended."""
    return mpi.startswith("pmix") and not tables.slurm_has_feature("components_end", target.version)


def _checked(target: SlurmTarget, checked: SlurmTarget) -> SlurmTarget:
    """With the check of the nodes of all, and what it asks of sbatch."""
    ranks = next(option for option in target.sbatch if option.text.startswith(_SIZES[1]))
    batch = (ranks if option.text.startswith(_SIZES[1]) else option for option in checked.sbatch)
    return structs.replace(target, sbatch=tuple(batch), preflight=checked.preflight)


def _whole(target: SlurmTarget, groups: Sequence[Common]) -> tuple[Option, ...]:
    """What sbatch is asked for where one allocation carries all groups."""
    nodes = Option(f"--nodes={sum(each.nodes for each in groups)}")
    ranks = Option(f"--ntasks-per-node={max(each.ranks_per_node for each in groups)}", "the most of a group")
    replaced = dict(zip(_SIZES, (nodes, ranks), strict=True))
    return tuple(replaced.get(option.text.partition("=")[0] + "=", option) for option in target.sbatch)
