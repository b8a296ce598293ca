"""What a script says of the check of its nodes."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from hpclaunch.rank import beside as texts
from hpclaunch.values.launchplan import Common, LaunchPlan, SlurmSteps, SlurmTarget
from hpclaunch.values.preflight import FAILED, LOST, Preflight
from hpclaunch.values.words import Option

_SPARED_S = 5  # so that a node whose programs hang says so before it is given up


class _Group(Struct, frozen=True):
    """The check of a group that has an allocation of its own, as the template spells it."""

    name: str
    check: Preflight
    checked: list[str]
    wanted: int
    linked: list[str]


def of_slurm(
    plan: LaunchPlan, check: Preflight, beside: SlurmSteps | None, spelled: Callable[[Option, int], str]
) -> dict[str, object]:
    """For the template of an sbatch script. `spelled` is how a setting stands in an array of bash that is
    indented by so much; `beside` are the options of the job's other steps, where it has some."""
    common = plan.common
    groups = list(_groups(plan, spelled))
    links = any(each.check.links for each in groups) if groups else check.links is not None
    return {
        "preflight": True,
        "check": check,
        "checks": groups,
        "checked": [spelled(option, 2) for option in check.on_host],
        "wanted": common.nodes,
        "spared": _SPARED_S,
        "judge_text": texts.text("preflight"),
        "check_text": texts.text("check"),
        "links_text": texts.text("links") if links else "",
        "together_text": texts.text("together") if links else "",
        "links": links,
        "linked": _linked(check),
        "failed": FAILED,
        "lost": LOST if check.node_failure == "outlived" else 0,
        "ends_with_a_node": check.node_failure == "ends_groups",
        "bare": beside is not None and beside.one_container and bool(check.command or check.links),
        "group_nodes": list(_places(common)),
    }


def _groups(plan: LaunchPlan, spelled: Callable[[Option, int], str]) -> Iterator[_Group]:
    if not isinstance(plan.target, SlurmTarget) or not plan.target.components or plan.common.groups is None:
        return
    for group, each in zip(plan.common.groups.members, plan.parts, strict=True):
        assert isinstance(each.target, SlurmTarget)
        check = each.target.preflight
        assert check is not None  # it is the job's, so each group has one
        settings = [spelled(option, 2) for option in check.on_host]
        yield _Group(group.name, check, settings, group.nodes, _linked(check))


def _linked(check: Preflight) -> list[str]:
    return [f"={word}" for word in check.links.command] if check.links else []


def _places(common: Common) -> Iterator[tuple[int, int]]:
    """Of each group the first of its nodes, counted over all, and how many they are."""
    first = 0
    for group in common.groups.members if common.groups else ():
        yield first, group.nodes
        first += group.nodes
