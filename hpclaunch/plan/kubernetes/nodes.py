"""Which nodes the pods may go to, and what of the job's hints for a site means something on Kubernetes."""

from hpclaunch.spec import hosts
from hpclaunch.spec.job import SiteHints
from hpclaunch.spec.site import NodeGroup
from hpclaunch.values.errors import Path, Problem
from hpclaunch.values.pods import NodeChoice, Toleration

# More names than that make a manifest that nobody reads; labels are the way to name many nodes.
MOST_NAMES = 64


def of_worker(group: NodeGroup, hints: SiteHints, site: str) -> tuple[NodeChoice, list[Problem]]:
    """The labels of the group's nodes (its host names, where it has no labels), and the job's own choice."""
    problems: list[Problem] = []
    chosen = _names(hints.nodelist, ("sites", site, "nodelist"), problems)
    if not chosen and not group.selector and group.hosts is not None:
        names = hosts.expand(group.hosts)
        chosen = tuple(names) if len(names) <= MOST_NAMES else ()
    choice = NodeChoice(
        selector=tuple(group.selector.items()),
        hosts=chosen,
        not_hosts=_names(hints.exclude, ("sites", site, "exclude"), problems),
        tolerations=tuple(
            Toleration(each.key or "", each.operator, each.value or "", each.effect or "")
            for each in group.tolerations
        ),
    )
    return choice, problems


def _names(text: str | None, path: Path, problems: list[Problem]) -> tuple[str, ...]:
    if text is None:
        return ()
    try:
        return tuple(hosts.expand(text))
    except ValueError as error:
        problems.append(Problem(str(error), "job", path))
        return ()
