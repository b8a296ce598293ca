"""Which nodes the pods may go to: those that the job is planned for, less what it leaves out."""

from collections.abc import Iterable, Sequence

from hpclaunch.plan import gpukind
from hpclaunch.plan.hints import of_site
from hpclaunch.spec import hosts, kubernetes
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.values.errors import Path, Problem
from hpclaunch.values.pods import NodeChoice, Toleration

# More names than that make a manifest that nobody reads; labels are the way to name many nodes.
MOST_NAMES = 64


def of_worker(
    job: Job, site: Site, group: NodeGroup, machine: NodeType
) -> tuple[NodeChoice, list[Problem], list[str]]:
    """The labels of the group's nodes (its host names, where it has no labels) and the job's own choice;
    problems and warnings."""
    hints = of_site(job, site)
    problems: list[Problem] = []
    warnings = []
    size = hosts.count(group.hosts) if group.hosts is not None else 0
    by_name = not group.selector and size <= MOST_NAMES
    # Names are read where they are compared or written alone: that takes longer than all else here.
    needed = by_name or hints.nodelist is not None or hints.exclude is not None
    of_group = hosts.expand(group.hosts) if group.hosts is not None and needed else []
    chosen = _names(hints.nodelist, ("sites", site.name, "nodelist"), problems)
    excluded = _names(hints.exclude, ("sites", site.name, "exclude"), problems)
    if not problems:
        problems += _outside(chosen, of_group, group, site)
        problems += _too_few(job, site, group, machine, chosen or of_group, excluded)
    if not chosen and by_name:
        chosen = tuple(of_group)
    elif not chosen and not group.selector:
        warnings.append(
            f"the pods may go to any node that has what they ask for: {size} names "
            "(node_types.hosts) are too many for a manifest, and the nodes have no labels in the site "
            "(node_types.selector)"
        )
    choice = NodeChoice(
        selector=tuple(group.selector.items()),
        hosts=chosen,
        not_hosts=excluded,
        tolerations=tolerated(group.tolerations),
    )
    return choice, problems, warnings


def tolerated(taints: Iterable[kubernetes.Toleration]) -> tuple[Toleration, ...]:
    """Tolerations of the site file in the API's words."""
    return tuple(
        Toleration(each.key or "", each.operator, each.value or "", each.effect or "") for each in taints
    )


def _names(text: str | None, path: Path, problems: list[Problem]) -> tuple[str, ...]:
    if text is None:
        return ()
    try:
        return tuple(hosts.expand(text))
    except ValueError as error:
        problems.append(Problem(str(error), "job", path))
        return ()


def _outside(chosen: Sequence[str], of_group: Sequence[str], group: NodeGroup, site: Site) -> list[Problem]:
    """Nodes that the job names and its plan is not for."""
    strange = sorted(set(chosen) - set(of_group)) if of_group else []
    if not strange:
        return []
    message = f"{hosts.fold(strange)} is not among the nodes that the job is planned for ({group.hosts})"
    if len(site.node_types) > 1:
        message += f": choose their type with sites.{site.name}.node_type"
    return [Problem(message, "job", ("sites", site.name, "nodelist"))]


def _too_few(
    job: Job,
    site: Site,
    group: NodeGroup,
    machine: NodeType,
    names: Sequence[str],
    excluded: Sequence[str],
) -> list[Problem]:
    """Workers that would wait for ever, since the names that are left have no room for them. (Slurm adds
    nodes to a nodelist that is too short.)"""
    hints = of_site(job, site)
    if not names or (hints.nodelist is None and hints.exclude is None):
        return []
    left, of_each = len(set(names) - set(excluded)), gpukind.room(job, site, group, machine)
    room = left * (job.nodes if of_each is None else of_each)
    if job.nodes <= room:
        return []
    key = "nodelist" if hints.nodelist is not None else "exclude"
    message = f"the job takes {job.nodes} nodes, and this leaves room for {room}"
    return [Problem(message, "job", ("sites", site.name, key))]
